"""Damped Newton for the discretised objective: O(N·D³) a step, with a certificate at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.trajectory import blocks
from lossnav.trajectory.transcription import Transcription

_FIRST_DAMPING = 0.01  # of what makes every node's own curvature positive
_MOST_DAMPING = 1e12  # steps of 1e-12 of a gradient step: rounding
_KINETIC = 1e-6  # of the Hessian's diagonal in the middle, where a metric that varies is what makes it indefinite
_LEAP = 1.0  # the longest step under a metric that varies, relative to 1 + |θ|
_TOLERANCE = 1e-10  # of a Newton step's largest component, relative to how far the path goes (``sizes``)
_EASED = 1e-3  # how well the problems are solved that lead up to another
_BLUR = 1e-12  # what rounding leaves of 1 + |θ|, and of a gradient that is made of differences
_NO_BETTER = 1e-6  # below it steps that no longer shrink are rounding


@dataclass(frozen=True, eq=False)
class Minimum:
    """A stationary path of a discretised problem.

    Attributes:
        path: θ at the nodes, shape (N+1, D).
        action: its J_N (see ``Transcription.action``).
        gradient: largest |∂J_N/∂θ_n|/w_n over the free nodes.
        residual: largest residual of the Euler–Lagrange equations there, solved for θ̈.
        converged: whether Newton's last step, or what its ratio to the one before leaves, fell below the tolerance.
        definite: whether the Hessian there is positive definite: no conjugate point.
        iterations: Newton steps taken.
        loss_gradient: ∇L at the nodes, shape (N+1, D).
        curvature: ∇²L there, as far as the last step needed it, shape (N+1, D, D).
    """

    path: Array
    action: float
    gradient: float
    residual: float
    converged: bool
    definite: bool
    iterations: int
    loss_gradient: Array
    curvature: Array


def minimise(problem: Transcription, path: Array, curvature: Array | None = None, *, limit: int = 200) -> Minimum:
    """Return the stationary path that damped Newton reaches from ``path``; the first node stays where it is.

    Args:
        problem: the discretised objective.
        path: start, shape (N+1, D).
        curvature: ∇²L along it, shape (N+1, D, D), if it is known nearly: as from a coarser grid. Easier problems lead
            on from there only where the path is no good start, or a limit may hold it: how near to it, no other grid
            says. It is kept as long as each step is at most a tenth of the one before; what it changes in the
            certificate is less than the grid's own error.
        limit: most Newton steps.
    """
    paths = np.asarray(path)[None]
    if curvature is not None and not problem.walled:
        found = _Walk(problem, paths, _TOLERANCE, curvature).minima(limit)[0]
        if found.converged or not any(problem.eased()):
            return found
    return _Walk(problem, _led(problem, paths, limit), _TOLERANCE, curvature).minima(limit)[0]


def minimise_all(problem: Transcription, paths: Array, *, limit: int = 200) -> list[Minimum]:
    """Return where Newton's method leads from each of several paths, shape (B, N+1, D), walked side by side.

    A path's steps do not depend on the others; the loss is asked for the nodes of all of them in one call. Of paths
    that have come together only one is followed on, and they share its ``Minimum``. If the budget ends on the way, each
    path is returned as far as it came, not converged.
    """
    return _Walk(problem, _led(problem, paths, limit), _TOLERANCE).minima(limit)


def _led(problem: Transcription, paths: Array, limit: int) -> Array:
    """Return the paths, led to ``problem`` by way of the easier ones that it names."""
    paths = problem.admitted(paths)
    for easier in problem.eased():
        paths = np.array([minimum.path for minimum in _Walk(easier, paths, _EASED).minima(limit)])
    return paths


def unlike(minima: list[Minimum]) -> list[Minimum]:
    """Return one of each kind, in their order: on one grid, Newton's method ends in the same digits."""
    distinct: list[Minimum] = []
    for minimum in dict.fromkeys(minima):  # what came together shares its end
        size = 1e-7 * (1 + float(np.max(np.abs(minimum.path))))
        twins = (earlier for earlier in distinct if earlier.converged == minimum.converged)
        if all(float(np.max(np.abs(minimum.path - earlier.path))) > size for earlier in twins):
            distinct.append(minimum)
    return distinct


