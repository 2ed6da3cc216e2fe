"""``ExactStep`` in Python: its constants declare it."""

from lossnav.explore.base import declared

ExactStep = declared(__file__)
