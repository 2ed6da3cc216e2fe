"""``BrokenCharge`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

BrokenCharge: type[Explorable] = declared(__file__)
