"""``Certainty`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Certainty = declared(__file__)
