"""``TunedRates`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

TunedRates: type[Explorable] = declared(__file__)
"""What three rules reach over their learning rates, in recorded runs."""
