"""``ModeMemory`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

ModeMemory: type[Explorable] = declared(__file__)
