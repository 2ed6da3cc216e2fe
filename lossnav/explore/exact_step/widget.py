"""``ExactStep`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

ExactStep: type[Explorable] = declared(__file__)
