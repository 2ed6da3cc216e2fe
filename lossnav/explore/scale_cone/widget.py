"""``ScaleCone`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

ScaleCone: type[Explorable] = declared(__file__)
