"""What a record says of a family: deviations from it, in units of the noise, as a function of its coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.analysis.inference.extremal import Extremal, lateness
from lossnav.analysis.inference.families import Planner, Scale, place
from lossnav.analysis.inference.likelihood import Likelihood
from lossnav.analysis.inference.records import Curve, Rates
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary

_ROUNDING = 1e-9  # of what is known in closed form, relative to the record's size
_SOLVED = 1e-7  # of an extremal
_WILD = 1e6  # deviation of what a family cannot do
Recording = tuple[Array, Array, float]  # times, places, what multiplies k
Mode = tuple[float, Array, Any, complex]  # curvature, times, places, real or complex, and where the loss is least


@dataclass
class Evidence:
    """A family's likelihood on a record.

    Attributes:
        likelihood, family, scale: the coordinates are those of the family, then starts.
        unit: what a deviation of 1 is in the record's own unit.
        floor: rounding, in that unit.
        series: maps coordinates to deviations over time, (N, K), each a column; None where there is no time.
        rates: of single modes, if the record has such.
        loss: landscape whose J can be asked, or None.
        step: the longest time between two of a record that modes were seen in.
        fitted: maps coordinates to times, places and fitted places of the first recording, whose k is ``stakes``.
    """

    likelihood: Likelihood
    family: Planner
    scale: Scale
    unit: float
    floor: float
    series: Callable[[Array], Array] | None
    rates: Rates | None
    loss: Loss | None = None
    fitted: Callable[[Array], tuple[Array, Array, Array]] | None = None
    stakes: float = 1.0
    step: float = 0.0


def held(family: Planner, scale: Scale, known: Mapping[str, float]) -> Callable[[Array], Array]:
    """Return how far coordinates are from what is known, a function of them; shape (K,)."""
    rows = []
    for name, value in known.items():
        above = value - (scale.end if name == "T" else 0.0)
        if name == "T" and above < 0:
            raise ValueError(f"known['T'] = {value:g}, but the record goes on until {scale.end:g}")
        size = abs(above) if 0 < abs(above) < math.inf else scale.rate
        goal = 0.5 + math.copysign(0.25, above) * bool(above) if name == "q" else above / (above + size)
        rows.append((place(family, name, scale, size), 1.0 if math.isinf(above) else goal))
    return lambda x: np.array([found(x) - goal for found, goal in rows])


def of_rates(rates: Rates, family: Planner, known: Mapping[str, float], level: float) -> Evidence:
    """Return what rates of modes say; deviations are in units of their errors."""
    h, r, error = (np.asarray(part) for part in (rates.h, rates.r, rates.error))
    floor = 1e-11 * r
    size = np.hypot(error, floor)
    scale = Scale(float(np.exp(np.mean(np.log(h)))), float(np.exp(np.mean(np.log(r)))))

    def residual(x: Array) -> Array:
        found = (family.rates(h, family.values(x, scale)) - r) / size
        return np.where(np.isfinite(found), found, _WILD)

    likelihood = Likelihood(residual, *family.box(scale), family.starts(scale), level, True, held(family, scale, known))
    unit = float(np.max(size))
    return Evidence(likelihood, family, scale, unit, unit if not np.any(error) else 0.0, None, rates)


def of_modes(
    recordings: Sequence[Recording], loss: Quadratic, family: Planner, known: Mapping[str, float], noise: float | None,
    level: float,
) -> Evidence:  # fmt: skip
    """Return what paths on a quadratic loss say: each mode by itself, its amplitude projected out."""
    minimum = loss.minimum
    if minimum is None:
        raise ValueError("loss has no minimum given, but inference on a quadratic needs one")
    curvature, vectors = np.linalg.eigh(loss.hessian(minimum))
    modes: list[Mode] = []
    for t, places, stakes in recordings:
        if family.name == "+rotation":
            if loss.dim != 2 or not math.isclose(curvature[0], curvature[1], rel_tol=1e-9) or not np.any(minimum):
                raise ValueError("family '+rotation' needs a plane of one curvature, and a minimum that is not at 0")
            whole = places[:, 0] + 1j * places[:, 1]
            modes.append((stakes * float(curvature[0]), t, whole, complex(minimum[0], minimum[1])))
            continue
        modes += [(stakes * float(h), t, places @ v, float(minimum @ v)) for h, v in zip(curvature, vectors.T,
                                                                                         strict=True)]  # fmt: skip
    if family.name == "planner" and curvature[0] > 0:
        for _, places, _ in recordings:
            if np.all(np.diff(loss.value(places)) > 0):
                raise ValueError(
                    "path climbs throughout, but on a quadratic loss of positive curvature the loss of a planner "
                    "falls: ask for family 'memory'"
                )
    size = max(float(np.max(np.abs(y - centre))) for _, _, y, centre in modes)
    span = max(float(t[-1] - t[0]) for _, t, _, _ in modes)
    known_h = [abs(h) for h, _, _, _ in modes if h]
    if not known_h:
        raise ValueError("loss has no curvature, but rates are told by it")
    scale = Scale(float(np.exp(np.mean(np.log(known_h)))), 3 / span, max(float(t[-1]) for _, t, _, _ in modes))
    floor = _ROUNDING * size
    unit = size if noise is None else math.hypot(noise, floor)

    def left(x: Array) -> list[Array]:
        values, found = family.values(x, scale), []
        for h, t, y, centre in modes:
            columns = family.columns(h, t, values)
            if not np.all(np.isfinite(columns)):
                found.append(np.full(len(t), _WILD))
                continue
            away = y - centre * family.share(h, values)
            if columns.shape[1] == 1:
                column = columns[:, 0]
                amplitude = np.vdot(column, away) / max(np.vdot(column, column).real, 1e-300)
                found.append((away - column * amplitude) / unit)
            else:
                basis = np.linalg.qr(columns)[0]
                found.append((away - basis @ (basis.T @ away)) / unit)
        return found

    def residual(x: Array) -> Array:
        whole = np.concatenate(left(x))
        return np.concatenate([whole.real, whole.imag]) if np.iscomplexobj(whole) else whole

    def series(x: Array) -> Array:
        parts = [
            part for piece in left(x) for part in ([piece.real, piece.imag] if np.iscomplexobj(piece) else [piece])
        ]
        return np.stack([part[: min(map(len, parts))] for part in parts], axis=1)

    lost = sum(2 if family.swings or np.iscomplexobj(y) else 1 for _, _, y, _ in modes)
    likelihood = Likelihood(
        residual, *family.box(scale), family.starts(scale), level, noise is not None, held(family, scale, known),
        projected=lost,
    )  # fmt: skip
    rates = _rates_of(modes, family, family.values(likelihood.x, scale), likelihood, unit)
    step = max(float(np.max(np.diff(t))) for _, t, _, _ in modes)
    return Evidence(likelihood, family, scale, unit, floor, series, rates, loss, step=step)


def _rates_of(
    modes: Sequence[Mode], family: Planner, values: Mapping[str, float], likelihood: Likelihood, unit: float
) -> Rates | None:
    """Return each mode's rate by itself, where its path is told from the noise."""
    h, r, error = [], [], []
    sigma = unit * math.sqrt(likelihood.unit)
    for curvature, t, y, centre in modes:
        away = y - centre * family.share(curvature, values)
        if curvature <= 0 or np.iscomplexobj(y) or np.max(np.abs(away)) < 4 * sigma:
            continue

        def square(pace: float, t: Array = t, away: Array = away) -> float:
            column = np.exp(-math.exp(pace) * (t - t[0]))
            return float(away @ away - (column @ away) ** 2 / (column @ column))

        middle = -math.log(t[-1] - t[0])
        grid = np.linspace(middle - 5, middle + 8, 79)
        at = int(np.clip(np.argmin([square(x) for x in grid]), 1, 77))
        pace = scipy.optimize.minimize_scalar(square, bounds=(grid[at - 1], grid[at + 1]), method="bounded",
                                              options={"xatol": 1e-10}).x  # fmt: skip
        rate = math.exp(pace)
        column = np.exp(-rate * (t - t[0]))
        size = float(column @ away / (column @ column))
        both = np.stack([column, -size * (t - t[0]) * column], axis=1)
        spread = np.linalg.pinv(both.T @ both)[1, 1]
        h.append(curvature)
        r.append(rate)
        error.append(sigma * math.sqrt(max(float(spread), 0.0)))
    return Rates(h, r, error) if h else None


