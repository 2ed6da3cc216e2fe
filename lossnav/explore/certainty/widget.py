"""``Certainty`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Certainty: type[Explorable] = declared(__file__)
