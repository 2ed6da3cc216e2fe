"""``Renamed`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Renamed = declared(__file__)
