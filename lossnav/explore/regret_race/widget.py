"""``RegretRace`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

RegretRace: type[Explorable] = declared(__file__)
