"""``DriftField`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

DriftField: type[Explorable] = declared(__file__)
