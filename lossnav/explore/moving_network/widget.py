"""``MovingNetwork`` in Python: its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared

_SHARED = constants(__file__)


class _Numbers:
    """How far the network is predicted to get."""

    eta: float
    batch: int
    beta: float
    n: int

    @staticmethod
    def spectrum() -> tuple[Array, Array]:
        """Return curvatures ρ + λ and the noise tr Σ that is spread over them, at the base; each of shape (L,)."""
        return np.array(_SHARED["nodes"]), np.array(_SHARED["weights"])

    def distances(self, n: ArrayLike) -> Array:
        """Return E|θ(k+n) − θ(k)|² for numbers of steps n, of their shape.

        Raises:
            ValueError: an entry is not a whole number >= 0.
        """
        nodes, weights = self.spectrum()
        return sgd.displacement(
            nodes, n, eta=self.eta, beta=self.beta, batch=self.batch, gradient_variance=weights, form="discrete"
        )  # fmt: skip

    def temperature(self) -> float:
        """Return T = η/(S(1 − β))."""
        return float(self.eta / (self.batch * (1 - self.beta)))


MovingNetwork: type[Explorable] = declared(__file__, _Numbers)
