"""Learning rules as torch optimizers: drop-in replacements for the ones in ``torch.optim``."""

from .. import _torch  # noqa: F401  says how to get torch
from .ballistic import Ballistic
from .belief import Belief
from .navigator import Navigator
from .reference import BallisticReference, BeliefReference, NavigatorReference, UncertainReference
from .uncertain import Reset, Uncertain

__all__ = [
    "Ballistic",
    "BallisticReference",
    "Belief",
    "BeliefReference",
    "Navigator",
    "NavigatorReference",
    "Reset",
    "Uncertain",
    "UncertainReference",
]
