"""A trained network keeps moving: run it on, and measure where it is.

``walk`` continues a network by SGD and records how it moves; ``measure`` finds curvature and noise around the points
that it visited.
"""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.moving.basin import Basin, measure, measure_batches, per_example
from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Unstable, Walk, walk

__all__ = ["Basin", "Setting", "Unstable", "Walk", "measure", "measure_batches", "per_example", "walk"]