@dataclass(eq=False)
class _Progress:
    """What Newton's method remembers of one path.

    Attributes:
        number: which of the starts it began from.
        action: J_N of it.
        damping: what is added to the (scaled) Hessian's diagonal, in multiples of ``unit``.
        unit: what makes the Hessian of a path positive definite whatever the kinetic term; 0 while it is not needed.
        length: of the last step, relative to the path's extent, if that was undamped, else inf.
        reach: which share of the last step a limit of speed allowed.
    """

    number: int
    action: float
    damping: float = 0.0
    unit: float = 0.0
    length: float = math.inf
    reach: float = 1.0

    def stiffen(self) -> None:
        self.damping = max(_FIRST_DAMPING, (2 if self.damping < 1 else 4) * self.damping)

    def relax(self) -> None:
        self.damping = self.damping / 4 if self.damping > _FIRST_DAMPING else 0.0

    def accepts(self, action: float, blur: float) -> bool:
        """Return whether J falls, or stays but for rounding, of which ``blur`` is in the loss."""
        return math.isfinite(action) and action <= self.action + 1e-12 * (abs(self.action) + abs(action)) + blur

    def ends(self, length: float, tolerance: float) -> bool:
        """Return whether an undamped step of this length ends the search.

        Such steps shrink ever faster, until they are rounding: what the last ratio leaves for the next one bounds the
        error.
        """
        ratio = length / self.length  # 0 where there was none before
        rounding = self.length <= length < _NO_BETTER
        return length < tolerance or (0 < ratio < 0.1 and ratio * length < tolerance / 10) or rounding


