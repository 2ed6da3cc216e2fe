"""The optimum under another price than |θ̇|²/2η: exact on bowls, and on every loss by the one transcription of J."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.problem.prices import Bowl, Price, Softened
from lossnav.trajectory import accelerated, action, deadline, late, modes, stationary
from lossnav.trajectory.case import TIMED, Case, Settings
from lossnav.trajectory.coming_to_rest import ToRests
from lossnav.trajectory.mesh import first_steps
from lossnav.trajectory.priced import Lifted, transcription
from lossnav.trajectory.result import Method, Trajectory, plot_times, resting_action
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription

_DIAGONAL = 1e-12  # of the largest entry: what rounding leaves beside a diagonal
_FLAT = 1e-2  # of the way down to a mode's rest: whose learner pays as if it came no further counts from its start
_SOFT = 1e-6  # of the softness that would change everything, what is left of it in the end
_LOOKS = 2.0  # how often a path looks different on its way to a place of rest
_CHEAPER = 1e-4  # of J: by so much a path of a late deadline, which is good to 1e-6 of both, must be cheaper
_KINKED = 1e-6  # the accuracy of paths with kinks, whose error is no series in the length of a step
_SEEN = 1e-3  # of the way: how near to the end the natural times go


def price_of(objective: Objective) -> Price:
    """Return the price, which is there."""
    assert objective.price is not None  # whoever calls has seen to it
    return objective.price


def bowl(objective: Objective, hessian: Array) -> tuple[Bowl, str]:
    """Return curvatures along the price's axes, and why it has no exact law there, or ""."""
    h = np.diagonal(hessian).copy()
    coupled = np.max(np.abs(hessian - np.diag(h))) > _DIAGONAL * np.max(np.abs(hessian))
    reason = "needs a Hessian that is diagonal, as the price's axes are" if coupled else price_of(objective).refuses(h)
    return Bowl(h, objective.k, objective.gamma), reason


class OnBowl:
    """The exact optimum on a quadratic loss: of acceleration in any metric, of speed along the price's axes."""

    name: Method = "closed_form"

    def accepts(self, case: Case) -> str:
        """Return why not: another loss, a deadline, coupled axes."""
        if not isinstance(case.loss, Quadratic):
            return f"needs a losses.Quadratic, but loss is {case.loss!r}"
        if not case.rests:
            return "needs neither a deadline nor an endpoint"
        if price_of(case.objective).order == 2:
            return ""
        return bowl(case.objective, case.loss.hessian(case.theta0))[1]

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        assert isinstance(case.loss, Quadratic)  # accepts has said so
        if price_of(case.objective).order == 2:
            return _accelerated(case, case.loss)
        return _settled(case, case.loss)


