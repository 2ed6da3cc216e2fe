"""``Horizon`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Horizon: type[Explorable] = declared(__file__)
