"""``Deadline`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Deadline = declared(__file__)
