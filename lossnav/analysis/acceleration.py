r"""Accelerated methods on a quadratic loss, and the actions that they make stationary (L12–L16).

A ``Method`` is gradient descent with a memory, θ ← θ + β d − α∇L(θ + β d) with d the step before (Nesterov) or
−α∇L(θ) (heavy ball); ``tuned`` gives the textbook's rates for curvatures in a known range. ``lowest_variation`` says
whether a path with friction makes its action smallest or only stationary, ``conjugate_time`` up to when.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array

__all__ = ["Method", "conjugate_time", "lowest_variation", "tuned"]

METHODS = ("gradient descent", "heavy ball", "nesterov")


@dataclass(frozen=True)
class Method:
    """One step: with d = θ − θ₋, θ ← θ + β d − α ∇L(θ + β d) if it looks ahead, else θ ← θ + β d − α ∇L(θ).

    Args:
        rate: α > 0.
        momentum: β in [0, 1).
        lookahead: whether the gradient is taken where momentum alone would lead.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> tuned("heavy ball", 1.0, 100.0).kept([1.0, 100.0]).round(4).tolist()
        [0.8182, 0.8182]
    """

    rate: float
    momentum: float = 0.0
    lookahead: bool = False

    def __post_init__(self) -> None:
        _checks.check(self, rate=_checks.positive, momentum=_checks.weight, lookahead=_checks.flag)

    def kept(self, curvature: ArrayLike) -> Array:
        """Return what a step leaves of each mode in the long run: the largest |z| with z² = a z − b.

        Of a mode with curvature h, θₙ₊₁ = a θₙ − b θₙ₋₁ with a = 1 + β − αh, b = β for the heavy ball and
        a = (1 + β)(1 − αh), b = β(1 − αh) for Nesterov's. Where the two roots agree, n steps leave about n times as
        much as the n-th power.

        Args:
            curvature: h, any shape; negative is allowed, and grows.

        Returns:
            The factors, of the same shape; more than 1 says that the mode diverges.

        Raises:
            ValueError: an entry is not finite.
        """
        a, b = self._recursion(_checks.array("curvature", curvature))
        root = np.sqrt((a / 2) ** 2 - b + 0j)
        return np.maximum(np.abs(a / 2 + root), np.abs(a / 2 - root))

    def walk(self, curvature: ArrayLike, start: ArrayLike, steps: int) -> Array:
        """Return the modes over the steps, from rest.

        Args:
            curvature: h of each mode, shape (D,).
            start: θ₀ − θ*, shape (D,).
            steps: N >= 0.

        Returns:
            θₙ − θ*, shape (N + 1, D).

        Raises:
            ValueError: shapes do not fit, or an entry is not finite.
        """
        h = _checks.array("curvature", curvature, shape=(None,))
        here = _checks.array("start", start, shape=h.shape)
        steps = _checks.whole("steps", steps, low=0)
        _checks.room(float(steps) * len(h), steps=steps)
        a, b = self._recursion(h)
        path = np.empty((steps + 1, len(h)))
        path[0] = before = here
        for n in range(steps):
            before, here = here, a * here - b * before
            path[n + 1] = here
        return path

    def _recursion(self, h: Array) -> tuple[Array, Array]:
        left = 1 - self.rate * h
        if self.lookahead:
            return (1 + self.momentum) * left, self.momentum * left
        return left + self.momentum, np.full_like(h, self.momentum)


def tuned(method: str, smallest: float, largest: float) -> Method:
    r"""Return the textbook's rates for curvatures in [μ, M], κ = M/μ.

    Gradient descent: α = 2/(M + μ), every step keeps (κ − 1)/(κ + 1) of the worst mode. Heavy ball (Polyak 1964):
    α = 4/(√M + √μ)², √β = (√κ − 1)/(√κ + 1), which is what it keeps of every mode. Nesterov's with a constant
    momentum: α = 1/M, β = (√κ − 1)/(√κ + 1); it keeps 1 − 1/√κ of the worst.

    Args:
        method: one of ``METHODS``.
        smallest: μ > 0.
        largest: M >= μ.

    Raises:
        ValueError: there is no such method, or the curvatures are not 0 < μ <= M.

    Example:
        >>> tuned("gradient descent", 1.0, 3.0)
        Method(rate=0.5, momentum=0.0, lookahead=False)
    """
    method = _checks.one_of("method", method, METHODS)
    smallest = _checks.positive("smallest", smallest)
    largest = _checks.finite("largest", largest, low=smallest)
    low, high = math.sqrt(smallest), math.sqrt(largest)
    share = (high - low) / (high + low)
    if method == "gradient descent":
        return Method(2 / (smallest + largest))
    if method == "heavy ball":
        return Method(4 / (low + high) ** 2, share**2)
    return Method(1 / largest, share, True)


def lowest_variation(
    weight: Callable[[Array], Any], curvature: float, start: float, end: float, *, free_start: bool = False,
    nodes: int = 600,
) -> float:  # fmt: skip
    r"""Return the smallest value of the second variation of an action with friction, per unit of size (L14).

    The action ∫w{½θ̇² − ½hθ²}dt makes θ̈ + (ẇ/w)θ̇ + hθ = 0 stationary: w = e^{ct} is the heavy ball, w = t³
    Nesterov's in continuous time. A path between fixed ends makes it smallest if and only if

    .. math:: \lambda = \min_x \frac{\int w\,(\dot x^2 - h x^2)\,dt}{\int w\,x^2\,dt} > 0 ,
        \qquad x = 0 \text{ at the ends},

    and only stationary, a saddle, if it is negative. Piecewise linear x; the error falls with the square of the mesh.

    Args:
        weight: w(t) > 0 inside the interval, of an array of times.
        curvature: h, a number of any sign.
        start: first time.
        end: last time, after the first.
        free_start: whether x may be anything at the first time, as where w vanishes there.
        nodes: parts of the mesh, >= 3.

    Returns:
        λ, unit of h.

    Raises:
        ValueError: an argument is out of range, or a weight is not positive and finite.
    """
    weight = _checks.function("weight", weight)
    curvature, start = _checks.finite("curvature", curvature), _checks.finite("start", start)
    end = _checks.finite("end", end, low=start, open_low=True)
    free, nodes = _checks.flag("free_start", free_start), _checks.whole("nodes", nodes, low=3)
    _checks.room(8.0 * nodes, nodes=nodes)  # as many arrays of them
    times = np.linspace(start, end, nodes + 1)
    w = _checks.positives("weight(t)", weight((times[1:] + times[:-1]) / 2), shape=(nodes,))
    # On a mesh of steps 1, at the end in units of time: the eigensolver knows no other scale.
    mass, stiffness = np.zeros(nodes + 1), np.zeros(nodes + 1)
    for part in (slice(None, -1), slice(1, None)):
        mass[part] += w / 2
        stiffness[part] += w
    inside = slice(0 if free else 1, -1)
    size = np.sqrt(mass[inside])
    coupling = -w[inside][: len(size) - 1] if free else -w[1:-1]
    eigenvalues = scipy.linalg.eigh_tridiagonal(
        stiffness[inside] / mass[inside], coupling / (size[1:] * size[:-1]), eigvals_only=True, select="i",
        select_range=(0, 0),
    )  # fmt: skip
    return float(eigenvalues[0] * (nodes / (end - start)) * (nodes / (end - start))) - curvature


def conjugate_time(curvature: float, friction: float | None = None) -> float:
    """Return the time after which a path with friction no longer makes its action smallest (L14).

    Args:
        curvature: h > 0.
        friction: c >= 0 of the heavy ball; None is Nesterov's 3/t from t = 0.

    Returns:
        π/√(h − c²/4), infinite for c² >= 4h; for Nesterov's 3.8317/√h, the first zero of J₁.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> round(conjugate_time(2.0, 0.6), 6)
        2.273177
    """
    curvature = _checks.positive("curvature", curvature)
    if friction is None:
        return float(scipy.special.jn_zeros(1, 1)[0]) / math.sqrt(curvature)
    swing = curvature - _checks.finite("friction", friction, low=0.0) ** 2 / 4
    return math.pi / math.sqrt(swing) if swing > 0 else math.inf
