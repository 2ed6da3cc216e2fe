"""``DecayShrinks`` in Python: its constants declare it."""

from lossnav.explore.base import declared

DecayShrinks = declared(__file__)
