"""``DoubleWell`` in Python: its constants declare it."""

from lossnav.explore.base import declared

DoubleWell = declared(__file__)
