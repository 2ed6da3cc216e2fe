"""``BrokenCharge`` in Python: its constants declare it."""

from lossnav.explore.base import declared

BrokenCharge = declared(__file__)
