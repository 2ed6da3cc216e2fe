"""The explorable of the landing page: four learners on one landscape, and 26 starts that a discount rate divides."""

from __future__ import annotations

from lossnav.explore.race.widget import Race

__all__ = ["Race"]
