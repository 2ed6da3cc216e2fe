"""``PushAndBrake`` in Python: its constants declare it."""

from lossnav.explore.base import declared

PushAndBrake = declared(__file__)
