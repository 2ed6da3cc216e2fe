"""The same sums minimised by others: IPOPT through CasADi, with CasADi's own derivatives."""

import casadi
import numpy as np

from benchmarks.action import casadi_problem


def path_cost(loss, start, stop, *, horizon, intervals, gamma, first=None, free=False):
    """Return the least J_N and its path: straight lines between the nodes, loss and discount, η = k = 1.

    Args:
        loss: maps a sequence of D CasADi expressions to one. start, stop: ends, shape (D,).
        first: path to begin with, shape (N+1, D); None is the straight line. free: leave the end free.
    """
    start, stop = np.asarray(start, float), np.asarray(stop, float)
    problem = casadi_problem(loss, start, stop, horizon, intervals, gamma, free)
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-11}}
    solver = casadi.nlpsol("path", "ipopt", problem, options)
    if first is None:
        first = start + np.linspace(0, 1, intervals + 1)[:, None] * (stop - start)
    solution = solver(x0=first[1 : len(first) - (not free)].ravel())
    return float(solution["f"]), np.array(solution["x"]).reshape(-1, len(start))


def rest_cost(loss, start, rest, *, gamma, horizon, intervals=800, near=None):
    """Return J of the best path from ``start`` that rests at ``rest`` from ``horizon`` on, extrapolated in Δt².

    IPOPT begins at an exponential, or at the path ``near``, (T,) to (T, D): it finds what is near.
    """
    grid = np.linspace(0, horizon, intervals + 1)[:, None]
    values = []
    for n in (intervals // 2, intervals):
        t = grid[:: intervals // n]
        first = np.asarray(rest) + (np.asarray(start) - rest) * np.exp(-t) if near is None else near(t[:, 0])
        values.append(path_cost(loss, start, rest, horizon=horizon, intervals=n, gamma=gamma, first=first)[0])
    return (4 * values[1] - values[0]) / 3 + np.exp(-gamma * horizon) * float(loss(rest)) / gamma
