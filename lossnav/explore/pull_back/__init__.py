"""What certainty about one task leaves for the next."""

from __future__ import annotations

from lossnav.explore.pull_back.widget import PullBack

__all__ = ["PullBack"]
