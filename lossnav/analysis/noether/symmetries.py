"""One-parameter families of maps of the parameters, q → Q(q, s), by their generators ξ = ∂Q/∂s at s = 0."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.drifts import Drift
from lossnav.problem.functions.roots import exp_bounded


class Symmetry(Drift):
    r"""A family of maps whose generator is affine, one coordinate at a time: ξ(q) = w ⊙ q + a.

    A loss has the symmetry if f(Q(q, s)) = f(q) for all q and s; then ⟨ξ, ∇f⟩ = 0. Calling it gives ξ(q), a vector
    field like a drift. With velocity v its charge is :math:`u = \langle v,\xi(q)\rangle`.

    Attributes:
        dim: D, the number of parameters.
        weight: w, shape (D,): how fast each coordinate grows under the maps.
        offset: a, shape (D,).
    """

    dim: int
    weight: Array
    offset: Array

    def __init__(self, weight: Array, offset: Array):
        self.dim, self.weight, self.offset = len(weight), weight, offset

    def __call__(self, theta: ArrayLike) -> Array:
        """Return ξ(q), shape (..., D)."""
        return self.weight * _checks.points("theta", theta, self.dim) + self.offset

    def jacobian(self, theta: ArrayLike) -> Array:
        """Return ∂ξ_i/∂q_j, shape (..., D, D)."""
        theta = _checks.points("theta", theta, self.dim)
        return np.broadcast_to(np.diag(self.weight), (*theta.shape, self.dim))

    def expression(self, symbols: Any) -> list[Any]:
        """Return ξ in terms of the given symbols."""
        rows = zip(symbols, self.weight, self.offset, strict=True)
        return [float(w) * symbol + float(a) for symbol, w, a in rows]

    def transform(self, theta: ArrayLike, s: float) -> Array:
        """Return Q(q, s), shape (..., D)."""
        s = _checks.finite("s", s)
        return exp_bounded(s * self.weight) * _checks.points("theta", theta, self.dim) + s * self.offset

    def charge(self, theta: ArrayLike, velocity: ArrayLike) -> Any:
        """Return u = ⟨v, ξ(q)⟩, shape (...), at q and v of shape (..., D)."""
        points, speeds = _checks.moving(theta, velocity, self.dim)
        return np.einsum("...i,...i->...", speeds, self(points))

    def source(self, velocity: ArrayLike) -> Any:
        """Return ⟨v, w ⊙ v⟩, shape (...), what motion at velocity v adds to the charge: 0, |v|² or |v₁|² − |v₂|²."""
        speeds = _checks.points("velocity", velocity, self.dim)
        return np.einsum("...i,...i,i->...", speeds, speeds, self.weight)

    @abc.abstractmethod
    def quantity(self, theta: ArrayLike) -> Any:
        """Return what gradient flow of an invariant loss conserves, shape (...)."""


class Translation(Symmetry):
    """q_i → q_i + s for the chosen coordinates, such as the biases before a softmax: conserves p = Σ q_i.

    Args:
        dim: D, the number of parameters.
        which: indices of the coordinates; None takes all.

    Raises:
        ValueError: an index is not in [0, D), or appears twice.
    """

    def __init__(self, dim: int, which: ArrayLike | None = None):
        chosen = _indicator("which", which, _checks.whole("dim", dim, low=1))
        super().__init__(np.zeros(dim), chosen)

    def quantity(self, theta: ArrayLike) -> Any:
        """Return p = Σ q_i over the chosen coordinates, shape (...)."""
        return _checks.points("theta", theta, self.dim) @ self.offset


class Scale(Symmetry):
    """q_i → e^s q_i for the chosen coordinates, such as weights before a normalisation: conserves r² = |q|².

    Args:
        dim: D, the number of parameters.
        which: indices of the coordinates; None takes all.

    Raises:
        ValueError: an index is not in [0, D), or appears twice.
    """

    def __init__(self, dim: int, which: ArrayLike | None = None):
        chosen = _indicator("which", which, _checks.whole("dim", dim, low=1))
        super().__init__(chosen, np.zeros(dim))

    def quantity(self, theta: ArrayLike) -> Any:
        """Return r² = |q|² over the chosen coordinates, shape (...)."""
        return _checks.points("theta", theta, self.dim) ** 2 @ self.weight


class Rescale(Symmetry):
    """q₁ → e^s q₁, q₂ → e^{−s} q₂, such as a ReLU unit's weights in and out: conserves |q₁|² − |q₂|².

    Args:
        dim: D, the number of parameters.
        first: indices of the coordinates q₁.
        second: indices of the coordinates q₂.

    Raises:
        ValueError: an index is not in [0, D), or appears twice.
    """

    def __init__(self, dim: int, first: ArrayLike, second: ArrayLike):
        _checks.whole("dim", dim, low=1)
        up, down = _indicator("first", first, dim), _indicator("second", second, dim)
        if np.any(up * down):
            shared = np.flatnonzero(up * down).tolist()
            raise ValueError(f"first and second both hold {_checks.shown(shared)}, but they must be disjoint")
        super().__init__(up - down, np.zeros(dim))

    def quantity(self, theta: ArrayLike) -> Any:
        """Return |q₁|² − |q₂|², shape (...)."""
        return _checks.points("theta", theta, self.dim) ** 2 @ self.weight


def _indicator(name: str, which: Any, dim: int) -> Array:
    """Return 1 at the chosen coordinates and 0 elsewhere, shape (D,)."""
    if which is None:
        return np.ones(dim)
    listed = _checks.sequence(name, which, "indices")
    chosen = [_checks.whole(name, index, low=0, high=dim - 1) for index in listed]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{name} = {_checks.shown(which)}, but it must be at least one index, and each once")
    indicator = np.zeros(dim)
    indicator[chosen] = 1.0
    return indicator
