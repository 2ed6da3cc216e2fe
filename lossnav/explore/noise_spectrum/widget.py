"""``NoiseSpectrum`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

NoiseSpectrum: type[Explorable] = declared(__file__)
