"""``FollowedBack`` in Python: its constants declare it."""

from lossnav.explore.base import declared

FollowedBack = declared(__file__)
