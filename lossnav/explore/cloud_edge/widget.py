"""``CloudEdge`` in Python: its constants declare it."""

from lossnav.explore.base import declared

CloudEdge = declared(__file__)
