"""``OneMap`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

OneMap: type[Explorable] = declared(__file__)
