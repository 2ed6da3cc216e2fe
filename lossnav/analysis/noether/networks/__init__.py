"""Which weights of a torch model its loss does not notice: groups that can be scaled, rescaled or shifted for free."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.analysis.noether.networks.blocks import Block, Family
from lossnav.analysis.noether.networks.find import find_symmetries
from lossnav.analysis.noether.networks.record import Recorder

__all__ = ["Block", "Family", "Recorder", "find_symmetries"]
