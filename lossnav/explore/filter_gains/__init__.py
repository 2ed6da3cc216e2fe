"""How much a belief that knows nothing learns from its n-th datum."""

from __future__ import annotations

from lossnav.explore.filter_gains.widget import FilterGains

__all__ = ["FilterGains"]
