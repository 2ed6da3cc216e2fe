"""Rule → optimizer: the text of a step with torch's foreach kernels, and the optimizer that runs it."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.optim.derive.optimizer import Derived
from lossnav.optim.derive.source import source

__all__ = ["Derived", "source"]
