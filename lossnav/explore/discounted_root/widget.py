"""``DiscountedRoot`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

DiscountedRoot: type[Explorable] = declared(__file__)
