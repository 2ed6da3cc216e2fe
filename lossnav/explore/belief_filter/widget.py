"""``BeliefFilter`` in Python: its constants declare it."""

from lossnav.explore.base import declared

BeliefFilter = declared(__file__)
