"""``Preconditioner`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

Preconditioner: type[Explorable] = declared(__file__)