def of_curve(curve: Curve, family: Planner, known: Mapping[str, float], noise: float | None, level: float) -> Evidence:
    """Return what a loss curve and the speed say: L = ½v²/a − (γ/a)∫v² + const, on any loss (book: I6)."""
    t, loss = np.asarray(curve.t), np.asarray(curve.L)
    square, span, fall = np.asarray(curve.speed) ** 2, float(t[-1] - t[0]), float(np.ptp(loss))
    spent = scipy.integrate.cumulative_simpson(square, x=t, initial=0.0)
    if not fall * float(spent[-1]) > 0:
        raise ValueError("path does not move: neither its loss nor its speed changes")
    scale = Scale(3 / span * fall / float(spent[-1]), 3 / span)
    floor = _SOLVED * fall
    unit = fall if noise is None else math.hypot(noise, floor)

    def left(x: Array) -> Array:
        values = family.values(x, scale)
        found = loss - values["A"] * square / 2 + values["B"] * spent
        return np.asarray((found - found.mean()) / unit)

    likelihood = Likelihood(
        left, *family.box(scale), family.starts(scale), level, noise is not None, held(family, scale, known),
        projected=1,
    )  # fmt: skip
    return Evidence(likelihood, family, scale, unit, floor, lambda x: left(x)[:, None], None, None,
                    lambda x: (t, loss[:, None], (loss - left(x) * unit)[:, None]))  # fmt: skip