class OnMesh:
    """Newton's method on the discretised J, as in ``action.Action``: of acceleration, and of what has ``softened``.

    Under a price of speed paths may have kinks where they meet a limit or come to rest: they are refined to 1e-6 at
    most, and an infinite time is cut at a late deadline, for no quadratic model says what the end costs.
    """

    name: Method = "action"

    def accepts(self, case: Case) -> str:
        """Return why not: a loss that depends on time, kinks, an end that is not there yet."""
        price = price_of(case.objective)
        if case.loss.timed:
            return TIMED
        if price.order == 2:
            if isinstance(case.velocity0, str):
                return "needs velocity0 = None or an array: which one is best is known on a losses.Quadratic alone"
            return "" if case.endpoint is None else "needs a free end where acceleration is charged"
        if price.keeps():
            return f"takes no price = {price!r}: it {price.keeps()}"
        if case.rests and (case.objective.gamma == 0 or case.span is not None):
            return "needs a discount and no horizon of its own where time is infinite, or a deadline, or an endpoint"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal.

        Raises:
            NoMinimiser: if there is none, or if no speed within a limit reaches the endpoint.
            NotConverged: if late deadlines do not say what J is.
        """
        price = price_of(case.objective)
        if price.order == 2:
            search = _Moving(case, settings)
            return search.compared(action.judged(case, search.paths(), self.name))
        if case.endpoint is not None:
            straight = (case.endpoint - case.theta0) / case.deadline
            if math.isinf(price.value(straight)):
                raise NoMinimiser(f"no minimiser: not even straight at {straight} the endpoint is within the limit")
        # A barrier rounds the kinks of a bare limit off: its height s there is that of a bowl √s away from its minimum.
        blur = math.sqrt(_SOFT) if price.bare else 0.0
        rough = replace(settings, rtol=max(settings.rtol, _KINKED), blur=blur)
        rests = stationary.search(replace(case.objective, horizon=math.inf), case.loss, case.theta0)
        objective = replace(case.objective, price=self._softened(case, rests))
        paths = self._paths(replace(case, objective=objective), rests, rough)
        return action.judged(case, paths, self.name)

    def _paths(self, case: Case, rests: Rests, settings: Settings) -> Iterator[Trajectory]:
        if not case.rests:
            yield from deadline.from_case(case, settings)
            return
        # To each bowl a path of its own; to the floor of a valley, and what else has no rate of approach, one for all.
        bowls, floor = late.split(case.objective, case.loss, case.theta0, rests)
        groups = [places for places in (*bowls.points[:, None], floor) if len(places)]
        for places in groups or [case.theta0[None]]:
            alone = replace(rests, points=places)
            try:
                path = late.path(case.objective, case.loss, case.theta0, alone, settings)
            except NoMinimiser:  # late deadlines do not agree: that Newton's method stopped is one reason
                raise NotConverged(
                    f"paths of two late deadlines by {np.array2string(places[0], precision=6)} do not agree on J, so "
                    "that it may be less than elsewhere: give objective.horizon, or raise gamma"
                ) from None
            # Whether a floor was counted as one place hangs on the digits of its curvature: its path tells no share.
            yield path if len(floor) else replace(path, unseen=rests.unseen)

    @staticmethod
    def _softened(case: Case, rests: Rests) -> Softened:
        """Return the price as it is minimised, by how much the loss falls on straight ways to the places of rest."""
        price = price_of(case.objective)
        ways = np.vstack([case.theta0, rests.points]) - case.theta0
        lines = case.theta0 + np.linspace(0, 1, 17)[:, None, None] * ways
        fall = case.objective.k * float(np.ptp(np.asarray(case.loss.value(lines)))) or 1.0
        longest = ways[int(np.argmax(np.abs(ways).max(axis=1)))]
        hurry = 2.0 ** np.arange(-60, 61)  # what it costs to go it in a time 1/hurry, against what that wins
        affordable = hurry[np.asarray(price.value(hurry[:, None] * longest)) <= fall]
        pace = _LOOKS * float(np.max(affordable)) if np.any(longest) else 0.0
        return Softened(price, _SOFT * price.ease(fall), pace)


class _Moving(ToRests):
    """The search for optima where acceleration is charged: that of ``ToRests``, in states (θ, θ̇)."""

    def __init__(self, case: Case, settings: Settings):
        super().__init__(case, settings)
        speed = np.zeros_like(case.theta0) if case.velocity0 is None else np.asarray(case.velocity0)
        self.theta0, self.final_loss = np.concatenate([case.theta0, speed]), Lifted(case.loss)

    def paths(self) -> Iterator[Trajectory]:
        """Yield the extremal of each place to rest at, or those of a deadline."""
        case, objective = self.case, self.objective
        if not case.rests:
            yield from deadline.from_starts(objective, self.loss, self.theta0, case.deadline, self.settings)
            return
        rests = stationary.search(objective, self.loss, case.theta0)
        sharp = rests.points[~stationary.degenerate(self.loss, case.theta0, rests.points)]
        ends = [end for point in sharp if (end := self._end(point)) is not None]
        if not ends and objective.gamma == 0:
            raise NoMinimiser(
                "no minimiser was found: no minimum of positive curvature near theta0, in which a path could come to "
                "rest; set a deadline, or check that the loss takes its minimum"
            )
        ends = stationary.lowest(ends) if objective.gamma == 0 else ends
        states = np.concatenate([rests.points, np.zeros_like(rests.points)], axis=1)
        arrived = False
        for path in self._all(ends, replace(rests, points=states)) if ends else ():
            arrived = arrived or path.converged
            yield path
        if objective.gamma > 0 and not arrived:  # as ``late.path`` does where speed is charged
            path = self._dated(1.5 * self._patience)
            change = abs(path.action - self._early.action)
            known = change <= 10 * _KINKED * abs(path.action)
            stays = resting_action(objective.k * float(self.loss.value(path.asymptote)), objective.gamma, 1.0)
            excess, error = path.action - stays, path.error + change
            yield late.standing(path, path.action, excess, path.asymptote, error, known)

    def compared(self, best: Trajectory) -> Trajectory:
        """Return the best path, not converged where one of a late deadline, standing on from there, costs less.

        A rest may be too flat for a law of approach, or be none that is a bowl: then no path to it was compared.
        """
        if not self.case.rests or self.objective.gamma == 0 or not best.converged:
            return best
        path = self._early
        if path.converged and best.action - path.action > _CHEAPER * (abs(best.action) + abs(path.action)):
            return replace(best, status=Status.NEVER_RESTS, detail=f"it has J = {path.action:.6g}")
        return best

    @property
    def _patience(self) -> float:
        """How late a deadline leaves the discount little to pay."""
        return math.log(1 / _KINKED) / self.objective.gamma

    @cached_property
    def _early(self) -> Trajectory:
        """The cheapest path of the earliest deadline that is late enough."""
        return self._dated(self._patience)

    def _dated(self, span: float) -> Trajectory:
        """Return the cheapest path of a deadline, with what it costs to stand still after it in its ``action``."""
        rough = Settings(rtol=max(self.settings.rtol, _KINKED))
        dated = deadline.from_starts(self.objective, self.loss, self.theta0, span, rough)
        paths = [replace(path, action=late.held(self.objective, self.loss, path)) for path in dated]
        return min(paths, key=lambda path: (not path.converged, path.action))

    def _end(self, point: Array) -> LocalValue | None:
        """Return the value function of the bowl at a minimum, and its law (W3); None where it is none."""
        objective, loss = self.objective, self.loss
        metric, dim = objective.metric_matrix(loss.dim), loss.dim
        basis = modes.decompose(loss.hessian(point), metric)
        if np.min(basis.curvature) <= stationary.DEGENERATE * np.max(np.abs(basis.curvature)):
            return None
        kappa, friction = accelerated.gains(objective, basis.curvature)
        stiff = kappa * basis.curvature
        lowered = metric @ basis.directions

        def of_modes(numbers: Array) -> Array:
            return (basis.directions * numbers) @ lowered.T

        law = np.block([[np.zeros((dim, dim)), np.eye(dim)], [-of_modes(stiff), -of_modes(friction)]])
        m = accelerated.charged(objective).m
        corner = m * metric @ of_modes(stiff)
        matrix = np.block([
            [m * metric @ of_modes(stiff * (objective.gamma + friction)), corner],
            [corner.T, m * metric @ of_modes(friction)],
        ])  # fmt: skip
        state, zeros = np.concatenate([point, np.zeros(dim)]), np.zeros(2 * dim)
        rest = objective.k * float(loss.value(point))
        return LocalValue(state, matrix, zeros, 0.0, rest, law, zeros, state)

    def _metric_there(self, place: Array) -> Array:
        return np.kron(np.eye(2), self.objective.metric_matrix(self.loss.dim))

    def _relaxing(self, end: LocalValue) -> None:
        return None

    def _flowing(self, span: float, end: LocalValue) -> None:
        return None  # no state (θ, θ̇) follows the gradient

    def _coarse(self, span: float, end: LocalValue) -> Transcription:
        fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
        # What a cubic pays has its discount exactly, and so the law alone is resolved.
        steps = first_steps(replace(self.objective, gamma=0.0), 2 * self.loss.dim, span, fastest)
        level = float(self.final_loss.value(end.fixed))
        return transcription(self.objective, self.loss, span, steps, terminal=end, level=level)


def _accelerated(case: Case, loss: Quadratic) -> Trajectory:
    """Return the optimum where acceleration is charged, with J = ∫… by the value function (W3).

    V is ½m[K₁(γ+K₂)x² + 2K₁xv + K₂v²] on top of resting at the minimum; of a mode too flat to know where that is it is
    κ·m·gv + ½mK₂v² − mκ²g²/2γ on top of resting where it starts, κ = K₁/h.
    """
    objective, theta0 = case.objective, case.theta0
    path = accelerated.start(objective, loss, theta0, case.velocity0)
    h, g, v, gamma = path.curvature, path.gradient, path.speed, objective.gamma
    kappa, friction = accelerated.gains(objective, h)
    m = accelerated.charged(objective).m
    blunt, depths = modes.depths(h, g, timeless=gamma == 0)
    blunt |= h < 0  # a hill has no rest below
    flat = (gamma > 0) & (blunt | (m * kappa**2 * h < _FLAT * objective.k))
    speeds = m * (2 * kappa * g * v + friction * v**2) / 2
    costs = m * kappa * (gamma + friction) * depths + speeds
    level = float(loss.value(theta0)) - float(np.sum(depths[~flat]))
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(level))
    action = float(np.sum(costs[~flat])) + resting_action(objective.k * level, gamma, scale)
    if np.any(flat):
        action += float(np.sum((speeds - m / (2 * gamma) * kappa**2 * g**2)[flat]))
    # Where nothing pulls (h = g = 0), friction alone stops a learner who moves, after v/K₂.
    coasts = (h == 0) & ~modes.tilted(g)
    # How fast each mode comes to rest, and where.
    slow = np.where(coasts, friction, _slow(kappa * h, friction))
    moved = (v != 0) | ((g != 0) & ~coasts)
    rests = np.all((slow > 0) | ~moved)
    growth = float(np.max(-slow, initial=-math.inf, where=moved))
    way = np.where(coasts, -v / np.where(friction > 0, friction, 1.0), g / np.where(h > 0, h, 1.0))
    stop = theta0 - path.directions @ way
    pace = growth if growth > 0 else float(np.min(slow, initial=np.inf, where=slow > 0))
    return Trajectory(
        objective, loss, plot_times(pace, math.inf), action,
        float(np.sum(costs)) if np.all(~blunt | coasts) else math.nan, stop if rests else np.full(loss.dim, np.nan),
        OnBowl.name, path.position, path.rate, growth=growth, second=path.second,
    )  # fmt: skip


def _slow(stiff: Array, friction: Array) -> Array:
    """Return the real part of the slower rate of s² + K₂s + K₁ = 0."""
    half = friction / 2
    fast = half + np.sqrt(np.maximum(half**2 - stiff, 0.0))
    return np.where(half**2 > stiff, stiff / np.where(fast == 0, 1.0, fast), half)


@dataclass(frozen=True, eq=False)
class _Settling:
    """The path along the price's axes."""

    price: Price
    minimum: Array
    start: Array
    bowl: Bowl

    def position(self, t: Array) -> Array:
        return self.minimum + self.price.settle(self.start, t, self.bowl)

    def rate(self, t: Array) -> Array:
        return self.price.pace(self.price.settle(self.start, t, self.bowl), self.bowl)


