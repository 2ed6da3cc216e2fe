"""``BelievedEllipse`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

BelievedEllipse: type[Explorable] = declared(__file__)
