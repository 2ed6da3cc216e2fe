"""``RateDrop`` in Python: its constants declare it."""

from lossnav.explore.base import declared

RateDrop = declared(__file__)
