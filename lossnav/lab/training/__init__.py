"""One training loop for all experiments: explicit seeds, honest stops, resumable, on one device or several."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.training.arithmetic import bfloat16_units
from lossnav.lab.training.checkpoint import CheckpointError
from lossnav.lab.training.devices import cores, in_parallel, pick_device
from lossnav.lab.training.history import Diverged, History
from lossnav.lab.training.loop import train
from lossnav.lab.training.team import process_group

__all__ = [
    "CheckpointError", "Diverged", "History", "bfloat16_units", "cores", "in_parallel", "pick_device",
    "process_group", "train",
]  # fmt: skip
