r"""J on a mesh under another price than |θ̇|²/2η: the one transcription, in which motion costs something else.

``Priced`` charges φ of an interval's velocity. ``Accelerated`` has as its states z = (θ, θ̇), between which a path is
the cubic that has both, and charges :math:`m|\ddot\theta|^2/2+c|\dot\theta|^2/2` of it: what a second difference
stands for, where each node touches its neighbours alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.problem.prices import Price
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.transcription import Transcription

_HARDER = 10.0 ** np.arange(4, 0, -0.5)  # how much softer prices are that lead up to one
_WITHIN = 0.99  # of the room that a limit leaves beside a straight line: how near to it a search may begin
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact to the last digit for a discount γΔt of some units


def transcription(objective: Objective, *args: Any, **parts: Any) -> Transcription:
    """Return J on a mesh, of the kind that the objective's price asks for; arguments are ``Transcription``'s."""
    if objective.price is None:
        return Transcription(objective, *args, **parts)
    kind = Priced if objective.price.order == 1 else Accelerated
    return kind(objective, *args, **parts)


@dataclass(frozen=True, eq=False)
class Priced(Transcription):
    """J under a ``Softened`` price of speed; what paths carry beside their places are costates."""

    @property
    def _price(self) -> Any:
        return self.objective.price

    @property
    def steady(self) -> bool:
        """No: φ″ depends on the velocity."""
        return False

    def eased(self) -> Iterator[Transcription]:
        """Yield the same under softer prices."""
        price = self._price
        for factor in _HARDER if price.softness > 0 else ():
            softer = replace(price, softness=factor * price.softness)
            yield replace(self, objective=replace(self.objective, price=softer))

    @property
    def walled(self) -> bool:
        """Whether there is a limit of speed."""
        return self._price.price.cap is not None

    def admitted(self, paths: Array) -> Array:
        """Return paths within a limit of speed: later on the same course, or drawn to the straight line to an end."""
        cap = self._price.price.cap
        if not self.walled:
            return paths
        if self.endpoint is None:
            lasting = np.max(np.abs(np.diff(paths, axis=-2)) / (_WITHIN * cap), axis=-1)
            arrivals = np.cumsum(np.maximum(lasting, self.dt[:, 0]), axis=-1)
            slowed = np.empty_like(paths)
            for index in np.ndindex(paths.shape[:-2]):
                knots = np.append(0.0, arrivals[index])
                slowed[index] = np.transpose([np.interp(self.times, knots, column) for column in paths[index].T])
            return slowed
        start = paths[..., :1, :]
        line = (self.endpoint - start) / self.horizon
        beside = self.slips(paths) - line
        room = _WITHIN * (cap - np.where(beside > 0, line, -line))
        share = np.min(room / np.maximum(np.abs(beside), room), axis=(-2, -1), keepdims=True)
        straight = start + self.times[:, None] * line
        return straight + share * (paths - straight)

    def reach(self, path: Array, step: Array) -> float:
        """Return a share after which some of the way to a limit is left: at it a barrier is infinite."""
        cap = self._price.price.cap
        if cap is None:
            return 1.0
        move = np.zeros_like(path)
        move[self.free] = step
        speed, change = self.slips(path), self.slips(move)
        room = cap - np.where(change > 0, speed, -speed)
        return float(min(1.0, np.min(_WITHIN * room / np.maximum(np.abs(change), 1e-300))))

    def paid(self, path: Array) -> Array:
        """Return φ, shape (..., N)."""
        return np.asarray(self._price.value(self.slips(path)))

    def bias(self, path: Array) -> float:
        """Return J under the price itself less J_N, to first order in the softness: φ* falls by what φ rises."""
        value, momentum, _ = self._softened(path)
        gained = (momentum * self.slips(path)).sum(-1) - value
        return float(self._weights[0] @ (gained - self._price.price.conjugate(momentum)))

    def gap(self, path: Array) -> float:
        """Return ∫D_φ(θ̇, p): J + ``bias`` is a dual bound where L is convex, and so much below what the path costs."""
        _, momentum, _ = self._softened(path)
        return float(self._weights[0] @ self._price.price.bregman(self.slips(path), momentum))

    def _softened(self, path: Array) -> tuple[Any, Array, Array]:
        return self._price.price.softened(self.slips(path), self._price.softness)

    def _kinetic_gradients(self, path: Array) -> tuple[Array, Array]:
        _, momentum, _ = self._softened(path)
        left, right = self.kinetic_factors
        return -left * momentum, right * momentum

    def _kinetic_blocks(self, path: Array) -> tuple[Array, Array, Array]:
        _, _, stiffness = self._softened(path)
        mass = (stiffness / self.dt)[..., None] * np.eye(self.loss.dim)
        left, right = (factor[..., None] for factor in self.kinetic_factors)
        return left * mass, right * mass, -np.sqrt(left * right) * mass

    def carried(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return the costates."""
        return self.costates(path, loss_gradient)

    def rates(self, carried: Array) -> Array:
        """Return the velocities that they ask for."""
        return self._price.velocity(carried)

    def pace(self, place: scipy.interpolate.PPoly, carried: Array, loss_gradient: Array) -> Callable[[Array], Array]:
        """Return the velocity that the costate asks for, whose own rate is γp + k∇L: it keeps every limit."""
        change = self.objective.gamma * carried + self.objective.k * loss_gradient
        return _Heeded(self._price, scipy.interpolate.CubicHermiteSpline(place.x, carried, change))

    def seen(self, path: Trajectory) -> Trajectory:
        """Return the path under the price itself."""
        return replace(path, objective=replace(self.objective, price=self._price.price))


