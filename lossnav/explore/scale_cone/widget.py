"""``ScaleCone`` in Python: its constants declare it."""

from lossnav.explore.base import declared

ScaleCone = declared(__file__)
