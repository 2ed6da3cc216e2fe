"""``Postponed`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Postponed: type[Explorable] = declared(__file__)
