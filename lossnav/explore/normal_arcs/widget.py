"""``NormalArcs`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

NormalArcs: type[Explorable] = declared(__file__)
