"""Fig. 1's path: the package's Newton solver against the paper's way, 60,000 gradient steps on the same sum.

Both minimise Eq. 29 (left rule, T = 4, 50 points, both ends fixed) from the straight line, in float64; the gradient
steps go through torch's autograd, as in Strang et al. and the paper. They minimise the mean S = J/T, the paper's form.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from tqdm import tqdm

import lossnav as ln
from benchmarks.machine import threads
from benchmarks.report import Report, Settings
from benchmarks.timing import spread
from lossnav.trajectory import discrete, newton

START, STOP = np.array([-0.6, 0.55]), np.array([1 + 1 / 16, 0.0])
HORIZON, INTERVALS, GAMMA = 4.0, 49, 0.1
STEPS, RATE = 60_000, 0.01
REPEATS = 50


def straight() -> np.ndarray:
    return START + np.linspace(0.0, 1.0, INTERVALS + 1)[:, None] * (STOP - START)


def by_newton() -> newton.Minimum:
    problem = discrete.Problem(
        ln.Objective(gamma=GAMMA), ln.losses.DoubleWell(), HORIZON, INTERVALS, endpoint=STOP, rule="left"
    )
    return newton.minimise(problem, straight())


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


def run(settings: Settings) -> Report:
    steps, repeats = (60, 3) if settings.quick else (STEPS, REPEATS)
    with threads(settings.threads or 1) as count:  # fifty points are no work for two
        by_newton()
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            ours = by_newton()
            times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        theirs, slope = by_gradient_steps(steps)
        slow = time.perf_counter() - begin
    fast = spread(times)
    gap = float(np.max(np.abs(ours.path - theirs)))
    return Report(
        columns=["way", "ms", "1st quartile", "3rd", "max |∂J/∂θ|", "J", "times Newton's"],
        formats=[".2f", ".2f", ".2f", ".1e", ".9f", ",.0f"],
        rows=[
            [f"{steps:,} gradient steps", 1e3 * slow, None, None, slope, None, slow / fast.median],
            [f"Newton ({ours.iterations} steps)", 1e3 * fast.median, 1e3 * fast.low, 1e3 * fast.high, ours.gradient,
             ours.action, 1.0],
        ],
        checks={
            f"at least 5,000 times faster: {slow / fast.median:,.0f}": slow / fast.median >= 5000,
            f"gradient at most 1e-10: {ours.gradient:.1e}": ours.gradient <= 1e-10,
            f"same minimiser to 1e-6: the paths are {gap:.1e} apart": gap <= 1e-6,
        },
        config={"horizon": HORIZON, "intervals": INTERVALS, "gamma": GAMMA, "steps": steps, "rate": RATE,
                "repeats": repeats, "threads": count},
        notes=[f"Newton: {repeats} runs; the gradient steps once"],
    )  # fmt: skip
