"""Rule → optimizer: the one that runs a derived rule's text."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.optim.derive.optimizer import Derived

__all__ = ["Derived"]
