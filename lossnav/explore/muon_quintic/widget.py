"""``MuonQuintic`` in Python: its constants declare it."""

from lossnav.explore.base import declared

MuonQuintic = declared(__file__)
