"""``Postponed`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Postponed = declared(__file__)
