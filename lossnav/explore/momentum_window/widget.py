"""``MomentumWindow`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

MomentumWindow: type[Explorable] = declared(__file__)
