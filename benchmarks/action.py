"""Fig. 1's path: ``ln.solve`` as users call it, CasADi with IPOPT on the same sum, and the paper's gradient steps.

All minimise J over paths with both ends fixed (T = 4, γ = 0.1), from scratch, in float64 and on one thread. CasADi gets
the package's own sum and the straight line as its start; ``ln.solve`` also tries a start through each
stationary point, certifies the minimum, and makes a path that can be called; where the number of intervals is even it
solves on half of them, too, and extrapolates. The gradient steps go through torch's autograd on the paper's own sum
(Eq. 29, the left rule on 50 points), as in Strang et al. and the paper; the inner Newton method runs on that sum, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import casadi
import numpy as np
import torch
from tqdm import tqdm

import lossnav as ln
from benchmarks.machine import threads
from benchmarks.report import Report, Settings
from benchmarks.timing import spread, take_turns
from lossnav.trajectory import newton
from lossnav.trajectory.transcription import Transcription

START, STOP = np.array([-0.6, 0.55]), np.array([1 + 1 / 16, 0.0])
HORIZON, INTERVALS, GAMMA = 4.0, 49, 0.1
GRIDS = (49, 400, 3200)
STEPS, RATE = 60_000, 0.01
ROUNDS = {49: 50, 400: 20, 3200: 10}


def straight(intervals: int = INTERVALS) -> np.ndarray:
    return START + np.linspace(0.0, 1.0, intervals + 1)[:, None] * (STOP - START)


class LeftRule(Transcription):
    """Eq. 29: what an interval costs is what it costs at its left node."""

    @property
    def kinetic_factors(self) -> tuple[np.ndarray, np.ndarray]:
        """As there."""
        return np.ones_like(self.dt), np.exp(self.objective.gamma * self.dt)

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As there."""
        return self.dt, np.zeros_like(self.dt), np.zeros_like(self.dt)


def by_newton() -> newton.Minimum:
    problem = LeftRule(ln.Objective(gamma=GAMMA), ln.losses.DoubleWell(), HORIZON, INTERVALS, endpoint=STOP)
    return newton.minimise(problem, straight())


def by_solve(**options: Any) -> ln.Trajectory:
    """Return what a user gets, problem construction and all."""
    objective, loss = ln.Objective(gamma=GAMMA), ln.losses.DoubleWell()
    return ln.solve(objective, loss, START, horizon=HORIZON, endpoint=STOP, **options)


def casadi_problem(
    loss: Callable[[Any], Any], start: Any, stop: Any, horizon: float, intervals: int, gamma: float, free: bool = False
) -> dict[str, Any]:
    """Return the package's sum for CasADi: straight lines between the nodes, loss and discount; η = k = 1.

    Args:
        loss: maps a list of D expressions to one.
        start, stop: ends, shape (D,).
        horizon, intervals, gamma: the time, in how many equal parts, and the discount rate.
        free: leave the end free.
    """
    times, dt, dim = np.linspace(0.0, horizon, intervals + 1), horizon / intervals, len(start)
    moving = casadi.MX.sym("moving", dim, intervals - (not free))
    path = casadi.horzcat(casadi.DM(start), moving, *([] if free else [casadi.DM(stop)]))
    kinetic = casadi.sum1(((path[:, 1:] - path[:, :-1]) / dt) ** 2) / 2
    # ∫e^{−γt} over each interval, and times what is linear there, by Gauss's rule.
    points, weights = np.polynomial.legendre.leggauss(8)
    share = (1 + points) / 2
    discount = dt * np.exp(-gamma * (times[:-1, None] + dt * share)) * weights / 2
    nodes = np.append(discount @ (1 - share), 0.0) + np.append(0.0, discount @ share)
    total = casadi.sum2(casadi.DM(discount.sum(axis=1)).T * kinetic)
    total += casadi.sum2(casadi.DM(nodes).T * loss([path[i, :] for i in range(dim)]))
    return {"x": casadi.vec(moving), "f": total}


def casadi_solver(intervals: int) -> Callable[[], float]:
    """Return a call that minimises the sum with IPOPT and returns J; construction and derivatives are here."""
    problem = casadi_problem(
        lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 - x[0] / 2, START, STOP, HORIZON, intervals, GAMMA
    )
    options: Any = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
    solver = casadi.nlpsol("path", "ipopt", problem, options)
    first = straight(intervals)[1:-1].ravel()
    return lambda: float(solver(x0=first)["f"])


