"""``DriftField`` in Python: its constants declare it."""

from lossnav.explore.base import declared

DriftField = declared(__file__)
