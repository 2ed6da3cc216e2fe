r"""The Euler–Lagrange equations under G(θ) with a drift, in numbers: one evaluation of the metric at each place.

With the slip s = θ̇ − f and J = ∂f/∂θ,

.. math::
    G(\ddot\theta-J\dot\theta) = \gamma Gs - \dot Gs - J^\top Gs
        + \tfrac12\sum_{jk}\partial_iG_{jk}s_js_k + \eta k\,\nabla L,\qquad
    \dot G = \sum_k\partial_kG\,\dot\theta_k .

Without drift these are Eq. 90. ``lossnav.euler_lagrange`` derives the same from the Lagrangian; tests compare the two.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective

_KEPT = 4  # sets of points: a mesh, its middles, and the mesh before


class Place:
    """What a problem says of points θ, shape (N, D), each computed when it is asked for, and once."""

    def __init__(self, objective: Objective, loss: Loss, theta: Array):
        self._objective, self._loss, self._theta = objective, loss, theta

    @cached_property
    def metric(self) -> Array:
        """G, shape (N, D, D); not checked, for Newton's method may pass through places where it is no metric."""
        return self._objective.metric_on(self._loss.dim).matrix(self._theta)

    @cached_property
    def slope(self) -> Array:
        """∂G_ij/∂θ_k, shape (N, D, D, D)."""
        return self._objective.metric_on(self._loss.dim).slope(self._theta)

    @cached_property
    def bend(self) -> Array:
        """∂²G_ij/∂θ_k∂θ_l, shape (N, D, D, D, D)."""
        return self._objective.metric_on(self._loss.dim).bend(self._theta)

    @cached_property
    def value(self) -> Array:
        """L, shape (N,)."""
        return np.asarray(self._loss.value(self._theta))

    @cached_property
    def gradient(self) -> Array:
        """∇L, shape (N, D)."""
        return self._loss.gradient(self._theta)

    @cached_property
    def hessian(self) -> Array:
        """∇²L, shape (N, D, D)."""
        return self._loss.hessian(self._theta)

    @cached_property
    def drift(self) -> tuple[Array, Array]:
        """f and J, shapes (N, D) and (N, D, D)."""
        assert self._objective.drift is not None
        return self._objective.drift(self._theta), self._objective.drift.jacobian(self._theta)


