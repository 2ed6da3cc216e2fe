"""``NoisyValley`` in Python: its constants declare it."""

from lossnav.explore.base import declared

NoisyValley = declared(__file__)
