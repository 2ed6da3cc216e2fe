"""``BallDecides`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

BallDecides: type[Explorable] = declared(__file__)
