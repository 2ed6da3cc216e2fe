"""The kinetic energy of two plans, followed back from where they rest."""

from __future__ import annotations

from lossnav.explore.followed_back.widget import FollowedBack

__all__ = ["FollowedBack"]
