"""``NoisyValley`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

NoisyValley: type[Explorable] = declared(__file__)
