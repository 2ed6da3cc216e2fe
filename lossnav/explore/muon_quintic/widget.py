"""``MuonQuintic`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

MuonQuintic: type[Explorable] = declared(__file__)
