"""``NoisyOscillator`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

NoisyOscillator: type[Explorable] = declared(__file__)
