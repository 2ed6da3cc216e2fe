"""``Extremals`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Extremals = declared(__file__)
