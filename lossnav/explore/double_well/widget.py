"""``DoubleWell`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

DoubleWell: type[Explorable] = declared(__file__)
