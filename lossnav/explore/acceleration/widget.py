"""``Acceleration`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Acceleration: type[Explorable] = declared(__file__)
