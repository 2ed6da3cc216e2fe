"""``LookBill`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

LookBill: type[Explorable] = declared(__file__)
