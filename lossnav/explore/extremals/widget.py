"""``Extremals`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Extremals: type[Explorable] = declared(__file__)
