"""The entry point: choose a solver, run it, return a Trajectory or say why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.functions.budget import Budget, OutOfBudget
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.losses.function import Formula
from lossnav.problem.objective import Objective, check_objective
from lossnav.trajectory import registry, units
from lossnav.trajectory.candidates import standstill
from lossnav.trajectory.case import Case, Settings, Solver, checked
from lossnav.trajectory.mesh import most_steps
from lossnav.trajectory.result import Method, Trajectory
from lossnav.trajectory.status import Status


def solve(
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    *,
    method: Method | Literal["auto"] = "auto",
    horizon: float | None = None,
    endpoint: ArrayLike | None = None,
    throw: bool = True,
    steps: int | None = None,
    rtol: float = 1e-8,
    max_seconds: float | None = None,
    max_calls: int | None = None,
    velocity0: ArrayLike | Literal["free"] | None = None,
) -> Trajectory:
    r"""Return the path from ``theta0`` that minimises J.

    Args:
        objective: the assumptions. A finite ``objective.horizon`` is the problem's own deadline, with a free end.
        loss: the landscape, of D parameters, or a task: one that depends on time. A function or a sympy expression is
            taken as a ``losses.Function`` of as many parameters as ``theta0`` has.
        theta0: start, shape (D,).
        method: "closed_form" (quadratic loss; no drift, weight decay, or rotation with H = hI), "riccati" (quadratic
            loss, affine drift), "action" (anything with a constant metric: sparse Newton on the discretised J),
            "curved" (the same under a metric that may depend on θ; no drift where a path comes to rest), "bvp"
            (collocation under a constant metric, an independent check), "timed" (Newton for a loss that depends on
            time, ``lossnav.problem.task``, any metric; affine drift), or "auto": the first of these that applies.
            ``lossnav.trajectory.methods`` says which do, and why the others do not. Beside a price "closed_form" is
            for bowls, "action" for every loss, under ``Acceleration``, ``Power``, ``Box`` and some a ``Norm``; under
            one of speed to 1e-6 of J at most (where a limit holds a path, to some 1e-4 of its way, a coordinate whose
            way costs little beside others' to 1e-2 of that, and corners that a limit and nothing else leaves to 1e-3),
            and without a deadline if γ > 0.
        horizon: with ``endpoint`` the time T at which θ(T) = endpoint; alone, where the numerics cut an infinite time.
        endpoint: fixes the end, shape (D,); needs ``horizon``.
        throw: raise ``NotConverged`` if the solver does not converge; else return what it has, ``converged`` False.
        steps: number of intervals of the finest grid ("action"), at most 2²⁰ and such that its Hessian takes no more
            than 2 GB; a half and a quarter of them say ``error`` (NaN if there is none), and must come nearer to each
            other, or be within ``rtol``. None refines until ``rtol`` is met.
        rtol: relative accuracy of J and path that Newton's method aims at. Of candidates that clearly cost more
            than the best J is solved to 1e-4 only; their ``error`` says so.
        max_seconds: wall time after which the search ends, not converged, with the best path so far; None: no limit.
        max_calls: the same for calls of the functions that a ``losses.Function`` was given (``loss.calls`` counts
            them); formulas make none.
        velocity0: where acceleration is charged, θ̇(0), shape (D,); None starts at rest, "free" as is best (on bowls).

    Returns:
        The trajectory, with every extremal that was compared in ``candidates``.

    The search. Without a deadline a path is looked for to each place of rest that descents from starts about ``theta0``
    arrive at (``Trajectory.unseen`` says how complete they were, and above 2 % ``converged`` is not claimed): by the
    law of the rest, by way of each pass (minima and saddles of the loss) of little detour, and round both sides of the
    straight line; in a task also by way of the rests of each phase. Where there is none, where a rest is degenerate or
    descents come to no end, the path of a late deadline is taken, which stands still after its ``times``, and its
    ``error`` estimates what the time after it changes. Not found are rests that no descent arrived at; of more than 40
    rests those to which a straight line, what walls it crosses not counted, costs more than the best path so far; ways
    that wind around obstacles in an order of their own; a bottomless loss whose fall begins beyond a million times the
    start's size, or which a coordinate that is ``positive`` hides (``belief.Beliefs.optimism``); and what is finer than
    some thousandth of the start's distance from 0, with which lengths are compared. Where functions are called point by
    point, other ways are looked for to the rest of the cheapest path only. Under a drift and a discount the optimum
    need not rest (``at_infinity``): such paths are looked for where the drift carries a learner from ``theta0``; a
    current elsewhere, to which one would have to walk first, may be missed; along one over well after well a rest is
    refused that it is better to leave again, but the best path that goes on may not be found; and of rests that are
    reached when the discount has left nothing to pay another may be named than by who plans again on the way.

    ``is_minimum`` certifies a path among those near it.

    Raises:
        ValueError: naming the argument that does not fit.
        NoMinimiser: if J has no minimiser, with the reason.
        NotConverged: with the residual and what to try; also if a budget is spent, and where without a discount a drift
            that is no gradient makes a path that never rests cheaper per unit of time than every place to rest
            (``lossnav.trajectory.cycles``).

    A search of more than two seconds shows on a terminal or in a notebook how far it is (TQDM_DISABLE=1 turns it off).

    Example:
        >>> import lossnav as ln
        >>> traj = ln.solve(ln.Objective(gamma=1.0), ln.losses.Quadratic([[2.0]], minimum=[1.0]), [0.0])
        >>> round(traj.action, 12), traj.method
        (0.5, 'closed_form')

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 27–29, 36, 53, 81; Apps. C, D.
    """
    limits = _budget(loss, max_seconds, max_calls)
    _checks.flag("throw", throw)
    _checks.one_of("method", method, registry.METHODS)
    _checks.positive("rtol", rtol)
    if steps is not None:
        _checks.whole("steps", steps, low=2)
    case = checked(objective, loss, theta0, horizon, endpoint, velocity0)
    if steps is not None:  # what memory holds depends on D
        _checks.whole("steps", steps, low=2, high=most_steps(case.loss.dim))
    solver = registry.choose(case, method)
    with limits, np.errstate(all="ignore"):  # where a path gets lost numbers overflow: its status says so
        try:
            result = _solve(case, solver, Settings(steps=steps, rtol=rtol))
        except OutOfBudget:  # before any path was solved for
            result = replace(standstill(case, solver.name), detail=limits.spent)
        except OverflowError:
            given = case.objective
            raise ValueError(
                f"objective: eta = {given.eta:g}, k = {given.k:g}, gamma = {given.gamma:g} are so far from the loss's "
                "curvature that squares leave the range of floating-point numbers; choose other units, or take the "
                "limit: for a large gamma, the gradient flow dθ/dt = −(eta·k/gamma)·G⁻¹∇L"
            ) from None
        return _judge(result, throw)


def methods(
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    *,
    horizon: float | None = None,
    endpoint: ArrayLike | None = None,
) -> dict[str, str]:
    """Return for each method of ``solve`` why it declines a problem; nothing is solved.

    Args:
        objective, loss, theta0, horizon, endpoint: as in ``solve``.

    Returns:
        Reasons by the methods' names, in the order of "auto"; "" for those that apply.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> import lossnav as ln
        >>> found = methods(ln.Objective(metric=ln.metrics.Fisher()), ln.losses.DoubleWell(), [0.0, 1.0])
        >>> [name for name, reason in found.items() if not reason], found["action"]
        (['curved'], 'needs a metric that does not depend on theta')
    """
    return registry.reasons(checked(objective, loss, theta0, horizon, endpoint))


def _solve(case: Case, solver: Solver, settings: Settings) -> Trajectory:
    """Choose the units, and solve; what is returned is not judged yet."""
    objective, loss = case.objective, case.loss
    scales = units.natural(objective, loss, case.theta0, case.span, case.endpoint)
    if scales is None:
        return _check_energy(solver.solve(case, settings))
    inner = Case(
        scales.objective(objective),
        scales.loss(loss, objective),
        scales.place(case.theta0),
        None if case.endpoint is None else scales.place(case.endpoint),
        None if case.span is None else scales.span(case.span),
        case.velocity0 if case.velocity0 is None or isinstance(case.velocity0, str) else scales.pace(case.velocity0),
    )
    try:
        path = solver.solve(inner, settings)
    except (NoMinimiser, NotConverged) as error:
        raise type(error)(f"{error} {scales}") from None
    return scales.restore(_check_energy(path), objective, loss)


def value(
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    *,
    max_seconds: float | None = None,
    max_calls: int | None = None,
    velocity0: ArrayLike | Literal["free"] | None = None,
) -> float:
    """Return V(θ₀) = min J, the value function; ±inf where γ = 0 and the resting cost is not zero.

    Args:
        objective, loss, theta0: as in ``solve``.
        max_seconds, max_calls: as in ``solve``.
        velocity0: as in ``solve``: where acceleration is charged V is a function of θ and θ̇.

    Raises:
        ValueError, NoMinimiser, NotConverged: as ``solve``.

    Example:
        >>> import lossnav as ln
        >>> value(ln.Objective(gamma=1.0), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0])
        0.5

    References:
        Hamilton–Jacobi–Bellman: γV = kL + f·∇V − (η/2)|∇V|²_{G⁻¹}.
    """
    return solve(objective, loss, theta0, max_seconds=max_seconds, max_calls=max_calls, velocity0=velocity0).action


def optimal_velocity(
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    *,
    max_seconds: float | None = None,
    max_calls: int | None = None,
) -> Array:
    """Return θ̇(0) of the optimum, shape (D,): the learning rule in continuous time.

    Where acceleration is charged a velocity is no rule but a state: this is then the one that is best to start with,
    and the rule is ``optimal_acceleration``.

    Args:
        objective, loss, theta0: as in ``solve``.
        max_seconds, max_calls: as in ``solve``.

    Raises:
        ValueError, NoMinimiser, NotConverged: as ``solve``; also under a ``prices.Linear``, for the optimum jumps.

    Example:
        >>> import lossnav as ln
        >>> optimal_velocity(ln.Objective(gamma=1.0), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0])
        array([-1.])
    """
    check_objective(objective, priced=True)
    price = objective.price
    if price is not None and not price.moves:
        raise ValueError(f"objective.price = {price!r}, but it must be one under which the optimum moves: it jumps")
    free: Literal["free"] | None = "free" if price is not None and price.order == 2 else None
    path = solve(objective, loss, theta0, max_seconds=max_seconds, max_calls=max_calls, velocity0=free)
    return path.velocity(0.0)


def optimal_acceleration(
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    velocity0: ArrayLike | Literal["free"] | None = None,
    *,
    max_seconds: float | None = None,
    max_calls: int | None = None,
) -> Array:
    """Return θ̈(0) of the optimum, shape (D,): the learning rule where acceleration is charged.

    Args:
        objective, loss, theta0: as in ``solve``.
        velocity0: θ̇(0), shape (D,); None is rest, "free" the best one.
        max_seconds, max_calls: as in ``solve``.

    Raises:
        ValueError, NoMinimiser, NotConverged: as ``solve``; also where acceleration is not what is charged.

    Example:
        >>> import lossnav as ln
        >>> heavy = ln.Objective(price=ln.prices.Acceleration(m=1.0))
        >>> optimal_acceleration(heavy, ln.losses.Quadratic([[1.0]], minimum=[0.0]), [1.0])
        array([-1.])

    References:
        book: W3.
    """
    path = solve(objective, loss, theta0, max_seconds=max_seconds, max_calls=max_calls, velocity0=velocity0)
    return path.acceleration(0.0)


def _budget(loss: Any, max_seconds: Any, max_calls: Any) -> Budget:
    seconds = None if max_seconds is None else _checks.positive("max_seconds", max_seconds)
    calls = None if max_calls is None else _checks.whole("max_calls", max_calls, low=1)
    if calls is not None and isinstance(loss, Loss) and loss.calls is None:
        raise ValueError(f"max_calls = {calls}, but {loss!r} does not count its calls; give max_seconds")
    return Budget(seconds, calls)


def _judge(result: Trajectory, throw: bool) -> Trajectory:
    if result.converged and result.is_minimum is False:
        result = replace(result, status=Status.CONJUGATE_POINT)
    if throw and not result.converged:
        # A candidate that merely failed to converge might be the minimiser: only if none is left is there no minimiser.
        if all(candidate.status is Status.NO_EXTREMAL for candidate in result.candidates):
            raise NoMinimiser("no minimiser was found: " + "; ".join(sorted({o.reason for o in result.candidates})))
        farthest = float(np.max(np.abs(result(result.times))))
        raise NotConverged(
            f"{result.reason} (method {result.method!r}, residual {result.residual:.3g}, J = {result.action:.3g}, "
            f"theta up to {farthest:.3g})"
        )
    return result


def _check_energy(result: Trajectory) -> Trajectory:
    """Check γJ = kL(θ₀) − |θ̇₀|²_G/2η, which every extremal of the infinite-horizon problem without drift obeys.

    Other prices have others: φ*(p₀) is what their extremals leave, and no path says its costate. In natural units: next
    to a rest both sides are rounding of a loss of order one, unless it is quadratic, whose differences have all digits.
    """
    objective = result.objective
    if (
        not result.converged
        or result.is_minimum is False
        or objective.gamma == 0
        or objective.price is not None
        or objective.drift is not None
        or math.isfinite(result.end)
        or result.loss.timed
    ):
        return result
    start = np.zeros(1)
    height = float(result.potential(start)[0])
    predicted = (height - float(result.kinetic(start)[0])) / objective.gamma
    size = max(abs(predicted), abs(result.action), abs(height) / objective.gamma)
    rounding = 0.0 if isinstance(result.loss, Quadratic) else 1e-12 * (1 + 1 / objective.gamma)
    if abs(predicted - result.action) > 1e-3 * size + rounding:
        detail = f"by {abs(predicted - result.action) / size:.1g} of it; give more steps or a longer horizon"
        return replace(result, status=Status.ENERGY_BROKEN, detail=detail)
    return result