def by_gradient_steps(steps: int) -> tuple[np.ndarray, float]:
    """Return the path after ``steps`` steps, and the largest component of ∂J/∂θ there."""
    dt = HORIZON / INTERVALS
    weights = torch.exp(-GAMMA * dt * torch.arange(INTERVALS, dtype=torch.float64))
    first, inner, last = (torch.tensor(part) for part in np.split(straight(), [1, INTERVALS]))
    inner.requires_grad_(True)
    for _ in tqdm(range(steps), desc="gradient steps", leave=False):
        path = torch.cat([first, inner, last])
        x, y = path[:-1, 0], path[:-1, 1]
        kinetic = (path[1:] - path[:-1]).square().sum(-1) / (2 * dt**2)
        loss = (x**2 - 1) ** 2 + y**2 - x / 2
        mean = (weights * (kinetic + loss)).mean()
        (gradient,) = torch.autograd.grad(mean, inner)
        with torch.no_grad():
            inner -= RATE * gradient
    return torch.cat([first, inner.detach(), last]).numpy(), HORIZON * float(gradient.abs().max())


def compare(intervals: int, rounds: int) -> tuple[list[list[float | str | None]], dict[str, float], float]:
    """Return the rows of one grid, the medians in ms, and how far the two J are apart."""
    ready = casadi_solver(intervals)
    ways: dict[str, Callable[[], object]] = {
        f"ln.solve, steps={intervals:,}": lambda: by_solve(steps=intervals),
        f"CasADi + IPOPT, {intervals:,}": ready,
        f"CasADi + IPOPT, {intervals:,}, with construction": lambda: casadi_solver(intervals)(),
    }
    if intervals == INTERVALS:
        ways = {"ln.solve, rtol=1e-8": lambda: by_solve(rtol=1e-8), **ways, "inner Newton, 49, Eq. 29": by_newton}
    measured = {name: spread(times) for name, times in take_turns(ways, rounds).items()}
    theirs = ready()
    grid = Transcription(ln.Objective(gamma=GAMMA), ln.losses.DoubleWell(), HORIZON, intervals, endpoint=STOP)
    ours = newton.minimise(grid, straight(intervals)).action  # the same sum, before extrapolation
    values = {name: theirs if "CasADi" in name else None for name in ways}
    values[f"ln.solve, steps={intervals:,}"] = by_solve(steps=intervals).action
    if intervals == INTERVALS:
        values["ln.solve, rtol=1e-8"], values["inner Newton, 49, Eq. 29"] = by_solve().action, by_newton().action
    rows = [[name, *t.cells(1e3), values[name]] for name, t in measured.items()]
    return rows, {name: 1e3 * t.median for name, t in measured.items()}, abs(ours - theirs)


def run(settings: Settings) -> Report:
    steps = 60 if settings.quick else STEPS
    rows: list[list[float | str | None]] = []
    medians: dict[str, float] = {}
    gaps = {}
    with threads(settings.threads or 1) as count:
        for intervals in GRIDS[:1] if settings.quick else GRIDS:
            part, times, gaps[intervals] = compare(intervals, 3 if settings.quick else ROUNDS[intervals])
            rows, medians = rows + part, {**medians, **times}
        begin = time.perf_counter()
        theirs, gradient = by_gradient_steps(steps)
        slow = 1e3 * (time.perf_counter() - begin)
        exact = by_newton()
    rows.insert(0, [f"{steps:,} gradient steps", slow, None, None, None])
    gap = float(np.max(np.abs(exact.path - theirs)))
    public = medians[f"ln.solve, steps={INTERVALS:,}"]
    checks = {f"ln.solve on 49 intervals at least 5,000 times faster than the gradient steps: {slow / public:,.0f}":
              slow / public >= 5000}  # fmt: skip
    for intervals in gaps:
        ours, peer = medians[f"ln.solve, steps={intervals:,}"], medians[f"CasADi + IPOPT, {intervals:,}"]
        checks[f"at least as fast as CasADi at {intervals:,}, its construction not counted: {ours / peer:.2f}"] = (
            ours <= peer
        )
        checks[f"the same J as CasADi's at {intervals:,}: {gaps[intervals]:.1e} apart"] = gaps[intervals] <= 1e-13
    checks[f"gradient at most 1e-10: {exact.gradient:.1e}"] = exact.gradient <= 1e-10
    checks[f"same minimiser to 1e-6: the paths are {gap:.1e} apart"] = gap <= 1e-6
    return Report(
        columns=["way", "ms", "1st quartile", "3rd", "J", "of ln.solve, 49"],
        formats=[".2f", ".2f", ".2f", ".13f", ",.2f"],
        rows=[[*row, float(row[1] or 0.0) / public] for row in rows],
        checks=checks,
        config={"horizon": HORIZON, "intervals": GRIDS, "gamma": GAMMA, "steps": steps, "rate": RATE,
                "rounds": ROUNDS, "threads": count, "casadi": version("casadi"), "slope": gradient},
        notes=["the gradient steps once; of an even number of intervals ln.solve's J is extrapolated"],
    )  # fmt: skip
