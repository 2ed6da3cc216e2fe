"""``RegretRace`` in Python: its constants declare it."""

from lossnav.explore.base import declared

RegretRace = declared(__file__)
