"""``update`` against the formula as it is printed, Eq. 6 by scipy: a matrix root, a matrix exponential, a solve.

    R = √(γ²/4 + ηkH) − γ/2,   Δθ = −(I − e^{−RΔt}) H⁻¹g

The error is measured against the same step in 60 digits, from the matrix that both are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import mpmath
import numpy as np
import scipy.linalg

import lossnav as ln
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns

GAMMA, DT, ROUNDS = 1.0, 0.1, 30
SPECTRA = {"1e-2 … 1e2": (-2, 2), "1e-12 … 1e2": (-12, 2)}
SIZES = (2, 10, 100, 400)
LARGE = 100  # from here on arithmetic outweighs the checks of arguments, which the scipy route leaves out
EXACT = 10  # the largest size for which 60 digits are quick


def problem(size: int, spectrum: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return a gradient and a Hessian with curvatures spread evenly over the decades."""
    draw = np.random.default_rng(size)
    axes = np.linalg.qr(draw.normal(size=(size, size)))[0]
    hessian = axes * np.logspace(*spectrum, size) @ axes.T
    return draw.normal(size=size), (hessian + hessian.T) / 2


def by_scipy(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    unit = np.eye(len(gradient))
    rate = np.real(scipy.linalg.sqrtm(GAMMA**2 / 4 * unit + hessian)) - GAMMA / 2 * unit
    return (scipy.linalg.expm(-rate * DT) - unit) @ np.linalg.solve(hessian, gradient)


def by_update(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    return ln.update(ln.Objective(gamma=GAMMA), gradient, hessian, DT)


def exact(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return the step in 60 digits: φ on the eigenvalues of the very matrix."""
    with mpmath.workdps(60):
        values, axes = mpmath.eigsy(mpmath.matrix(hessian.tolist()))
        slope = axes.T * mpmath.matrix(gradient.tolist())
        gamma = mpmath.mpf(GAMMA)
        for i, h in enumerate(values):
            rate = mpmath.sqrt(gamma**2 / 4 + h) - gamma / 2
            slope[i] *= mpmath.expm1(-rate * mpmath.mpf(DT)) / h
        return np.array([float(x) for x in axes * slope])


def run(settings: Settings) -> Report:
    rows, checks = [], {}
    for words, spectrum in SPECTRA.items():
        for size in SIZES[:2] if settings.quick else SIZES:
            gradient, hessian = problem(size, spectrum)
            ways: dict[str, Callable[[], np.ndarray]] = {
                way.__name__: partial(way, gradient, hessian) for way in (by_update, by_scipy)
            }
            times = take_turns(ways, 2 if settings.quick else ROUNDS)
            ours, theirs = spread(times["by_update"]), spread(times["by_scipy"])
            gain = ratio(times["by_scipy"], times["by_update"])
            errors = [_error(way(), gradient, hessian) for way in ways.values()]
            name = f"D = {size}, h = {words}"
            rows.append([name, 1e3 * ours.median, 1e3 * theirs.median, gain.median, gain.low, gain.high, *errors])
            if size >= LARGE:
                checks[f"{name}: faster than scipy's route, {gain} times"] = gain.median > 1
            if errors[0] is not None and errors[1] is not None:
                checks[f"{name}: error {errors[0]:.1e} at most 1e-13"] = errors[0] <= 1e-13
    return Report(
        columns=["problem", "update, ms", "scipy, ms", "ratio", "1st quartile", "3rd", "error", "scipy's error"],
        formats=[".3f", ".3f", ".1f", ".1f", ".1f", ".1e", ".1e"],
        rows=rows,
        checks=checks,
        config={"gamma": GAMMA, "dt": DT, "rounds": ROUNDS},
        notes=["error: |Δθ − exact| / |exact|, where 60 digits are quick; only update checks its arguments"],
    )


def _error(step: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> float | None:
    if len(gradient) > EXACT:
        return None
    reference = exact(gradient, hessian)
    return math.hypot(*(step - reference)) / math.hypot(*reference)
