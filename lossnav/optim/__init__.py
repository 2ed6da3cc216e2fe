"""Learning rules as torch optimizers: drop-in replacements for the ones in ``torch.optim``."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.optim import derive  # noqa: F401  what a LearningRule runs in
from lossnav.optim._uncertain_options import Reset
from lossnav.optim.ballistic import Ballistic
from lossnav.optim.belief import Belief
from lossnav.optim.matrix import BallisticMatrix
from lossnav.optim.navigator import Navigator
from lossnav.optim.reference import BallisticReference, BeliefReference, NavigatorReference, UncertainReference
from lossnav.optim.reference_matrix import BallisticMatrixReference
from lossnav.optim.schedule import deadline_schedule
from lossnav.optim.uncertain import Uncertain
from lossnav.optim.watch import Watch, watch

__all__ = [
    "Ballistic",
    "BallisticMatrix",
    "BallisticMatrixReference",
    "BallisticReference",
    "Belief",
    "BeliefReference",
    "Navigator",
    "NavigatorReference",
    "Reset",
    "Uncertain",
    "UncertainReference",
    "Watch",
    "deadline_schedule",
    "watch",
]
