"""``Renamed`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Renamed: type[Explorable] = declared(__file__)