def _settled(case: Case, loss: Quadratic) -> Trajectory:
    """Return the optimum along the price's axes."""
    objective, price = case.objective, price_of(case.objective)
    axes, _ = bowl(objective, loss.hessian(case.theta0))
    start = loss.gradient(case.theta0) / axes.curvature
    minimum = case.theta0 - start
    path = _Settling(price, minimum, start, axes)
    stop = price.settle(start, np.array([np.inf]), axes)[0]
    level, cost = objective.k * float(loss.value(minimum)), float(price.cost(start, axes))
    height = objective.k / 2 * float(axes.curvature @ stop**2)
    times = np.linspace(0.0, _span(price, start, stop, axes), 201)
    return Trajectory(
        objective, loss, times, cost + resting_action(level, objective.gamma, abs(level) + cost),
        cost - resting_action(height, objective.gamma, 0.0) if height else cost, minimum + stop, OnBowl.name,
        path.position, path.rate,
    )  # fmt: skip


def _span(price: Price, start: Array, stop: Array, axes: Bowl) -> float:
    """Return a time after which no more than a thousandth of the way is left."""
    far = _SEEN * float(np.max(np.abs(start - stop), initial=0.0))
    if far == 0:
        return 10.0
    grid = 2.0 ** np.arange(-300, 301)
    left = np.max(np.abs(price.settle(start, grid, axes) - stop), axis=1)
    return float(grid[np.argmax(left <= far)])
