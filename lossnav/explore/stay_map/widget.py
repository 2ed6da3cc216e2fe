"""``StayMap`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

StayMap: type[Explorable] = declared(__file__)
