"""``RateDrop`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

RateDrop: type[Explorable] = declared(__file__)
