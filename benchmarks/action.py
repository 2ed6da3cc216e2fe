"""Fig. 1's path: the package's Newton solver against the paper's way, 60,000 gradient steps on the same sum.

Both minimise Eq. 29 (left rule, T = 4, 50 points, both ends fixed) from the straight line, in float64; the gradient
steps go through torch's autograd, as in Strang et al. and the paper. They minimise the mean S = J/T, the paper's form.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import torch
from tqdm import tqdm

import lossnav as ln
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


def by_gradient_steps() -> tuple[np.ndarray, float]:
    """Return the path after STEPS steps, and the largest component of ∂J/∂θ there."""
    dt = HORIZON / INTERVALS
    weights = torch.exp(-GAMMA * dt * torch.arange(INTERVALS, dtype=torch.float64))
    first, inner, last = (torch.tensor(part) for part in np.split(straight(), [1, INTERVALS]))
    inner.requires_grad_(True)
    for _ in tqdm(range(STEPS), desc="gradient steps", leave=False):
        path = torch.cat([first, inner, last])
        x, y = path[:-1, 0], path[:-1, 1]
        kinetic = (path[1:] - path[:-1]).square().sum(-1) / (2 * dt**2)
        loss = (x**2 - 1) ** 2 + y**2 - x / 2
        mean = (weights * (kinetic + loss)).mean()
        (gradient,) = torch.autograd.grad(mean, inner)
        with torch.no_grad():
            inner -= RATE * gradient
    return torch.cat([first, inner.detach(), last]).numpy(), HORIZON * float(gradient.abs().max())


def run() -> bool:
    torch.set_num_threads(1)
    by_newton()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        ours = by_newton()
        times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    theirs, slope = by_gradient_steps()
    slow = time.perf_counter() - begin
    fast = statistics.median(times)
    quartiles = statistics.quantiles(times, n=4)
    gap = float(np.max(np.abs(ours.path - theirs)))
    print(f"{'':28}{'time':>14}{'max |∂J/∂θ|':>16}{'J':>14}")
    print(f"{'60,000 gradient steps':28}{slow:>12.2f} s{slope:>16.1e}{'':>14}")
    print(f"{f'Newton ({ours.iterations} steps)':28}{1e3 * fast:>11.2f} ms{ours.gradient:>16.1e}{ours.action:>14.9f}")
    spread = f"{1e3 * quartiles[0]:.2f} … {1e3 * quartiles[2]:.2f} ms, n = {REPEATS}"
    print(f"ratio {slow / fast:,.0f} (Newton's quartiles {spread})")
    print(f"largest distance between the two paths {gap:.1e}")
    checks = {
        "at least 5,000 times faster": slow / fast >= 5000,
        "gradient at most 1e-10": ours.gradient <= 1e-10,
        "same minimiser to 1e-6": gap <= 1e-6,
    }
    for words, met in checks.items():
        print(f"  {'met' if met else 'MISSED'}: {words}")
    return all(checks.values())