class _Walk:
    """The paths that are under way, with loss, its gradient and curvature at the nodes, and those that have ended."""

    def __init__(self, problem: Transcription, paths: Array, tolerance: float, curvature: Array | None = None):
        self.problem, self.tolerance, self.count = problem, tolerance, 0
        self.path: Array = np.array(paths, dtype=np.float64)
        # Under a metric that falls off far out J falls for a step that is too long, and the path gets lost there.
        self.leap = _LEAP if problem.objective.curved else math.inf
        self.far = 1e8 * (1 + float(np.max(np.abs(self.path))))  # beyond this J is falling without bound
        self.live = [_Progress(b, action) for b, action in enumerate(problem.action(self.path).tolist())]
        self.loss_gradient = problem.landscape.gradient(self.path)
        self.kept = curvature is not None  # the curvature is another grid's
        self.curvature = problem.landscape.hessian(self.path) if curvature is None else curvature[None]
        self.ended: dict[int, Minimum] = {}
        self.twin: dict[int, int] = {}  # whose end a path that is not followed shares

    def minima(self, limit: int) -> list[Minimum]:
        """Walk to the end, at most ``limit`` steps; return what was found from each start."""
        count = len(self.live)
        if self.problem.free.stop > 1:
            try:
                while self.live and self.count < limit and not budget.spent():
                    self._step()
            except budget.OutOfBudget:
                pass
        for b, progress in enumerate(self.live):
            pinned = self.problem.free.stop <= 1  # no node may move
            self.ended[progress.number] = self._minimum(b, converged=pinned, definite=pinned)
        return [self._end(number) for number in range(count)]

    def _end(self, number: int) -> Minimum:
        while number in self.twin:
            number = self.twin[number]
        return self.ended[number]

    def _step(self) -> None:
        """Take one step on every path that is under way."""
        budget.check()
        self.count += 1
        live, loss = self.live, self.problem.landscape
        # Where the step leads, and for each path whether it is lost, or has arrived.
        trial, actions, lengths, stuck = self._trial()
        far = (np.abs(trial).max(axis=(1, 2)) > self.far).tolist()
        plain = [progress.damping == 0.0 and progress.reach == 1.0 for progress in live]
        short = [
            undamped and progress.ends(length, self.tolerance)
            for progress, undamped, length in zip(live, plain, lengths, strict=True)
        ]
        moving = [b for b in range(len(live)) if not (stuck[b] or far[b] or short[b])]
        self.kept = self.kept and plain[0] and lengths[0] <= 0.1 * live[0].length
        # All that is asked of the loss is asked before anything changes: the budget may end in any of these calls.
        loss_gradient = loss.gradient(trial)
        if self.kept:
            curvature = self.curvature
        elif moving:
            curvature = loss.hessian(trial if len(moving) == len(live) else trial[moving])
        # Take the step; an undamped one gives the next its measure of how fast steps shrink.
        self.path, self.loss_gradient = trial, loss_gradient
        for progress, action, length, undamped in zip(live, actions, lengths, plain, strict=True):
            progress.action, progress.length = action, length if undamped else math.inf
            progress.relax()
        # What has ended leaves the walk.
        if len(moving) < len(live):
            for b in set(range(len(live))).difference(moving):
                self.ended[live[b].number] = self._minimum(b, converged=short[b], definite=plain[b])
            self.live = [live[b] for b in moving]
            self.path, self.loss_gradient = self.path[moving], self.loss_gradient[moving]
        if moving:
            self.curvature = curvature
            self._join()

    def _trial(self) -> tuple[Array, list[float], list[float], list[bool]]:
        """Return where the next step leads, J and the steps' lengths there, and which paths can go no further.

        A step is damped until the Hessian is positive definite and J falls.
        """
        problem, free, live = self.problem, self.problem.free, self.live
        system = _System(problem, self.path, self.loss_gradient, self.curvature)
        place = self.path[:, free]
        trial, steps = self.path.copy(), np.zeros_like(place)
        actions, stuck = [progress.action for progress in live], [False] * len(live)
        # Of paths whose step is refused, more damping shortens it, until J falls or nothing is left of it.
        tried = list(range(len(live)))
        while tried:
            for b in tried:
                step = self._newton(system, b)
                live[b].reach = problem.reach(self.path[b], step)
                steps[b] = live[b].reach * step
            trial[:, free] = place + steps
            lengths = (np.abs(steps) / sizes(trial, self.tolerance)[:, free]).max(axis=(1, 2)).tolist()
            leaps = (np.abs(steps) / (1 + np.abs(place))).max(axis=(1, 2)).tolist()
            trial_actions = problem.action(trial if len(tried) == len(live) else trial[tried]).tolist()
            rejected = []
            for b, action in zip(tried, trial_actions, strict=True):
                if live[b].accepts(action, problem.blur) and leaps[b] <= self.leap:
                    actions[b] = action
                elif live[b].damping > _MOST_DAMPING or (live[b].reach == 1.0 and lengths[b] < self._least(live[b])):
                    stuck[b] = True
                else:
                    live[b].stiffen()
                    rejected.append(b)
            tried = rejected
        for b in range(len(live)):
            if stuck[b]:
                trial[b] = self.path[b]
        return trial, actions, lengths, stuck

    def _least(self, progress: _Progress) -> float:
        """Return the length below which a step that is refused is rounding; under a price Δθ/Δt bends J: none is."""
        charged = self.problem.objective.price is not None
        return self.tolerance if charged else max(self.tolerance, min(_NO_BETTER, progress.length))

    def _newton(self, system: _System, b: int) -> Array:
        """Return Newton's step of one path, damped until the Hessian is positive definite; NaN if it never is."""
        progress = self.live[b]
        while True:
            if progress.damping and not progress.unit:
                self._measure(system)
            step = system.step(b, progress.damping * progress.unit)
            if step is not None:
                return step
            if progress.damping > _MOST_DAMPING:  # the Hessian is not even finite
                return np.full_like(system.gradient[b], np.nan)
            progress.stiffen()

    def _measure(self, system: _System) -> None:
        """Set the damping that makes every node's own curvature positive, by Gershgorin's circles."""
        magnitudes = np.abs(self.curvature)
        lowest = np.einsum("...ii->...i", self.curvature + magnitudes) - magnitudes.sum(axis=-1)
        # The drift and the end may be what is negative: the loss's own scale is the least.
        units = np.maximum(-lowest.min(axis=(1, 2)), np.maximum(1e-3 * magnitudes.max(axis=(1, 2, 3)), 1e-12))
        units = self.problem.unit_share * units
        if self.problem.objective.curved:  # here the kinetic term bends, too
            units = np.maximum(units, _KINETIC * np.median(np.abs(system.bands[:, 0]), axis=-1))
        for progress, unit in zip(self.live, units.tolist(), strict=True):
            progress.unit = progress.unit or unit

    def _join(self) -> None:
        """Follow no further what has come so near to another path that it will end where that does.

        Near one that has ended in a minimum: an undamped step has led to a tenth of its own length from there, and as
        Newton's steps converge quadratically the next will do better. Near one that is under way: both take undamped
        steps much shorter than they once were.
        """
        followed: list[int] = []
        for b, progress in enumerate(self.live):
            twin = self._neighbour(b, followed) if progress.length < 0.1 else None
            if twin is None:
                followed.append(b)
            else:
                self.twin[progress.number] = twin
        if len(followed) < len(self.live):
            self.live = [self.live[b] for b in followed]
            self.path, self.loss_gradient = self.path[followed], self.loss_gradient[followed]
            self.curvature = self.curvature[followed]

    def _neighbour(self, b: int, followed: list[int]) -> int | None:
        """Return the number of a path that this one has come to, among those that have ended or are ``followed``."""
        path, length = self.path[b], self.live[b].length
        for number, end in self.ended.items():
            if end.converged and end.definite and _apart(path, end.path, self.tolerance) < 0.1 * length:
                return number
        for other in followed:
            if max(length, self.live[other].length) < 1e-3 and _apart(path, self.path[other], self.tolerance) < 1e-3:
                return self.live[other].number
        return None

    def _minimum(self, b: int, *, converged: bool, definite: bool) -> Minimum:
        problem, path, loss_gradient = self.problem, self.path[b], self.loss_gradient[b]
        gradient = problem.gradient(path, loss_gradient)[problem.free]
        largest = float(np.max(np.abs(gradient), initial=0.0))
        residual = problem.residual(gradient)
        action, curvature = self.live[b].action, self.curvature[b]
        return Minimum(path, action, largest, residual, converged, definite, self.count, loss_gradient, curvature)


