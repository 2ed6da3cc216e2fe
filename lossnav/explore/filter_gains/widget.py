"""``FilterGains`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

FilterGains: type[Explorable] = declared(__file__)
