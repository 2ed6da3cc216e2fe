"""``PullBack`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

PullBack: type[Explorable] = declared(__file__)
