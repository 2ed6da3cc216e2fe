"""Several models of one architecture trained together: one set of kernels a step, whatever the number of seeds."""

from .. import _torch  # noqa: F401  says how to get torch
from .stacked import Ensemble, Loss, StackedLinear, member_losses
from .together import train

__all__ = ["Ensemble", "Loss", "StackedLinear", "member_losses", "train"]