def sizes(path: Array, tolerance: float) -> Array:
    """Return what steps of paths are measured by, shape (..., N+1, D): extent or 1 + |θ|, but for rounding.

    How far a path goes is what is small or large for it: the units are such that all components have one metric.
    """
    extent = np.abs(path - path[..., :1, :]).max(axis=(-2, -1), keepdims=True)
    return np.minimum(extent, 1 + np.abs(path)) + _BLUR / tolerance * (1 + np.abs(path))


def _apart(path: Array, other: Array, tolerance: float) -> float:
    """Return the largest distance of two paths, relative to what steps are measured by."""
    return float((np.abs(path - other) / sizes(other, tolerance)).max())


class _System:
    """Newton's equations of several paths, scaled by √w from both sides so that nothing underflows.

    Attributes:
        gradient: (∂J_N/∂θ_n)/w_n at the free nodes, shape (B, M, D).
    """

    def __init__(self, problem: Transcription, path: Array, loss_gradient: Array, curvature: Array):
        free = problem.free
        self.problem = problem
        self.gradient = problem.gradient(path, loss_gradient)[:, free]
        # Only nodes that may move have equations; blocks below the diagonal join neighbours.
        diagonal, below = problem.hessian(path, curvature)
        self.bands = blocks.banded(diagonal[:, free], below[..., 1 : free.stop - 1, :, :])
        self.scaled = problem.objective.gamma * problem.horizon < 1200
        if self.scaled:
            self.right = -problem.discount_root * self.gradient

    def step(self, b: int, extra: float) -> Array | None:
        """Return path b's step with ``extra`` on the diagonal, or None if the matrix is not positive definite.

        Where √w itself would underflow, ratios of neighbours take its place.
        """
        system = self.bands[b]
        if extra:
            system = np.array(system, order="F")
            system[0] += extra * np.repeat(self.problem.node_sizes, self.gradient.shape[-1])
        factored = blocks.factor(system)
        if factored is None:
            return None
        if self.scaled:
            return blocks.solve(factored, self.right[b]) / self.problem.discount_root
        return blocks.solve_discounted(factored, self.problem.discount_steps, -self.gradient[b])
