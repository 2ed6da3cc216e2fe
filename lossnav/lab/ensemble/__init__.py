"""Several models of one architecture trained together: one set of kernels a step, whatever the number of seeds."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.ensemble.stacked import Ensemble, Loss, StackedLinear, member_losses
from lossnav.lab.ensemble.together import train

__all__ = ["Ensemble", "Loss", "StackedLinear", "member_losses", "train"]
