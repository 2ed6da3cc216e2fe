"""``MomentumWindow`` in Python: its constants declare it."""

from lossnav.explore.base import declared

MomentumWindow = declared(__file__)
