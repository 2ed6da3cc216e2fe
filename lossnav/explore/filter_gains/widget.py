"""``FilterGains`` in Python: its constants declare it."""

from lossnav.explore.base import declared

FilterGains = declared(__file__)
