r"""Parameters that must stay > 0, as unknowns of a boundary-value problem: their logarithms, :math:`\theta=e^y`.

Whatever Newton's method does, :math:`\theta>0`. With :math:`u=\dot y` it is :math:`\dot\theta=\theta u` and
:math:`\dot u=\ddot\theta/\theta-u^2`; objective and metric stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lossnav._checks import Array

if TYPE_CHECKING:
    from lossnav.trajectory.boundary_value import Equations

_LARGEST = 700.0  # of a logarithm: beyond it floating-point numbers end
_LEAST = 1e-3  # a guess is at least this share of the start


@dataclass(frozen=True, eq=False)
class Chart:
    """The unknowns y of parameters θ, shape (..., D) each.

    Attributes:
        which: the positive ones.
        start: θ₀, shape (D,).
    """

    which: tuple[int, ...]
    start: Array

    def inner(self, theta: Array, velocity: Array) -> tuple[Array, Array]:
        """Return y and u for a guess, which may have left θ > 0."""
        y, u = np.array(theta), np.array(velocity)
        for i in self.which:
            place = np.maximum(theta[..., i], _LEAST * self.start[i])
            y[..., i], u[..., i] = np.log(place), velocity[..., i] / place
        return y, u

    def outer(self, y: Array, u: Array) -> tuple[Array, Array]:
        """Return θ and θ̇."""
        if not self.which:
            return y, u
        theta, velocity = np.array(y), np.array(u)
        for i in self.which:
            theta[..., i] = np.exp(np.clip(y[..., i], -_LARGEST, _LARGEST))
            velocity[..., i] = theta[..., i] * u[..., i]
        return theta, velocity

    def equations(self, law: Equations) -> Equations:
        """Return equations of motion of y for those of θ."""
        if not self.which:
            return law

        def acceleration(y: Array, u: Array) -> Array:
            found = np.array(law.acceleration(*self.outer(y, u)))
            for i in self.which:
                found[..., i] = found[..., i] / self._exp(y, i) - u[..., i] ** 2
            return found

        def cost_rate(y: Array, u: Array) -> Array:
            return law.cost_rate(*self.outer(y, u))

        def tangent(y: Array, u: Array) -> tuple[Array, Array, Array, Array]:
            assert law.tangent is not None
            theta, velocity = self.outer(y, u)
            parts = [np.array(part) for part in law.tangent(theta, velocity)]
            push = law.acceleration(theta, velocity)
            for by_place, by_speed in (parts[:2], parts[2:]):
                for j in self.which:
                    at, rate = (x[:, j].reshape(-1, *[1] * (by_place.ndim - 2)) for x in (theta, velocity))
                    by_place[..., j] = by_place[..., j] * at + by_speed[..., j] * rate
                    by_speed[..., j] *= at
            for i in self.which:
                at = theta[:, i]
                parts[0][:, i] /= at[:, None]
                parts[1][:, i] /= at[:, None]
                parts[0][:, i, i] -= push[:, i] / at
                parts[1][:, i, i] -= 2 * u[:, i]
            return parts[0], parts[1], parts[2], parts[3]

        given = None if law.tangent is None else tangent
        return replace(law, acceleration=acceleration, cost_rate=cost_rate, tangent=given)

    def _exp(self, y: Array, i: int) -> Array:
        return np.exp(np.clip(y[..., i], -_LARGEST, _LARGEST))
