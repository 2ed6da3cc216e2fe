"""Learning that must not stop: streams of tasks, the rules compared on them, and studies with equal budgets."""

from .online import Online, run
from .perturb import ShrinkAndPerturb
from .replacement import ContinualBackprop
from .tasks import BitFlipping, Permuted, Stream

__all__ = ["BitFlipping", "ContinualBackprop", "Online", "Permuted", "ShrinkAndPerturb", "Stream", "run"]
