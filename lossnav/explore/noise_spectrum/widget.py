"""``NoiseSpectrum`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MOST: int = _SHARED["n"][1]


class NoiseSpectrum(Explorable):
    """Where on the spectrum of the Hessian noise pushes, how much of it still counts after n steps, and the exponent.

    The bars are those of the chapter's perceptron at its base (``book/results/moving-network.json``, the mean of three
    seeds), by octaves of ρ + λ; or a power law ρˢ with the same tr Σ, for which c = 1 − s in between.

    Args:
        eta: learning rate, in [0.001, 0.1].
        beta: momentum, in [0, 0.99].
        slope: s of the power law, in [0, 1].
        own: 1 for the network's own bars, 0 for the power law.
        n: number of steps, 2 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    eta = number_trait(_SHARED["eta"], 0.01)
    beta = number_trait(_SHARED["beta"], 0.9)
    slope = number_trait(_SHARED["slope"], 0.5)
    own = whole_trait((0, 1), 1)
    n = whole_trait((2, _MOST), 100)
