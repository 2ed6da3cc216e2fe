"""``ValueBounds`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

ValueBounds: type[Explorable] = declared(__file__)