class Terms:
    """θ̈ and the running cost of one problem; what depends on θ alone is remembered for the last few meshes."""

    def __init__(self, objective: Objective, loss: Loss):
        self._objective, self._loss = objective, loss
        self._places: OrderedDict[bytes, Place] = OrderedDict()

    def acceleration(self, theta: Array, velocity: Array) -> Array:
        """Return θ̈ on an extremal through θ and θ̇, shape (N, D) each."""
        place, objective = self._at(theta), self._objective
        slip, turn = velocity, np.zeros_like(velocity)
        if objective.drift is not None:
            drift, jacobian = place.drift
            slip = velocity - drift
        momentum = np.einsum("nij,nj->ni", place.metric, slip)
        force = objective.gamma * momentum + objective.eta * objective.k * place.gradient
        if objective.curved:
            force -= _last(place.slope, slip, velocity)
            force += _first(place.slope, slip, slip) / 2
        if objective.drift is not None:
            force -= np.einsum("nji,nj->ni", jacobian, momentum)
            turn = np.einsum("nij,nj->ni", jacobian, velocity)
        return turn + np.linalg.solve(place.metric, force[..., None])[..., 0]

    def cost_rate(self, theta: Array, velocity: Array) -> Array:
        """Return |θ̇−f|²_G/2η + kL, shape (N,)."""
        place, objective = self._at(theta), self._objective
        slip = velocity if objective.drift is None else velocity - place.drift[0]
        kinetic = np.einsum("ni,nij,nj->n", slip, place.metric, slip) / (2 * objective.eta)
        return kinetic + objective.k * place.value

    def tangent(self, theta: Array, velocity: Array) -> tuple[Array, Array, Array, Array]:
        """Return the derivatives of θ̈ by θ and θ̇, shape (N, D, D), and of the cost by both, shape (N, D).

        A drift must be affine: its second derivatives are left out.
        """
        place, objective = self._at(theta), self._objective
        metric = place.metric
        push = self.acceleration(theta, velocity)
        slip, jacobian = velocity, None
        if objective.drift is not None:
            drift, jacobian = place.drift
            slip = velocity - drift
            push = push - np.einsum("nij,nj->ni", jacobian, velocity)
        by_slip = by_velocity = objective.gamma * metric
        by_place = objective.eta * objective.k * place.hessian
        cost = objective.k * place.gradient
        momentum = np.einsum("nij,nj->ni", metric, slip) / objective.eta
        if objective.curved:
            slope, bend = place.slope, place.bend
            turned = np.einsum("nijk,nk->nij", slope, velocity)  # Ġ
            by_slip = by_slip - turned + np.einsum("nlki,nk->nil", slope, slip)
            by_velocity = by_slip - np.einsum("nijl,nj->nil", slope, slip)
            by_place = by_place + np.einsum("nijl,nj->nil", slope, objective.gamma * slip - push)
            by_place -= np.swapaxes(_last(np.moveaxis(bend, 4, 1), slip, velocity), 1, 2)
            by_place += _first(bend, slip, slip) / 2
            cost = cost + _first(slope, slip, slip) / (2 * objective.eta)
        if jacobian is not None:  # the slip changes with θ, and the drift pulls on the momentum
            turn = np.swapaxes(jacobian, 1, 2) @ metric
            by_velocity = by_velocity - turn
            by_place = by_place - (by_slip - turn) @ jacobian
            if objective.curved:
                by_place -= np.einsum("nmi,nmjl,nj->nil", jacobian, slope, slip)
            cost = cost - np.einsum("nji,nj->ni", jacobian, momentum)
        place_part, speed_part = np.linalg.solve(metric, by_place), np.linalg.solve(metric, by_velocity)
        return place_part, speed_part if jacobian is None else speed_part + jacobian, cost, momentum

    def second(self, theta: Array, velocity: Array) -> tuple[Array, Array, Array]:
        """Return the second derivatives of the running cost by θ̇θ̇, θ̇θ and θθ, shape (N, D, D) each; drift as above."""
        place, objective = self._at(theta), self._objective
        metric = place.metric
        slip = velocity if objective.drift is None else velocity - place.drift[0]
        tilt, both = np.zeros_like(metric), np.zeros_like(metric)
        if objective.curved:
            tilt, both = np.einsum("nijl,nj->nil", place.slope, slip), _first(place.bend, slip, slip) / 2
        mixed = tilt
        if objective.drift is not None:
            jacobian = place.drift[1]
            back = np.swapaxes(jacobian, 1, 2)
            both = both + back @ metric @ jacobian - back @ tilt - np.swapaxes(back @ tilt, 1, 2)
            mixed = tilt - metric @ jacobian
        return metric / objective.eta, mixed / objective.eta, both / objective.eta + objective.k * place.hessian

    def _at(self, theta: Array) -> Place:
        key = theta.tobytes()
        if key in self._places:
            self._places.move_to_end(key)
        else:
            self._places[key] = Place(self._objective, self._loss, theta)
            while len(self._places) > _KEPT:
                self._places.popitem(last=False)
        return self._places[key]


def _first(tensor: Array, one: Array, other: Array) -> Array:
    """Return the sums over j, k of T_jk…·one_j·other_k, shape (N, …), for T of shape (N, D, D, …)."""
    count, dim = one.shape
    pairs = (one[:, :, None] * other[:, None, :]).reshape(count, 1, dim * dim)  # many times as fast as np.einsum
    return (pairs @ tensor.reshape(count, dim * dim, -1)).reshape(count, *tensor.shape[3:])


def _last(tensor: Array, one: Array, other: Array) -> Array:
    """Return the sums over j, k of T_…jk·one_j·other_k, shape (N, …), for T of shape (N, …, D, D)."""
    count, dim = one.shape
    pairs = (one[:, :, None] * other[:, None, :]).reshape(count, dim * dim, 1)
    return (tensor.reshape(count, -1, dim * dim) @ pairs).reshape(tensor.shape[:-2])
