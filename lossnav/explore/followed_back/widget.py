"""``FollowedBack`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

FollowedBack: type[Explorable] = declared(__file__)
