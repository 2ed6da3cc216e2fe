"""``BelievedEllipse`` in Python: its constants declare it."""

from lossnav.explore.base import declared

BelievedEllipse = declared(__file__)
