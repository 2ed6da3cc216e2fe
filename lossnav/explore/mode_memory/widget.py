"""``ModeMemory`` in Python: its constants declare it."""

from lossnav.explore.base import declared

ModeMemory = declared(__file__)
