"""``Deadline`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Deadline: type[Explorable] = declared(__file__)
