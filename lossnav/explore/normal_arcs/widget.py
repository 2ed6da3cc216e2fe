"""``NormalArcs`` in Python: its constants declare it."""

from lossnav.explore.base import declared

NormalArcs = declared(__file__)
