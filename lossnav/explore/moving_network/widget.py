"""``MovingNetwork`` in Python: its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import Array
from lossnav.analysis import sgd
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_LONGEST: int = _SHARED["n"][1]


class MovingNetwork(Explorable):
    """How far a trained network gets in n steps of SGD: predicted for any setting, and recorded at 28 of them.

    The network is the chapter's perceptron on MNIST (``book/results/moving-network.json``). Curvature and noise are
    those at its base setting, η = 0.01, S = 64, β = 0.9, the mean of three seeds; they predict every other setting, as
    long as the network stays in the basin in which they were measured.

    Args:
        eta: learning rate, in [0.001, 0.03].
        batch: batch size S, 8 … 256.
        beta: momentum, in [0.5, 0.99].
        n: number of steps at which the exponent is read, 2 … 1500.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> widget = MovingNetwork()
        >>> widget.nearest()[1], round(widget.exponent(100), 1)
        (True, 0.7)
    """

    eta = number_trait(_SHARED["eta"], 0.01)
    batch = whole_trait(_SHARED["batch"], 64)
    beta = number_trait(_SHARED["beta"], 0.9)
    n = whole_trait((2, _LONGEST), 100)

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
