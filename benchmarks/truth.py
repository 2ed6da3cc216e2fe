"""J by a channel that shares nothing with the solver: Ritz's method on admissible paths, and what formulas say.

A path of pieces of degree ten walks from θ₀ up to a time T and stands still from there on. Its J is a bound from above,
whatever it is; the pieces' coefficients are those that make it least near a first guess, and the least over guesses and
more pieces is taken for the truth. Velocities come from differentiating the pieces' polynomials, sums over a piece from
Gauss's formula, both from numpy; of the loss its value, gradient and Hessian are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse
from numpy.polynomial import legendre

from lossnav.problem.drifts import Drift
from lossnav.problem.losses import Loss

Array = Any
Guess = Callable[[Any], Any]
DEGREE = 10


def _piece() -> tuple[Array, Array, Array, Array]:
    """Return nodes and Gauss's points on [0, 1], his weights, and what takes values at nodes to values and slopes."""
    inner = legendre.legroots(legendre.legder([0.0] * DEGREE + [1.0]))
    nodes = np.concatenate([[-1.0], inner, [1.0]])
    points, weights = legendre.leggauss(2 * DEGREE)
    back = np.linalg.inv(legendre.legvander(nodes, DEGREE))
    derivative = np.stack([legendre.legval(points, legendre.legder(row)) for row in np.eye(DEGREE + 1)], axis=1)
    values, derivatives = legendre.legvander(points, DEGREE) @ back, derivative @ back
    return (nodes + 1) / 2, (points + 1) / 2, weights / 2, np.stack([values, 2 * derivatives])


@dataclass(frozen=True)
class Ground:
    """A problem with η = k = 1 and no metric.

    Attributes:
        loss: the landscape.
        gamma: discount rate; at 0 nothing is charged after the walk: L must be 0 where it ends.
        drift: f, or None.
        rides: whether the path goes on with the drift after the walk, on ground as it is there, or stands still.
    """

    loss: Loss
    gamma: float
    drift: Drift | None = None
    rides: bool = False

    def current(self, x: Array) -> tuple[Array, Array]:
        """Return f, shape (..., D), and its Jacobian, shape (..., D, D)."""
        if self.drift is None:
            return np.zeros_like(x), np.zeros((*x.shape, x.shape[-1]))
        return self.drift(x), self.drift.jacobian(x)

    def last(self, x: Array, at: float) -> tuple[float, Array, Array]:
        """Return what is charged after the walk, with gradient and (Gauss–Newton's) Hessian."""
        if self.gamma == 0:
            return 0.0, np.zeros_like(x), np.zeros((len(x), len(x)))
        share = math.exp(-self.gamma * at) / self.gamma
        drift, jacobian = self.current(x)
        if self.rides:
            drift, jacobian = 0 * drift, 0 * jacobian
        height, gradient, hessian = self.loss.value(x), self.loss.gradient(x), self.loss.hessian(x)
        return (
            share * float(height + drift @ drift / 2),
            share * (gradient + drift @ jacobian),
            share * (hessian + jacobian.T @ jacobian),
        )


def walk(ground: Ground, start: Array, guess: Guess, edges: Array) -> tuple[float, Array]:
    """Return J of the best walk near a guess, after whose last edge the path stands still, and where that is.

    Args:
        ground: the problem.
        start: θ₀, shape (D,).
        guess: maps times (T,) to places (T, D); its value at 0 is ignored.
        edges: where the pieces meet, from 0 to the end of the walk, shape (M + 1,).
    """
    loss = ground.loss
    nodes, points, weights, (values, derivatives) = _piece()
    lengths, count, dim = np.diff(edges), len(edges) - 1, len(start)
    times = (edges[:-1, None] + lengths[:, None] * points).ravel()
    weight = (lengths[:, None] * weights).ravel() * np.exp(-ground.gamma * times)
    shape = (count * len(points), count * DEGREE + 1)
    rows = np.repeat(np.arange(shape[0]), DEGREE + 1)
    columns = (np.arange(count)[:, None, None] * DEGREE + np.arange(DEGREE + 1)).repeat(len(points), axis=1).ravel()
    paces = (np.tile(derivatives, (count, 1)) / np.repeat(lengths, len(points))[:, None]).ravel()
    at = scipy.sparse.csr_array((np.tile(values, (count, 1)).ravel(), (rows, columns)), shape)
    rate = scipy.sparse.csr_array((paces, (rows, columns)), shape)
    place, velocity = (scipy.sparse.kron(each, np.eye(dim), format="csr") for each in (at, rate))
    heavy = scipy.sparse.diags_array(np.repeat(weight, dim))

    def cost(path: Array) -> float:
        inside = at @ path
        slip = rate @ path - ground.current(inside)[0]
        running = (slip**2).sum(-1) / 2 + loss.value(inside)
        return float(weight @ running) + ground.last(path[-1], edges[-1])[0]

    grid = np.append((edges[:-1, None] + lengths[:, None] * nodes[:-1]).ravel(), edges[-1])
    path = np.array(guess(grid), dtype=float)
    path[0] = start
    least, damping = cost(path), 0.0
    for _ in range(200):
        inside = at @ path
        drift, jacobian = ground.current(inside)
        slips = velocity - scipy.sparse.block_diag(list(jacobian), format="csr") @ place
        _, end_gradient, end_hessian = ground.last(path[-1], edges[-1])
        gradient = slips.T @ (weight[:, None] * (rate @ path - drift)).ravel()
        gradient += place.T @ (weight[:, None] * loss.gradient(inside)).ravel()
        gradient[-dim:] += end_gradient
        curved = scipy.sparse.block_diag(list(weight[:, None, None] * loss.hessian(inside)), format="csr")
        corner = scipy.sparse.block_diag([scipy.sparse.csr_array((path.size - dim,) * 2), end_hessian], format="csr")
        system = (slips.T @ heavy @ slips + place.T @ curved @ place + corner).tocsc()[dim:, dim:]
        size = float(np.abs(system.diagonal()).max())
        while True:  # Levenberg and Marquardt's damping, until J falls
            damped = system + damping * size * scipy.sparse.eye_array(system.shape[0], format="csc")
            step = np.zeros_like(path)
            step[1:] = -scipy.sparse.linalg.spsolve(damped, gradient[dim:]).reshape(-1, dim)
            with np.errstate(all="ignore"):
                new = cost(path + step)
            if new <= least + 1e-14 * abs(least) or damping > 1e8:
                break
            damping = max(1e-8, 10 * damping)
        if not new <= least + 1e-14 * abs(least):
            break
        path, gain, least, damping = path + step, least - new, new, damping / 10 if damping > 1e-8 else 0.0
        if gain <= 1e-14 * abs(least):
            break
    return least, path[-1]


