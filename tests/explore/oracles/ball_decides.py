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
_DT: float = _SHARED["span"] / _COUNT


class BallDecides(explore.BallDecides):
    """BallDecides with its numbers."""

    def hessian(self) -> Array:
        """Return H, shape (2, 2)."""
        turn = rotation(self.angle)
        return np.asarray(turn @ np.diag(_SHARED["curvatures"]) @ turn.T)

    def steepest(self, gradient: Array) -> Array:
        """Return the velocity in the ball that goes down fastest."""
        return prices.Norm(("l1", "l2", "linf")[self.norm], limit=1.0).velocity(-gradient)

    def followed(self) -> Array:
        """Return the mean velocities of steepest descent over the pieces, shape (N, 2)."""
        hessian, theta, velocities = self.hessian(), np.array(self.start), []
        for _ in range(_COUNT):
            before = theta
            for _ in range(_SHARED["parts"]):
                theta = theta + _DT / _SHARED["parts"] * self.steepest(hessian @ theta)
            velocities.append((theta - before) / _DT)
        return np.array(velocities)

    def _bill(self) -> tuple[Array, Array, float]:
        """Return J of straight pieces as a quadratic ½v·Av + b·v + c of the velocities."""
        weights = _DT * np.exp(-self.gamma * _DT * (np.arange(_COUNT) + 0.5))
        hessian, start = self.hessian(), np.array(self.start)
        square, linear = np.zeros((2 * _COUNT, 2 * _COUNT)), np.zeros(2 * _COUNT)
        for share, back in ((1 / 6, 1.0), (4 / 6, 0.5), (1 / 6, 0.0)):
            place = _DT * (np.tri(_COUNT) - back * np.eye(_COUNT))
            square += share * np.kron(place.T @ (weights[:, None] * place), hessian)
            linear += share * np.kron(place.T @ weights, hessian @ start)
        return square, linear, float(weights.sum() * start @ hessian @ start / 2)

    @functools.cached_property
    def _best(self) -> tuple[Array, float, float]:
        """Return the best velocities, what they cost, and what steepest descent costs."""
        square, linear, level = self._bill()
        rule = self.followed()

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
            method="L-BFGS-B", bounds=bounds, options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15},
        )  # fmt: skip
        paid = float((square @ rule.ravel() / 2 + linear) @ rule.ravel() + level)
        return velocities(optimum.x)[0], float(optimum.fun), paid

    def path(self, v: Array) -> Array:
        """Return the places that velocities lead to, shape (N + 1, 2)."""
        start = np.array(self.start)
        return np.vstack([start, start + _DT * np.cumsum(v, axis=0)])

    def excess(self) -> float:
        """Return how much more steepest descent costs, as a part of the least."""
        _, least, paid = self._best
        return paid / least - 1

    def said(self) -> list[str]:
        """Return numbers that the script tells."""
        return [f"{abs(100 * self.excess()):.1f} %"]

    def shows(self) -> dict[str, list[Array]]:
        """Return the lines that are drawn, by the script's names."""
        panel = (-_SHARED["edge"], _SHARED["edge"])
        size = _SHARED["ball"] * np.sqrt(2 if self.norm == 2 else 1)
        ball = circle(60 if self.norm == 1 else 4) @ (rotation(-45) if self.norm == 2 else np.eye(2))
        lines = {
            "ball": np.array(self.start) + size * ball,
            "rule": self.path(self.followed()),
            "optimal": self.path(self._best[0]),
        }
        return {name: inside(line, panel, panel) for name, line in lines.items()}
