"""How far one direction gets in n steps."""

from __future__ import annotations

from lossnav.explore.mode_memory.widget import ModeMemory

__all__ = ["ModeMemory"]
