"""Learning that must not stop: streams of tasks, the rules compared on them, and studies with equal budgets."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.streams.online import Online, run
from lossnav.lab.streams.perturb import ShrinkAndPerturb
from lossnav.lab.streams.replacement import ContinualBackprop
from lossnav.lab.streams.tasks import BitFlipping, Permuted, Stream
from lossnav.lab.streams.utility import UtilityPerturbed

__all__ = [
    "BitFlipping", "ContinualBackprop", "Online", "Permuted", "ShrinkAndPerturb", "Stream", "UtilityPerturbed", "run",
]  # fmt: skip
