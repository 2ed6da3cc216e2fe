"""``Race`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Race = declared(__file__)
