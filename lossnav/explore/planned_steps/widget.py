"""``PlannedSteps`` in Python: its constants declare it."""

from lossnav.explore.base import declared

PlannedSteps = declared(__file__)
