"""``PushAndBrake`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

PushAndBrake: type[Explorable] = declared(__file__)
