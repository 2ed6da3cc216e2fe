"""The explorable of the chapter *Learning as navigation*: stay in the shallow well, or cross into the deep one?"""

from __future__ import annotations

from lossnav.explore.double_well.widget import DoubleWell

__all__ = ["DoubleWell"]
