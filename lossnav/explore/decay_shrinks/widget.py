"""``DecayShrinks`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

DecayShrinks: type[Explorable] = declared(__file__)
