"""``Acceleration`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Acceleration = declared(__file__)
