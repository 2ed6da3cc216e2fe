"""How collocation is brought to an extremal: first guesses and, where they are too far off, a walk towards the problem.

The walk solves nearer problems, each from the one before: starts nearer to the place of rest, or earlier deadlines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.metrics import Metric
from lossnav.problem.objective import Objective
from lossnav.trajectory import boundary_value
from lossnav.trajectory.boundary_value import Guess, Law
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.status import Status
from lossnav.trajectory.stretches import stretches

_FEW, _MOST = 3_000, 60_000  # nodes that are enough from a good guess, and from the last one
_ROUGH = 1e-5  # tolerance on the way: looser, and Newton's method leaves the path where a tighter one begins
_FIRST, _SHORTEST, _LONGER = 0.5, 1e-3, 1.7  # shares of the way: the first stride, the least, and by what it may grow
_NEAR, _DOUBLINGS = 1e-2, 3  # how near its rest a path must end, as a share of its way, and what more time it gets
_FAR = 1e5  # ratio of time scales beyond which collocation has no chance


@dataclass(frozen=True, eq=False)
class Search:
    """An extremal that is looked for; the attributes are the arguments of ``boundary_value.collocate``.

    ``cut`` says that someone wants the path handed over to the law of the rest at ``span``, wherever it is then.
    """

    objective: Objective
    loss: Loss
    theta0: Array
    span: float
    end: LocalValue | None
    endpoint: Array | None
    tol: float
    law: Law | None
    cut: bool = False

    def path(self, guesses: Iterable[Guess | None]) -> Trajectory:
        """Return the extremal from one of several guesses (None: the law of the rest, or a straight line), or a walk.

        Raises:
            NotConverged: if the problem's time scales are too far apart to try.
        """
        self._require_near()
        for guess in guesses:
            found = self._attempt(guess, nodes=_FEW)
            if found.converged:
                return self._arrived(self._checked(found), _DOUBLINGS)
        walked = self._walk() if self.endpoint is None else None
        if walked is None:  # one more, on a fine mesh: where it does not arrive, no more time will help
            return self._arrived(self._checked(self._attempt(None, nodes=_MOST)), 0)
        return self._arrived(self._checked(self._tightened(walked)), _DOUBLINGS)

    def _tightened(self, walked: Trajectory) -> Trajectory:
        for tol in (_ROUGH / 10, _ROUGH / 100, 0.0):
            walked = self._attempt(_read(walked), nodes=_MOST, tol=max(tol, self.tol), mesh=self._mesh(walked))
            if not walked.converged:
                break
        return walked

    def _arrived(self, path: Trajectory, doublings: int) -> Trajectory:
        """Return the path if it has come near its rest, or one that takes longer; not converged if there is none.

        Under a discount it costs next to nothing to rest elsewhere and to leave just before the time is up.
        """
        if self.end is None or self.cut or not path.converged:
            return path
        offset = path.position(path.times) - self.end.fixed
        away = np.sqrt(np.einsum("ni,ij,nj->n", offset, self.objective.metric_at(self.end.fixed), offset))
        if away[-1] <= _NEAR * np.max(away):
            return path
        longer = replace(self, span=2 * self.span)
        found = longer._attempt(_read(path), nodes=_MOST) if doublings else path
        if not doublings or not found.converged:
            place = np.array2string(self.end.fixed, precision=6)
            return replace(path, status=Status.NOT_ARRIVED, detail=place)
        return longer._arrived(found, doublings - 1)

    def _attempt(
        self, guess: Guess | None, *, nodes: int, tol: float | None = None, mesh: Array | None = None
    ) -> Trajectory:
        return boundary_value.collocate(
            self.objective, self.loss, self.theta0, self.span, self.end, self.endpoint,
            self.tol if tol is None else tol, self.law, guess=guess, nodes=nodes, mesh=mesh,
        )  # fmt: skip

    def _walk(self) -> Trajectory | None:
        """Return a rough extremal, found in strides; None if a stride is too short."""
        done, stride = 0.0, _FIRST
        path: Trajectory | None = None
        while done < 1:
            goal = min(1.0, done + stride)
            near = self._nearer(goal)
            guess = None if path is None else self._stretched(path, goal / done)
            mesh = None if path is None or self.end is None else self._mesh(path)
            found = near._attempt(guess, nodes=_FEW, tol=_ROUGH, mesh=mesh)
            if found.converged:
                path, done, stride = found, goal, _LONGER * stride
            else:
                stride /= 2
                if stride < _SHORTEST:
                    return None
        return path

    def _nearer(self, share: float) -> Search:
        """Return the problem from a share of the way between rest and start, or with a share of the time."""
        if self.end is None:
            return replace(self, span=share * self.span)
        return replace(self, theta0=self.end.fixed + share * (self.theta0 - self.end.fixed))

    def _stretched(self, path: Trajectory, factor: float) -> Guess:
        """Return the path from a part of the way as a guess for the next part."""
        if self.end is None:  # it waits where it has ended
            return lambda t: (path.position(np.minimum(t, path.end)), path.rate(t) * (t < path.end)[:, None])
        origin = self.end.fixed
        return lambda t: (origin + (path.position(t) - origin) * factor, path.rate(t) * factor)

    def _mesh(self, path: Trajectory) -> Array:
        """Return the mesh of a path in the time of its last stretch."""
        parts = stretches(self.loss, self.span)
        s = path.times[path.times >= parts.begins[-1]] - parts.begins[-1]
        s[-1] = parts.unit
        return s[np.concatenate([np.diff(s) > 1e-12 * parts.unit, [True]])]

    def _checked(self, path: Trajectory) -> Trajectory:
        """Return the path, not converged if it leaves the domain of the metric: Newton's method may have passed it."""
        if path.converged and self.objective.curved:
            try:
                self.objective.metric_at(path.position(path.times))
            except ValueError as error:
                return replace(path, status=Status.LEFT_DOMAIN, detail=str(error))
        return path

    def _require_near(self) -> None:
        gamma, end = self.objective.gamma, self.end
        if not self.objective.curved:
            return  # collocation is known to manage more
        if end is None and gamma * self.span > _FAR:
            raise NotConverged(
                f"the end at {self.span:g} is {gamma * self.span:.3g}/gamma away; use an infinite horizon"
            )
        if end is not None and gamma > _FAR * -end.growth:
            raise NotConverged(
                f"gamma = {gamma:.3g}, but the rate of return to rest is {-end.growth:.3g}: beyond a ratio of {_FAR:g} "
                "the optimum is gradient flow, dθ/dt = −(eta·k/gamma)·G⁻¹∇L"
            )


def straight(metric: Metric, theta0: Array, end: LocalValue, begin: float) -> Guess | None:
    """Return as a guess the geodesic to a rest, left at time ``begin``, at a pace that fades with the slowest mode."""
    if metric.geodesic(np.zeros(1), theta0, end.fixed) is None:
        return None

    def both(t: Array) -> tuple[Array, Array]:
        place = metric.geodesic(-np.expm1(end.growth * np.maximum(t - begin, 0.0)), theta0, end.fixed)
        assert place is not None
        return place, np.gradient(place, t, axis=0)

    return both


def _read(path: Trajectory) -> Callable[[Array], tuple[Array, Array]]:
    return lambda t: (path.position(t), path.rate(t))
