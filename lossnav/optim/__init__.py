"""Learning rules as torch optimizers: drop-in replacements for the ones in ``torch.optim``."""

from .ballistic import Ballistic
from .reference import BallisticReference

__all__ = ["Ballistic", "BallisticReference"]
