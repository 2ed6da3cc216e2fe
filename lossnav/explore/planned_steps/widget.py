"""``PlannedSteps`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

PlannedSteps: type[Explorable] = declared(__file__)
