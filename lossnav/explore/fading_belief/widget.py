"""``FadingBelief`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

FadingBelief: type[Explorable] = declared(__file__)
