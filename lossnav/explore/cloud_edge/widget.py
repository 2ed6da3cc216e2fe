"""``CloudEdge`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

CloudEdge: type[Explorable] = declared(__file__)
