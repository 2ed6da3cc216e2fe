"""What ``BallDecides`` is to show: steepest descent by the library, and the best path by a search with bounds."""

from __future__ import annotations

import functools

import numpy as np
from scipy.optimize import minimize

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem import prices
from oracles.common import circle, inside, rotation

_SHARED = explore.BallDecides._shared
_COUNT: int = _SHARED["pieces"]
_PARTS: int = _SHARED["parts"]


class BallDecides(explore.BallDecides):
    def hessian(self) -> Array:
        """Return H, shape (2, 2)."""
        turn = rotation(self.angle)
        return np.asarray(turn @ np.diag(_SHARED["curvatures"]) @ turn.T)

    def clock(self, parts: int = 1) -> Array:
        """Return the ends of the pieces, or of as many times as many, which grow with time."""
        size = np.linalg.norm(self.start, [1, 2, np.inf][self.norm])
        return np.asarray(_SHARED["span"] * size * np.linspace(0, 1, parts * _COUNT + 1) ** 2)

    @functools.cached_property
    def followed(self) -> Array:
        """The places of steepest descent at the ends of the parts of the pieces."""
        hessian, places = self.hessian(), [np.array(self.start)]
        ball = prices.Norm(("l1", "l2", "linf")[self.norm], limit=1.0)
        for dt in np.diff(self.clock(_PARTS)):
            places.append(places[-1] + dt * ball.velocity(-hessian @ places[-1]))
        return np.array(places)

    def paid(self) -> float:
        """Return J of steepest descent, by the trapezium rule."""
        loss = np.einsum("ni,ij,nj->n", self.followed, self.hessian(), self.followed) / 2
        clock = self.clock(_PARTS)
        return float(np.trapezoid(np.exp(-self.gamma * clock) * loss, clock))

    def _bill(self) -> tuple[Array, Array, float]:
        """Return J of straight pieces as a quadratic ½v·Av + b·v + c of the velocities."""
        clock = self.clock()
        long, hessian, start = np.diff(clock), self.hessian(), np.array(self.start)
        square, linear, level = np.zeros((2 * _COUNT, 2 * _COUNT)), np.zeros(2 * _COUNT), 0.0
        for share, back in ((1 / 6, 1.0), (4 / 6, 0.5), (1 / 6, 0.0)):
            weights = share * long * np.exp(-self.gamma * (clock[1:] - back * long))
            place = (np.tri(_COUNT) - back * np.eye(_COUNT)) * long
            square += np.kron(place.T @ (weights[:, None] * place), hessian)
            linear += np.kron(place.T @ weights, hessian @ start)
            level += float(weights.sum() * start @ hessian @ start / 2)
        return square, linear, level

    @functools.cached_property
    def _best(self) -> tuple[Array, float]:
        """Return the best velocities, and what they cost."""
        square, linear, level = self._bill()
        rule = np.diff(self.followed[::_PARTS], axis=0) / np.diff(self.clock())[:, None]

        def velocities(u: Array) -> tuple[Array, Array]:
            pairs = u.reshape(-1, 2)
            if self.norm == 2:
                return pairs, np.tile(np.eye(2), (_COUNT, 1, 1))
            if self.norm == 0:  # a square that is turned and smaller
                turn = np.array([[0.5, 0.5], [0.5, -0.5]])
                return pairs @ turn, np.tile(turn, (_COUNT, 1, 1))
            size, angle = pairs.T
            way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            across = size[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
            return size[:, None] * way, np.stack([way, across], axis=1)

        def cost(u: Array) -> tuple[float, Array]:
            v, frames = velocities(u)
            gradient = square @ v.ravel() + linear
            value = (square @ v.ravel() / 2 + linear) @ v.ravel() + level
            return float(value), np.einsum("nij,nj->ni", frames, gradient.reshape(-1, 2)).ravel()

        guess = rule
        bounds = [(-1.0, 1.0)] * (2 * _COUNT)
        if self.norm == 0:
            guess = rule @ np.array([[1.0, 1.0], [1.0, -1.0]])
        if self.norm == 1:
            guess = np.stack([np.linalg.norm(rule, axis=1), np.unwrap(np.arctan2(rule[:, 1], rule[:, 0]))], axis=1)
            bounds = [(0.0, 1.0), (None, None)] * _COUNT
        optimum = minimize(
            cost, np.clip(guess, -1.0 if self.norm != 1 else -10.0, 1.0 if self.norm != 1 else 10.0).ravel(), jac=True,
            method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        return velocities(optimum.x)[0], float(optimum.fun)

    def path(self, v: Array) -> Array:
        """Return the places that velocities lead to, shape (N + 1, 2)."""
        start = np.array(self.start)
        return np.vstack([start, start + np.cumsum(np.diff(self.clock())[:, None] * v, axis=0)])

    def excess(self) -> float:
        """Return how much more steepest descent costs, as a part of the least."""
        return max(0.0, self.paid() / self._best[1] - 1)

    def said(self) -> list[str]:
        return [f"{100 * self.excess():.1f} %"]

    def shows(self) -> dict[str, list[Array]]:
        panel = (-_SHARED["edge"], _SHARED["edge"])
        size = _SHARED["ball"] * np.sqrt(2 if self.norm == 2 else 1)
        ball = circle(60 if self.norm == 1 else 4) @ (rotation(-45) if self.norm == 2 else np.eye(2))
        lines = {
            "ball": np.array(self.start) + size * ball,
            "rule": self.followed[::_PARTS],
            "optimal": self.path(self._best[0]),
        }
        return {name: inside(line, panel, panel) for name, line in lines.items()}
