r"""What a learner believes: the assumptions from which ``lossnav.derive`` makes a rule.

About its gradient, ``belief``: ``Filter``. About the curvature, ``curvature``: ``Known``, ``SecondMoment``,
``Hutchinson``. About the price of speed, ``metric``, beside what the objective says: ``RootMeanSquare``. They are plain
data; averages have the weight β of their past in a step, whatever the time Δt that a step takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lossnav import _checks

__all__ = ["Filter", "Hutchinson", "Known", "RootMeanSquare", "SecondMoment"]

_LATER = {
    "Kronecker": "the curvature A ⊗ B of a weight matrix",
    "Eigenbasis": "a curvature that is diagonal in a turned basis",
    "Polar": "a one-sided curvature, read off one gradient",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        raise AttributeError(
            f"assume.{name} ({_LATER[name]}) does not exist yet, but curvature must be one of Known, SecondMoment, "
            "Hutchinson"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class Filter:
    r"""A belief in the mean gradient: m ← βm + (1 − β)g, and how it will go on, E[a(t)] = e^{−𝐀t} m.

    β is the weight with which gradients are averaged; ``fading`` is what the plan believes of the future. The two
    need not go together: Adam's ε is a fading of its own.

    Args:
        beta: β in [0, 1); 0 has no memory, m = g.
        fading: α, per unit of time: how fast the gradient is believed to vanish. A number >= 0; shape (D,), one
            for each coordinate, >= 0; or 𝐀 itself, shape (D, D), whose eigenvalues ``derive`` checks.
        trend: None, or the weight in [0, 1) of the past in an average of the slope ṁ (a local linear trend, Holt's
            recursion): E[a(t)] = e^{−𝐀t}(m + ṁt). The level m starts at the first gradient then.
        corrected: divide m by 1 − βⁿ in step n; without effect where there is a trend.
        share: s in [0, 1], how much of what is not in m is believed to be signal, a white one that has no forecast
            of its own: the plan is made on m + s(g − m). Nesterov's momentum is s = 1 − β, Lion s = (β₂ − β₁)/β₂. That
            it counts as much as m, whose forecast lasts, is right only where s₊Δt ≫ 1.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    fading: Any = 0.0
    trend: float | None = None
    corrected: bool = True
    share: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _weight("beta", self.beta))
        rates = _checks.array("fading", self.fading)
        if rates.ndim > 2 or rates.size == 0 or (rates.ndim == 2 and rates.shape[0] != rates.shape[1]):
            raise ValueError(f"fading has shape {rates.shape}, but it must be a number or have shape (D,) or (D, D)")
        if rates.ndim < 2 and np.any(rates < 0):
            raise ValueError(f"fading = {_checks.shown(self.fading)}, but all its entries must be >= 0")
        rates.setflags(write=False)
        object.__setattr__(self, "fading", rates)
        if self.trend is not None:
            object.__setattr__(self, "trend", _weight("trend", self.trend))
        object.__setattr__(self, "corrected", _checks.flag("corrected", self.corrected))
        object.__setattr__(self, "share", _checks.finite("share", self.share, low=0.0, high=1.0))


@dataclass(frozen=True)
class SecondMoment:
    r"""The curvature is believed to be diagonal, h = c(V + floor), with V an average of g² (Eqs. 13, 33).

    Args:
        beta: β in [0, 1), the weight of the past in V.
        centred: average (g − m)², the variance, in place of g²; needs a belief with a memory.
        scale: c > 0, in the units that make cV a curvature.
        floor: >= 0, in the units of g²: what is believed before any gradient.
        corrected: divide V by 1 − βⁿ in step n.
        signal: average the square of what the plan is made on (m, or m + s(g − m)) in place of g²: sign descent along
            an average has β = 0.

    Raises:
        ValueError: naming the argument that is out of range, or both ``centred`` and ``signal`` are True.
    """

    beta: float
    centred: bool = False
    scale: float = 1.0
    floor: float = 0.0
    corrected: bool = True
    signal: bool = False

    def __post_init__(self) -> None:
        _average(self)
        object.__setattr__(self, "centred", _checks.flag("centred", self.centred))
        object.__setattr__(self, "signal", _checks.flag("signal", self.signal))
        if self.centred and self.signal:
            raise ValueError("signal = True, but it must be False where centred is True: V averages one square")


@dataclass(frozen=True)
class Hutchinson:
    r"""The curvature is believed to be diagonal, h = c(|V| + floor), with V an average of z ⊙ Hz for random signs z.

    No function of gradients can know it: ``z ⊙ Hz`` is the argument ``curvature`` of a rule's step.

    Args:
        beta: β in [0, 1), the weight of the past in V.
        scale: c > 0.
        floor: >= 0, in the units of a curvature.
        corrected: divide V by 1 − βⁿ in step n.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    scale: float = 1.0
    floor: float = 0.0
    corrected: bool = True

    def __post_init__(self) -> None:
        _average(self)


@dataclass(frozen=True, eq=False)
class Known:
    """The curvature is known.

    Args:
        hessian: H, shape (D, D), symmetric, of any signature that leaves a minimiser.

    Raises:
        ValueError: it is not symmetric.
    """

    hessian: Any

    def __post_init__(self) -> None:
        matrix = _checks.symmetric("hessian", self.hessian)
        matrix.setflags(write=False)
        object.__setattr__(self, "hessian", matrix)


@dataclass(frozen=True)
class RootMeanSquare:
    r"""The metric is believed to be G = diag(√V + ε): a move costs more where gradients have been large.

    With it a decay θ̇ = −jθ and no curvature the optimum is AdamW, at every γ > 0. The metric is frozen within a plan.

    Args:
        beta: β in [0, 1), the weight of the past in V, an average of g².
        eps: ε >= 0, in the units of g.
        corrected: divide V by 1 − βⁿ in step n.

    Raises:
        ValueError: naming the argument that is out of range.
    """

    beta: float
    eps: float = 0.0
    corrected: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _weight("beta", self.beta))
        object.__setattr__(self, "eps", _checks.finite("eps", self.eps, low=0.0))
        object.__setattr__(self, "corrected", _checks.flag("corrected", self.corrected))


def _average(belief: SecondMoment | Hutchinson) -> None:
    """Check the arguments that averaged curvatures share."""
    object.__setattr__(belief, "beta", _weight("beta", belief.beta))
    object.__setattr__(belief, "scale", _checks.positive("scale", belief.scale))
    object.__setattr__(belief, "floor", _checks.finite("floor", belief.floor, low=0.0))
    object.__setattr__(belief, "corrected", _checks.flag("corrected", belief.corrected))


def _weight(name: str, value: Any) -> float:
    """Return a weight of the past, in [0, 1), or raise."""
    weight = _checks.finite(name, value, low=0.0, high=1.0)
    if weight == 1.0:
        raise ValueError(f"{name} = {_checks.shown(value)}, but it must be a finite number >= 0 and < 1")
    return weight
