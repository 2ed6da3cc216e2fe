"""``DiscountedRoot`` in Python: its constants declare it."""

from lossnav.explore.base import declared

DiscountedRoot = declared(__file__)
