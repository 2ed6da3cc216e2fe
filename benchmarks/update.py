"""``update`` against the formula as it is printed, Eq. 6 by scipy: a matrix root, a matrix exponential, a solve.

    R = √(γ²/4 + ηkH) − γ/2,   Δθ = −(I − e^{−RΔt}) H⁻¹g

The error is measured against the same step in 60 digits, from the matrix that both are given. Threads help large
matrices and hamper small ones, so each way is timed with one thread and with several, and appears with what suits it.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import mpmath
import numpy as np
import scipy.linalg

import lossnav as ln
from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, repeated, spread, take_turns

GAMMA, DT = 1.0, 0.1
ROUNDS, LIMIT = 15, 15.0  # seconds a problem
TURN, REST = 0.02, 0.03  # seconds: of a turn, at least; before it, until OpenBLAS's threads no longer look for work
SPECTRA = {"1e-2 … 1e2": (-2, 2), "1e-12 … 1e2": (-12, 2)}
SIZES = (2, 10, 100, 400)
LARGE = 100  # from here on arithmetic outweighs the checks of arguments, which the scipy route leaves out
EXACT = 10  # the largest size for which 60 digits are quick


@dataclass(frozen=True)
class Timed:
    """Seconds of a call, round by round, and the number of threads."""

    seconds: list[float]
    threads: int

    def cells(self) -> tuple[float, int]:
        return 1e3 * spread(self.seconds).median, self.threads


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


WAYS = (by_update, by_scipy)


def exact(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return the step in 60 digits: φ on the eigenvalues of the very matrix."""
    with mpmath.workdps(60):
        values, axes = mpmath.eigsy(mpmath.matrix(hessian.tolist()))
        components = axes.T * mpmath.matrix(gradient.tolist())
        gamma = mpmath.mpf(GAMMA)
        for i, h in enumerate(values):
            rate = mpmath.sqrt(gamma**2 / 4 + h) - gamma / 2
            components[i] *= mpmath.expm1(-rate * mpmath.mpf(DT)) / h
        return np.array([float(x) for x in axes * components])


def measure(gradient: np.ndarray, hessian: np.ndarray, counts: list[int], rounds: int) -> list[Timed]:
    """Return each of ``WAYS`` with the number of threads, of ``counts``, that suits it."""
    contenders = {f"{way.__name__}, {n}": (partial(way, gradient, hessian), n) for way in WAYS for n in counts}
    calls = {}
    for name, (call, n) in contenders.items():
        with machine.threads(n):
            calls[name] = _calls(call)
    with ExitStack() as setting:

        def prepare(name: str) -> None:
            setting.close()
            setting.enter_context(machine.threads(contenders[name][1]))
            time.sleep(REST)

        turns = {name: repeated(call, calls[name]) for name, (call, _) in contenders.items()}
        times = take_turns(turns, rounds, warm_up=0, limit=LIMIT, prepare=prepare)
    timings = [Timed([t / calls[name] for t in times[name]], n) for name, (_, n) in contenders.items()]
    each = [timings[k : k + len(counts)] for k in range(0, len(timings), len(counts))]
    return [min(group, key=lambda timed: spread(timed.seconds).median) for group in each]


def _calls(call: Callable[[], object]) -> int:
    """Return how often to call it for a turn of some length."""
    call()
    begin = time.perf_counter()
    call()
    return max(1, min(1000, math.ceil(TURN / (time.perf_counter() - begin))))


def run(settings: Settings) -> Report:
    counts = sorted({1, settings.threads or os.cpu_count() or 1})
    rows, checks = [], {}
    for words, spectrum in SPECTRA.items():
        for size in SIZES[:2] if settings.quick else SIZES:
            gradient, hessian = problem(size, spectrum)
            ours, theirs = measure(gradient, hessian, counts, 2 if settings.quick else ROUNDS)
            gain = ratio(theirs.seconds, ours.seconds)
            errors = [_error(way(gradient, hessian), gradient, hessian) for way in WAYS]
            name = f"D = {size}, h = {words}"
            rows.append([name, *ours.cells(), *theirs.cells(), *gain.cells(), *errors])
            if size >= LARGE:
                checks[f"{name}: faster than scipy's route, {gain} times"] = gain.median > 1
            if errors[0] is not None and errors[1] is not None:
                checks[f"{name}: error {errors[0]:.1e} at most 1e-13"] = errors[0] <= 1e-13
    return Report(
        columns=["problem", "update, ms", "update's threads", "scipy, ms", "scipy's threads", "ratio", "1st quartile",
                 "3rd", "error", "scipy's error"],
        formats=[".3f", "d", ".3f", "d", ".2f", ".2f", ".2f", ".1e", ".1e"],
        rows=rows,
        checks=checks,
        config={"gamma": GAMMA, "dt": DT, "rounds": ROUNDS, "threads": counts},
        notes=["error: |Δθ − exact| / |exact|, where 60 digits are quick; only update checks its arguments",
               f"threads: of {' and '.join(map(str, counts))}, what each way is faster with"],
    )  # fmt: skip


def _error(step: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> float | None:
    if len(gradient) > EXACT:
        return None
    reference = exact(gradient, hessian)
    return math.hypot(*(step - reference)) / math.hypot(*reference)
