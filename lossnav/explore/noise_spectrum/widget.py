"""``NoiseSpectrum`` in Python: its constants declare it."""

from lossnav.explore.base import declared

NoiseSpectrum = declared(__file__)
