"""``NoisyOscillator`` in Python: its constants declare it."""

from lossnav.explore.base import declared

NoisyOscillator = declared(__file__)