@dataclass(frozen=True, eq=False)
class _Heeded:
    """∇φ*(p) along a costate."""

    price: Price
    costate: scipy.interpolate.PPoly

    def __call__(self, t: Array) -> Array:
        return self.price.velocity(self.costate(t))


class Lifted(Loss):
    """A loss of θ as one of z = (θ, θ̇)."""

    def __init__(self, loss: Loss):
        self.dim, self.positive, self._loss = 2 * loss.dim, loss.positive, loss

    def value(self, theta: Any) -> Any:
        """Return L(θ), shape (...)."""
        return self._loss.value(theta[..., : self._loss.dim])

    def gradient(self, theta: Any) -> Array:
        """Return ∇L beside zeros, shape (..., 2D)."""
        gradient = np.zeros(theta.shape)
        gradient[..., : self._loss.dim] = self._loss.gradient(theta[..., : self._loss.dim])
        return gradient

    def hessian(self, theta: Any) -> Array:
        """Return ∇²L beside zeros, shape (..., 2D, 2D)."""
        dim = self._loss.dim
        hessian = np.zeros((*theta.shape, 2 * dim))
        hessian[..., :dim, :dim] = self._loss.hessian(theta[..., :dim])
        return hessian


@dataclass(frozen=True, eq=False)
class Accelerated(Transcription):
    """J under a price of acceleration; paths are those of z = (θ, θ̇), shape (..., N+1, 2D)."""

    @cached_property
    def landscape(self) -> Loss:
        """L as z sees it."""
        return Lifted(self.loss)

    def lift(self, places: Array) -> Array:
        """Return places with velocities 0."""
        return np.concatenate([places, np.zeros_like(places)], axis=-1)

    @cached_property
    def _form(self) -> Array:
        """What a cubic costs, a form in its mean velocity and those at both ends, relative to its start, (N, 3, 3)."""
        price: Any = self.objective.price
        s = (1 + _NODES) / 2
        accelerations = np.stack([6 - 12 * s, 6 * s - 4, 6 * s - 2], axis=1)
        velocities = np.stack([6 * s * (1 - s), (1 - s) * (1 - 3 * s), s * (3 * s - 2)], axis=1)
        weights = self.dt * np.exp(-self._turn * s) * _WEIGHTS / 2
        bent, moved = (np.einsum("nq,qi,qj->nij", weights, basis, basis) for basis in (accelerations, velocities))
        return np.asarray(price.m * bent / self.dt[..., None] ** 2 + price.speed * moved)

    @cached_property
    def _metric_matrix(self) -> Array:
        return np.asarray(self.objective.metric_matrix(self.loss.dim))

    def _moving(self, path: Array) -> Array:
        """Return the mean velocity of each interval and those at its ends, shape (..., N, 3, D)."""
        place, speed = np.split(path, 2, axis=-1)
        return np.stack([np.diff(place, axis=-2) / self.dt, speed[..., :-1, :], speed[..., 1:, :]], axis=-2)

    def paid(self, path: Array) -> Array:
        """Return what each cubic costs, relative to the weight of its interval, shape (..., N)."""
        moving = self._moving(path)
        cost = np.einsum("nij,...nid,...njd->...n", self._form, moving, moving @ self._metric_matrix) / 2
        return cost / np.ravel(self.dt * self.kinetic_factors[0])

    def _kinetic_gradients(self, path: Array) -> tuple[Array, Array]:
        worth = np.einsum("nij,...njd->...nid", self._form, self._moving(path)) @ self._metric_matrix
        mean, begin, stop = np.moveaxis(worth, -2, 0)
        costate = mean / self.dt
        return np.concatenate([-costate, begin], axis=-1), self._onward * np.concatenate([costate, stop], axis=-1)

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        steps, dim = self.steps, self.loss.dim
        ends = np.zeros((steps, 3, 4))  # from (θ, θ̇) at both ends to the mean velocity and those at the ends
        ends[:, 0, 0], ends[:, 0, 2] = -1 / self.dt[:, 0], 1 / self.dt[:, 0]
        ends[:, 1, 1] = ends[:, 2, 3] = 1
        form = np.swapaxes(ends, 1, 2) @ self._form @ ends
        element = np.einsum("nij,de->nidje", form, self._metric_matrix).reshape(steps, 4 * dim, 4 * dim)
        onward, left, right = self._onward[..., None], slice(0, 2 * dim), slice(2 * dim, 4 * dim)
        diagonal = np.zeros((steps + 1, 2 * dim, 2 * dim))
        diagonal[:-1] += element[:, left, left]
        diagonal[1:] += onward * element[:, right, right]
        return diagonal, np.sqrt(onward) * element[:, right, left]

    def velocities(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return ż = (θ̇, θ̈) at the nodes: m·Gθ̈ is what the velocity at the start of a cubic is worth."""
        price: Any = self.objective.price
        start, final = self._kinetic_gradients(path)
        dim = self.loss.dim
        velocity_costate = np.concatenate([-start, final[-1:]])[:, dim:]
        return np.concatenate(
            [path[:, dim:], np.linalg.solve(price.m * self._metric_matrix, velocity_costate.T).T], axis=1
        )

    def seen(self, path: Trajectory) -> Trajectory:
        """Return the path of θ."""
        dim = self.loss.dim
        place, pace = path.position, path.rate
        return replace(
            path, asymptote=path.asymptote[:dim], position=_Part(place, slice(None, dim)),
            rate=_Part(place, slice(dim, None)), second=_Part(pace, slice(dim, None)),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the components of a motion."""

    motion: Callable[[Array], Array]
    part: slice

    def __call__(self, t: Array) -> Array:
        return self.motion(t)[:, self.part]
