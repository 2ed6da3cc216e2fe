"""``Horizon`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Horizon = declared(__file__)
