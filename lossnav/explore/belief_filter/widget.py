"""``BeliefFilter`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

BeliefFilter: type[Explorable] = declared(__file__)
