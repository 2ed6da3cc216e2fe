"""``StayMap`` in Python: its constants declare it."""

from lossnav.explore.base import declared

StayMap = declared(__file__)
