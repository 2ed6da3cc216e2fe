"""``FadingBelief`` in Python: its constants declare it."""

from lossnav.explore.base import declared

FadingBelief = declared(__file__)
