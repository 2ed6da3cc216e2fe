"""``ValueBounds`` in Python: its constants declare it."""

from lossnav.explore.base import declared

ValueBounds = declared(__file__)
