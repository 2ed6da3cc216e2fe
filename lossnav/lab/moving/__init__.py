"""A trained network keeps moving: run it on, measure where it is, and predict what it does.

``walk`` continues a network by SGD and records how it moves; ``measure`` finds curvature and noise around the points
that it visited; ``forecast`` says from these alone, by ``ln.sgd``, how fast and how far a run will go; ``analyse`` does
all of it and puts prediction beside measurement.
"""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.moving.analysis import Analysis, NotStationary, Row, analyse
from lossnav.lab.moving.basin import Basin, measure, measure_batches, per_example
from lossnav.lab.moving.forecast import Forecast, forecast
from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Unstable, Walk, walk

__all__ = [
    "Analysis", "Basin", "Forecast", "NotStationary", "Row", "Setting", "Unstable", "Walk", "analyse", "forecast",
    "measure", "measure_batches", "per_example", "walk",
]  # fmt: skip