def of_extremals(
    recordings: Sequence[Recording], loss: Loss, family: Planner, known: Mapping[str, float], noise: float | None,
    level: float,
) -> list[Evidence]:  # fmt: skip
    """Return what paths on any loss say: extremals are fitted, their starts among the unknown (book: I16).

    Of the rests that they may come to, those that the record does not exclude, the nearest first.
    """
    if not family.moves:
        raise ValueError(f"family = {family.name!r} needs a losses.Quadratic, or rates")
    size = max(float(np.max(np.ptp(places, axis=0))) for _, places, _ in recordings)
    floor = _SOLVED * size
    unit = size if noise is None else math.hypot(noise, floor)
    span = max(float(t[-1] - t[0]) for t, _, _ in recordings)
    seen = np.concatenate([np.abs(np.linalg.eigvalsh(loss.hessian(places))).ravel() for _, places, _ in recordings])
    scale = Scale(float(np.median(seen)), 3 / span)
    begun = _weak(recordings, loss, scale)
    values = family.values(np.append(begun, np.zeros(len(family.names) - 2)), scale)
    every = []
    for rests in _rests(recordings, loss):
        parts = []
        for (t, places, stakes), rest in zip(recordings, rests, strict=True):
            late = lateness(family, values, stakes * np.linalg.eigvalsh(loss.hessian(rest)), span)
            parts.append(Extremal(family, scale, loss, stakes, rest, t, places, late))
        every.append(_extremals(parts, recordings, family, scale, known, unit, level, noise is not None, begun))
    best = min(every, key=lambda one: one.cost)
    if not math.isfinite(best.cost) or best.cost >= _WILD**2:
        raise ValueError("path is far from every extremal that was tried, so that none can be fitted")
    cut = best.cost + float(scipy.stats.chi2.ppf(level, 1)) * best.unit
    return [_told(one, recordings, family, scale, unit, floor, loss) for one in every if one.cost <= cut]


def _told(
    likelihood: Likelihood, recordings: Sequence[Recording], family: Planner, scale: Scale, unit: float, floor: float,
    loss: Loss,
) -> Evidence:  # fmt: skip
    t, places, stakes = recordings[0]

    def series(x: Array) -> Array:
        return likelihood.residual(x)[: places.size].reshape(places.shape)

    return Evidence(likelihood, family, scale, unit, floor, series, None, loss,
                    lambda x: (t, places, places + series(x) * unit), stakes)  # fmt: skip


