"""``PullBack`` in Python: its constants declare it."""

from lossnav.explore.base import declared

PullBack = declared(__file__)
