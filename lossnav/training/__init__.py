"""One training loop for all experiments: explicit seeds, honest stops, resumable, on one device or several."""

from .. import _torch  # noqa: F401  says how to get torch
from .arithmetic import bfloat16_units
from .checkpoint import CheckpointError
from .devices import cores, in_parallel, pick_device
from .history import Diverged, History
from .loop import train
from .steps import evaluate
from .team import process_group

__all__ = [
    "CheckpointError", "Diverged", "History", "bfloat16_units", "cores", "evaluate", "in_parallel", "pick_device",
    "process_group", "train",
]  # fmt: skip