def settled(ground: Ground, start: Array, guess: Guess, span: float, pieces: int = 8, rtol: float = 1e-10) -> float:
    """Return J of the best path near a guess, with ever more pieces, short ones first, until it stands still."""
    before = math.inf
    while True:
        edges = span * np.linspace(0.0, 1.0, pieces + 1) ** 2
        now, _ = walk(ground, np.asarray(start, float), guess, edges)
        if abs(now - before) <= rtol * max(1.0, abs(now)) or pieces >= 128:
            return min(now, before)
        before, pieces = now, 2 * pieces


def towards(start: Array, rest: Array, rate: float = 1.0) -> Callable[[Array], Array]:
    """Return an exponential approach to a rest."""
    start, rest = np.asarray(start, float), np.asarray(rest, float)
    return lambda t: rest + np.exp(-rate * t)[:, None] * (start - rest)


def through(start: Array, gate: Array, rest: Array, arrival: float = 1.0) -> Callable[[Array], Array]:
    """Return a way through a gate at time ``arrival``, and on to a rest."""
    corners = np.array([start, gate, rest], dtype=float)
    clock = np.array([0.0, arrival, 2.5 * arrival])
    return lambda t: np.stack([np.interp(t, clock, column) for column in corners.T], axis=1)


def of_one_parameter(loss: Loss, gamma: float, start: float, window: tuple[float, float]) -> float:
    """Return J (γ > 0) of the best path of one parameter: all that come to rest are followed back from their rests.

    Where one passes ``start`` at the speed v, its J is (L − v²/2)/γ. Rests are looked for in ``window``, which no path
    leaves and comes back to.
    """
    grid = np.linspace(*window, 20_001)
    gradients = loss.gradient(grid[:, None])[:, 0]
    signs = np.nonzero((gradients[:-1] < 0) & (gradients[1:] >= 0))[0]
    rests = [
        scipy.optimize.brentq(lambda x: float(loss.gradient([x])[0]), grid[i], grid[i + 1], xtol=1e-15) for i in signs
    ]
    height, least = float(loss.value([start])), math.inf

    def back(_: float, state: Array) -> Array:
        theta, speed = state
        return np.array([-speed, -gamma * speed - float(loss.gradient([theta])[0])])

    def passes(_: float, state: Array) -> float:
        return float(state[0] - start)

    def leaves(_: float, state: Array) -> float:
        return float((state[0] - window[0]) * (window[1] - state[0]))

    leaves.terminal = True  # type: ignore[attr-defined]
    for rest in rests:
        if abs(rest - start) < 1e-9:
            return height / gamma if len(rests) == 1 else math.nan
        rate = math.sqrt(gamma**2 / 4 + float(loss.hessian([rest])[0, 0])) - gamma / 2
        for side in (-1e-6, 1e-6):
            first = [rest + side, -rate * side]
            way = scipy.integrate.solve_ivp(
                back, (0.0, 60.0 / rate), first, "DOP853", events=(passes, leaves), rtol=1e-12, atol=1e-14
            )
            least = min([least, *((height - state[1] ** 2 / 2) / gamma for state in way.y_events[0])])
    return least