def _extremals(
    parts: Sequence[Extremal], recordings: Sequence[Recording], family: Planner, scale: Scale,
    known: Mapping[str, float], unit: float, level: float, noisy: bool, begun: Array,
) -> Likelihood:  # fmt: skip
    size, dim, count = len(family.names), parts[0].loss.dim, len(parts)

    def own(x: Array, i: int) -> Array:
        return np.append(x[:size], x[size + i * dim : size + (i + 1) * dim])

    def residual(x: Array) -> Array:
        away = [
            part.solved(own(x, i))[0] - places
            for i, (part, (_, places, _)) in enumerate(zip(parts, recordings, strict=True))
        ]
        whole = np.concatenate([one.ravel() for one in away]) / unit
        return np.where(np.isfinite(whole), whole, _WILD)

    def jacobian(x: Array) -> Array:
        rows = []
        for i, part in enumerate(parts):
            slopes = part.solved(own(x, i))[1].reshape(-1, size + dim) / unit
            row = np.zeros((len(slopes), size + count * dim))
            row[:, :size], row[:, size + i * dim : size + (i + 1) * dim] = slopes[:, :size], slopes[:, size:]
            rows.append(row)
        return np.nan_to_num(np.vstack(rows))

    low, high = family.box(scale)
    firsts = np.concatenate([places[0] for _, places, _ in recordings])
    far = 10 * np.max(np.abs(firsts)) + 10 * unit
    tail = np.full(size - 2, 0.1)
    starts = [np.concatenate([[u], begun[1:], tail, firsts]) for u in (begun[0], 0.05, 0.6)]
    return Likelihood(
        residual, np.append(low, firsts - far), np.append(high, firsts + far), starts, level, noisy,
        held(family, scale, known), jacobian,
    )  # fmt: skip


def _weak(recordings: Sequence[Recording], loss: Loss, scale: Scale) -> Array:
    """Return coordinates of a planner to begin from, by the weak form: ∫φ̈θ = −γ∫φ̇θ + a∫φ∇L (book: I15)."""
    rows: list[Array] = []
    for t, places, stakes in recordings:
        span = t[-1] - t[0]
        width, weight = 0.4 * span, np.gradient(t)[:, None]
        middle = t[0] + np.linspace(width / 2, span - width / 2, 12)
        s = (t[:, None] - middle) / (width / 2)
        bump = np.maximum(1 - s * s, 0.0)
        first, second = -8 * s * bump**3 * (2 / width), (-8 * bump**3 + 48 * s * s * bump**2) * (2 / width) ** 2
        parts = [(bump**4 * weight).T @ loss.gradient(places) * stakes, -(first * weight).T @ places,
                 (second * weight).T @ places]  # fmt: skip
        rows.append(np.stack([part.ravel() for part in parts], axis=1))
    whole = np.concatenate(rows)
    (a, gamma), _ = scipy.optimize.nnls(whole[:, :2], whole[:, 2])
    pace = scale.rate if a == 0 else 2 * a * scale.curvature / (gamma + math.sqrt(gamma**2 + 4 * a * scale.curvature))
    pace = float(np.clip(pace, scale.rate / 30, 30 * scale.rate))
    return np.array([gamma / (gamma + scale.rate), math.log(pace)])


def _rests(recordings: Sequence[Recording], loss: Loss) -> list[tuple[Array, ...]]:
    """Return the minima that recordings may end in: each choice has one a recording, of the three that are nearest."""
    choices: list[list[Array]] = []
    last = [places[-1] for _, places, _ in recordings]
    for _, places, _ in recordings:
        points = np.asarray(stationary.points(Objective(), loss, places[-1])).reshape(-1, loss.dim)
        least = [p for p in points if np.linalg.eigvalsh(loss.hessian(p))[0] > 0]
        choices.append(sorted(least, key=lambda p: float(np.linalg.norm(p - places[-1])))[:3])
        if not choices[-1]:
            raise ValueError("loss has no minimum near the end of path, into which an extremal could be fitted")
    return sorted(itertools.product(*choices), key=lambda pick: sum(map(math.dist, pick, last)))
