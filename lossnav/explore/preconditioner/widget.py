"""``Preconditioner`` in Python: its constants declare it."""

from lossnav.explore.base import declared

Preconditioner = declared(__file__)
