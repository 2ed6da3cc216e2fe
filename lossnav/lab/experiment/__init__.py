"""An experiment as plain values: what ``lossnav train`` runs once and ``lossnav sweep`` runs many times."""

from lossnav.lab.experiment.building import make_model, make_optimizer, make_stepper, make_stream, why_alone
from lossnav.lab.experiment.running import run, run_together
from lossnav.lab.experiment.settings import DATA, INPUTS, LOSSES, MODELS, OUTPUTS, STREAMS, Experiment
from lossnav.lab.registry import OPTIMIZERS

__all__ = [
    "DATA", "INPUTS", "LOSSES", "MODELS", "OPTIMIZERS", "OUTPUTS", "STREAMS", "Experiment", "make_model",
    "make_optimizer", "make_stepper", "make_stream", "run", "run_together", "why_alone",
]  # fmt: skip
