"""``Race`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Race: type[Explorable] = declared(__file__)
