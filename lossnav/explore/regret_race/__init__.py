"""Six rules on one valley, and what each of them regrets."""

from __future__ import annotations

from lossnav.explore.regret_race.widget import RegretRace

__all__ = ["RegretRace"]
