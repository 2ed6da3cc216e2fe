"""An experiment as plain values: what ``lossnav train`` runs once and ``lossnav sweep`` runs many times."""

from lossnav.lab.experiment.building import make_model, make_optimizer, make_stepper, make_stream
from lossnav.lab.experiment.running import run
from lossnav.lab.experiment.settings import DATA, LOSSES, MODELS, STREAMS, Experiment
from lossnav.lab.registry import OPTIMIZERS

__all__ = [
    "DATA", "LOSSES", "MODELS", "OPTIMIZERS", "STREAMS", "Experiment", "make_model", "make_optimizer", "make_stepper",
    "make_stream", "run",
]  # fmt: skip
