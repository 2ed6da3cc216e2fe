"""A valley with noise that has a direction of its own."""

from __future__ import annotations

from lossnav.explore.noisy_valley.widget import NoisyValley

__all__ = ["NoisyValley"]
