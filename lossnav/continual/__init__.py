"""Learning that must not stop: streams of tasks, the rules compared on them, and studies with equal budgets."""

from .. import _torch  # noqa: F401  says how to get torch
from .online import Online, run
from .perturb import ShrinkAndPerturb
from .replacement import ContinualBackprop
from .tasks import BitFlipping, Permuted, Stream
from .utility import UtilityPerturbed

__all__ = [
    "BitFlipping", "ContinualBackprop", "Online", "Permuted", "ShrinkAndPerturb", "Stream",
    "UtilityPerturbed", "run",
]
