"""What a record says of a family: deviations from it, in units of the noise, as a function of its coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.analysis.inference.extremal import Extremal, lateness
from lossnav.analysis.inference.families import Measured, Planner, Quantity, Scale
from lossnav.analysis.inference.likelihood import Likelihood
from lossnav.analysis.inference.records import Curve, Rates
from lossnav.problem.functions.roots import slow_rate
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary

_ROUNDING = 1e-9  # of what is known in closed form, relative to the record's size
_SOLVED = 1e-7  # of an extremal
_WILD = 1e6  # deviation of what a family cannot do
_HURRIED = (
    "the fastest mode moves by more than .3 of itself between times: where these are a learner's own steps, "
    "h·m/(1 − m) against the factor m is the exact line"
)
_BLURRED = (
    "the speed changes so much between times that its integral is wrong by more than the noise: intervals leave that "
    "out, so look more often at the beginning"
)
Recording = tuple[Array, Array, float]  # times, places, what multiplies k
Modes = tuple[Array, Array, Any, Array]  # curvatures, (M,), times, (N,), places, (M, N), and where losses are least


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
        record: the first recording, with which ``series`` begins; None where no path is fitted.
        warnings: what limits the answer.
    """

    likelihood: Likelihood
    family: Planner
    scale: Scale
    unit: float
    floor: float
    series: Callable[[Array], Array] | None
    rates: Rates | None
    loss: Loss | None = None
    record: Recording | None = None
    warnings: tuple[str, ...] = ()

    def values(self, x: Array) -> dict[str, float]:
        """Return what coordinates of shape (P,) mean."""
        return {name: float(value) for name, value in self.family.values(x, self.scale).items()}

    def fitted(self, x: Array) -> Array:
        """Return the fitted places of the record."""
        assert self.record is not None and self.series is not None
        places = self.record[1]
        return np.asarray(places - self.unit * self.series(x)[: len(places)])


@dataclass(frozen=True)
class Question:
    """What is asked of a record.

    Attributes:
        family: of assumptions.
        known: those that are held, by name.
        noise: standard deviation of an entry, None if it is not known.
        level: of the intervals.
    """

    family: Planner
    known: Mapping[str, float]
    noise: float | None
    level: float

    def unit(self, size: float, rounding: float) -> tuple[float, float]:
        """Return what a deviation of 1 is on a record of this size, and what of it is rounding."""
        floor = rounding * size
        return size if self.noise is None else math.hypot(self.noise, floor), floor

    def held(self, scale: Scale) -> Callable[[Array], Array]:
        """Return how far coordinates are from what is known, a function of them; shape (K,)."""
        if self.known.get("T", math.inf) < scale.end:
            raise ValueError(f"known['T'] = {self.known['T']:g}, but the record goes on until {scale.end:g}")
        places = [(Quantity.around(self.family, name, scale, value), value) for name, value in self.known.items()]
        rows = [(quantity, quantity.place(value)) for quantity, value in places]

        def held(x: Array) -> Array:
            away = [quantity(x) - goal for quantity, goal in rows]
            return np.stack(away, axis=-1) if away else np.empty((*x.shape[:-1], 0))

        return held

    def likelihood(
        self, scale: Scale, residual: Callable[[Array], Array], projected: int = 0,
        starts: Array | None = None,
    ) -> Likelihood:  # fmt: skip
        """Return the fit of the family's coordinates alone."""
        box, begin = self.family.box(scale), self.family.starts(scale) if starts is None else starts
        noisy = self.noise is not None
        return Likelihood(residual, *box, begin, self.level, noisy, self.held(scale), projected=projected)


def of_rates(rates: Rates, asked: Question) -> Evidence:
    """Return what rates of modes say; deviations are in units of their errors."""
    h, r, error = (np.asarray(part) for part in (rates.h, rates.r, rates.error))
    size = np.hypot(error, 1e-11 * r)
    scale = Scale(float(np.exp(np.mean(np.log(h)))), float(np.exp(np.mean(np.log(r)))))
    family, unit = asked.family, float(np.max(size))

    def residual(x: Array) -> Array:
        deviations = (family.rates(h, family.values(x, scale)) - r) / size
        return np.where(np.isfinite(deviations), deviations, _WILD)

    likelihood = replace(asked, noise=0.0).likelihood(scale, residual)
    return Evidence(likelihood, family, scale, unit, unit if not np.any(error) else 0.0, None, rates)


def _modes(recordings: Sequence[Recording], loss: Quadratic, turning: bool) -> list[Modes]:
    """Return the modes of each recording, for a rotation a whole plane as one of complex numbers.

    Raises:
        ValueError: the loss has no minimum, no curvature, or no such plane.
    """
    minimum = loss.minimum
    if minimum is None:
        raise ValueError("loss has no minimum given, but inference on a quadratic needs one")
    curvature, vectors = np.linalg.eigh(loss.hessian(minimum))
    if not np.any(curvature):
        raise ValueError("loss has no curvature, but rates are told by it")
    if turning:
        if loss.dim != 2 or not math.isclose(curvature[0], curvature[1], rel_tol=1e-9) or not np.any(minimum):
            raise ValueError("family '+rotation' needs a plane of one curvature, and a minimum that is not at 0")
        curvature, vectors = curvature[:1], np.array([[1.0], [1j]])
    return [(stakes * curvature, t, (places @ vectors).T, minimum @ vectors) for t, places, stakes in recordings]


def of_modes(recordings: Sequence[Recording], loss: Quadratic, asked: Question) -> Evidence:
    """Return what paths on a quadratic loss say: each mode by itself, its amplitude projected out."""
    family = asked.family
    modes = _modes(recordings, loss, family.name == "+rotation")
    curvatures = np.concatenate([h for h, *_ in modes])
    if family.name == "planner" and np.min(curvatures) > 0:
        for _, places, _ in recordings:
            if np.all(np.diff(loss.value(places)) > 0):
                raise ValueError(
                    "path climbs throughout, but on a quadratic loss of positive curvature the loss of a planner "
                    "falls: ask for family 'memory'"
                )
    span = max(float(t[-1] - t[0]) for _, t, _, _ in modes)
    middle = float(np.exp(np.mean(np.log(np.abs(curvatures[curvatures != 0])))))
    first, last = min(float(t[0]) for _, t, _, _ in modes), max(float(t[-1]) for _, t, _, _ in modes)
    # Uneven times tell more than their mean step; at even ones a swing has a slower alias, which may end elsewhere.
    finest = [span / float(np.min(np.diff(t))) if family.swings else math.inf for _, t, _, _ in modes]
    swings = math.pi / 3 * max(min(2 * (len(t) - 1), fine) for (_, t, _, _), fine in zip(modes, finest, strict=True))
    scale = Scale(middle, 3 / span, last, first, swings, float(np.max(np.abs(curvatures))))
    unit, floor = asked.unit(max(float(np.max(np.abs(y.T - centre))) for _, _, y, centre in modes), _ROUNDING)

    def left(x: Array) -> list[Array]:
        """Return deviations of each recording, real ones of shape (..., K, N)."""
        values, deviations = family.values(x, scale), []
        for h, t, y, centre in modes:
            away = (y - (centre * family.share(h, values))[..., None]) / unit
            away = _beside(away, family.columns(h, t, values))
            parts = [away.real, away.imag] if np.iscomplexobj(y) else [away]
            deviations.append(np.concatenate(parts, axis=-2))
        return deviations

    def residual(x: Array) -> Array:
        return np.concatenate([part.reshape(*x.shape[:-1], -1) for part in left(x)], axis=-1)

    def series(x: Array) -> Array:
        parts = left(x)
        return np.concatenate([part[:, : min(part.shape[1] for part in parts)] for part in parts]).T

    lost = sum(len(h) * (2 if family.swings or np.iscomplexobj(y) else 1) for h, _, y, _ in modes)
    likelihood = asked.likelihood(scale, residual, lost)
    seen = Evidence(likelihood, family, scale, unit, floor, series, None, loss)
    rates, step = _rates_of(modes, seen), max(float(np.max(np.diff(t))) for _, t, _, _ in modes)
    hurried = rates is not None and step * np.max(np.asarray(rates.r)) > 0.3
    return replace(seen, rates=rates, warnings=(_HURRIED,) if hurried else ())


def of_metric(recordings: Sequence[Recording], loss: Quadratic, asked: Question) -> Evidence:
    """Return what paths on a quadratic loss say of a diagonal metric; their starts are projected out.

    Raises:
        ValueError: the loss has no minimum, or is not curved upwards everywhere.
    """
    family, minimum = asked.family, loss.minimum
    assert isinstance(family, Measured)
    hessian = loss.hessian(np.zeros(loss.dim))
    curvature = np.linalg.eigvalsh(hessian)
    if minimum is None or curvature[0] <= 0:
        raise ValueError("family '+metric' needs a loss with a minimum, and curvature > 0 in every direction")
    span = max(float(t[-1] - t[0]) for t, _, _ in recordings)
    scale = Scale(float(np.exp(np.mean(np.log(curvature)))), 3 / span)
    unit, floor = asked.unit(max(float(np.max(np.abs(y - minimum))) for _, y, _ in recordings), _ROUNDING)

    def left(x: Array) -> Array:
        values, deviations = family.values(x, scale), []
        for t, places, stakes in recordings:
            columns = family.fundamental(stakes * hessian, t, values).reshape(*x.shape[:-1], -1, loss.dim)
            deviations.append(_beside((places - minimum).ravel() / unit, columns))
        return np.concatenate(deviations, axis=-1)

    begun = _weak(recordings, loss, scale, apart=True)
    even, aside = 0 * begun[2:], 2.0 * np.eye(len(begun) - 2)  # noise may tell the weak form no metric
    shares, paces = (begun[0], 0.05, 0.6), begun[1] + np.linspace(-2.0, 2.0, 3)
    starts = [[u, v, *metric] for u in shares for v in paces for metric in (begun[2:], even, *aside, *-aside)]
    likelihood = asked.likelihood(scale, left, len(recordings) * loss.dim, np.array(starts))
    series = lambda x: left(x).reshape(-1, loss.dim)  # noqa: E731
    return Evidence(likelihood, family, scale, unit, floor, series, None, loss, recordings[0])


def _beside(away: Array, columns: Array) -> Array:
    """Return what deviations, shape (..., N), are beside the best sum of columns, (..., N, m); far off without one."""
    exists = np.all(np.isfinite(columns), axis=(-2, -1), keepdims=True)
    columns = np.where(exists, columns, 1.0)
    single = columns.shape[-1] == 1
    basis = columns / np.linalg.norm(columns, axis=-2, keepdims=True) if single else np.linalg.qr(columns)[0]
    sums = np.swapaxes(basis.conj(), -2, -1) @ away[..., None]
    return np.where(exists[..., 0], away - (basis @ sums)[..., 0], _WILD)


def _rates_of(modes: Sequence[Modes], seen: Evidence) -> Rates | None:
    """Return each mode's rate by itself, where its path is told from the noise."""
    found = [np.empty((3, 0))]  # curvatures, rates and their errors
    values, sigma = seen.values(seen.likelihood.x), seen.unit * math.sqrt(seen.likelihood.unit)
    for curvature, t, places, centre in modes if seen.family.name != "+rotation" else ():
        away, since = places - (centre * seen.family.share(curvature, values))[:, None], t - t[0]
        told = (curvature > 0) & (np.max(np.abs(away), axis=1) >= 4 * sigma)
        away, each, middle = away[told], np.arange(np.count_nonzero(told)), -math.log(since[-1])
        # The rate of least squares, the amplitude projected out: a grid in ln r, then finer ones in its valley.
        low, high = np.full(len(each), middle - 5), np.full(len(each), middle + 8)
        while np.any(high - low > 1e-10):
            paces = np.linspace(low, high, 79)
            columns = np.exp(-np.exp(paces)[..., None] * since)
            at = np.argmax(np.sum(columns * away, axis=2) ** 2 / np.sum(columns**2, axis=2), axis=0)
            low, high = paces[np.maximum(at - 1, 0), each], paces[np.minimum(at + 1, 78), each]
        rates = np.exp((low + high) / 2)
        column = np.exp(-rates[:, None] * since)
        size = np.sum(column * away, axis=1) / np.sum(column**2, axis=1)
        # Their standard errors, from the curvature of the squares in amplitude and rate.
        jacobian = np.stack([column, -size[:, None] * since * column], axis=2)
        spread = np.linalg.pinv(np.swapaxes(jacobian, 1, 2) @ jacobian)[:, 1, 1]
        found.append(np.stack([curvature[told], rates, sigma * np.sqrt(np.maximum(spread, 0.0))]))
    h, r, error = np.concatenate(found, axis=1)
    return Rates(h, r, error) if h.size else None


def of_curve(curve: Curve, asked: Question) -> Evidence:
    """Return what a loss curve and the speed say: L = ½v²/a − (γ/a)∫v² + const, on any loss."""
    t, loss, family = np.asarray(curve.t), np.asarray(curve.L), asked.family
    square, span, fall = np.asarray(curve.speed) ** 2, float(t[-1] - t[0]), float(np.ptp(loss))
    family = replace(family, relation="L = v²/2a − (γ/a)∫v²dt + const")
    spent = scipy.integrate.cumulative_simpson(square, x=t, initial=0.0)
    if not fall * float(spent[-1]) > 0:
        raise ValueError("path does not move: neither its loss nor its speed changes")
    scale = Scale(3 / span * fall / float(spent[-1]), 3 / span)
    unit, floor = asked.unit(fall, _SOLVED)

    def left(x: Array) -> Array:
        values = family.values(x, scale)
        deviations = loss - values["A"][..., None] * square / 2 + values["B"][..., None] * spent
        return np.asarray((deviations - deviations.mean(axis=-1, keepdims=True)) / unit)

    likelihood = asked.likelihood(scale, left, projected=1)
    # Simpson's rule on every other time is wrong by 16 times as much.
    wrong = (spent[::2] - scipy.integrate.cumulative_simpson(square[::2], x=t[::2], initial=0.0)) / 15
    blur = float(family.values(likelihood.x, scale)["B"]) * float(np.std(wrong)) * math.sqrt(len(t))
    warnings = (_BLURRED,) if blur > 3 * unit * math.sqrt(likelihood.unit) and asked.noise != 0 else ()
    series = lambda x: left(x)[:, None]  # noqa: E731
    return Evidence(likelihood, family, scale, unit, floor, series, None, None, (t, loss[:, None], 1.0), warnings)


def of_extremals(recordings: Sequence[Recording], loss: Loss, asked: Question) -> list[Evidence]:
    """Return what paths on any loss say: extremals are fitted, their starts among the unknown.

    Of the rests that they may come to, those that the record does not exclude, the nearest first.
    """
    family = asked.family
    if not family.motion:
        raise ValueError(f"family = {family.name!r} needs a losses.Quadratic, or rates")
    family = replace(family, relation=family.motion)
    unit, floor = asked.unit(max(float(np.max(np.ptp(places, axis=0))) for _, places, _ in recordings), _SOLVED)
    span = max(float(t[-1] - t[0]) for t, _, _ in recordings)
    spectrum = np.concatenate([np.abs(np.linalg.eigvalsh(loss.hessian(places))).ravel() for _, places, _ in recordings])
    scale = Scale(float(np.median(spectrum)), 3 / span)
    begun = _weak(recordings, loss, scale)
    values = family.values(np.append(begun, np.zeros(len(family.names) - 2)), scale)
    candidates = []
    for rests in _rests(recordings, loss):
        parts = []
        for (t, places, stakes), rest in zip(recordings, rests, strict=True):
            late = lateness(family, values, stakes * np.linalg.eigvalsh(loss.hessian(rest)), span)
            parts.append(Extremal(family, scale, loss, stakes, rest, t, places, late))
        candidates.append(_extremals(parts, asked, unit, begun))
    best = min(candidates, key=lambda candidate: candidate.cost)
    if not math.isfinite(best.cost) or best.cost >= _WILD**2:
        raise ValueError("path is far from every extremal that was tried, so that none can be fitted")
    # Other rests stay in question as long as their fit is within the level of the best.
    cut = best.cost + float(scipy.special.chdtri(1, 1 - asked.level)) * best.unit
    _, places, _ = recordings[0]

    def told(likelihood: Likelihood) -> Evidence:
        def series(x: Array) -> Array:
            return -likelihood.residual(x)[: places.size].reshape(places.shape)

        return Evidence(likelihood, family, scale, unit, floor, series, None, loss, recordings[0])

    return [told(candidate) for candidate in candidates if candidate.cost <= cut]


def _extremals(parts: Sequence[Extremal], asked: Question, unit: float, begun: Array) -> Likelihood:
    """Return the fit of extremals into given rests, one a recording; coordinates are the family's, then each start."""
    family, scale = asked.family, parts[0].scale
    size, dim, count = len(family.names), parts[0].loss.dim, len(parts)

    def own(i: int) -> Array:
        return np.append(np.arange(size), size + i * dim + np.arange(dim))

    def residual(x: Array) -> Array:
        if x.ndim > 1:
            return np.stack([residual(each) for each in x])
        gaps = [part.solved(x[own(i)]) - part.places for i, part in enumerate(parts)]
        deviations = np.concatenate([gap.ravel() for gap in gaps]) / unit
        return np.where(np.isfinite(deviations), deviations, _WILD)

    def jacobian(x: Array) -> Array:
        if x.ndim > 1:
            return np.stack([jacobian(each) for each in x])
        rows = []
        for i, part in enumerate(parts):
            derivatives = part.slopes(x[own(i)]).reshape(-1, size + dim) / unit
            rows.append(np.zeros((len(derivatives), size + count * dim)))
            rows[-1][:, own(i)] = derivatives
        return np.nan_to_num(np.vstack(rows))

    low, high = family.box(scale)
    firsts = np.concatenate([part.places[0] for part in parts])
    far = 10 * np.max(np.abs(firsts)) + 10 * unit
    shares, paces = (begun[0], 0.05, 0.6), begun[1] + np.linspace(-2.0, 2.0, 5)  # few places tell the pace badly
    starts = np.array([[u, v, *np.full(size - 2, 0.1), *firsts] for u, v in itertools.product(shares, paces)])
    return Likelihood(
        residual, np.append(low, firsts - far), np.append(high, firsts + far), starts, asked.level,
        asked.noise is not None, asked.held(scale), jacobian,
    )  # fmt: skip


def _weak(recordings: Sequence[Recording], loss: Loss, scale: Scale, *, apart: bool = False) -> Array:
    """Return coordinates of a planner to begin from, by the weak form: ∫φ̈θ = −γ∫φ̇θ + a∫φ∇L.

    ``apart``: with an a of its own for each parameter, as a diagonal metric has.
    """
    rows: list[Array] = []
    for t, places, stakes in recordings:
        span = t[-1] - t[0]
        width, weight = 0.4 * span, np.gradient(t)[:, None]
        middle = t[0] + np.linspace(width / 2, span - width / 2, 12)
        s = (t[:, None] - middle) / (width / 2)
        bump = np.maximum(1 - s * s, 0.0)
        first, second = -8 * s * bump**3 * (2 / width), (-8 * bump**3 + 48 * s * s * bump**2) * (2 / width) ** 2
        pull = (bump**4 * weight).T @ loss.gradient(places) * stakes
        pulls = [pull * own for own in np.eye(loss.dim)] if apart else [pull]
        parts = [*pulls, -(first * weight).T @ places, (second * weight).T @ places]
        rows.append(np.stack([part.ravel() for part in parts], axis=1))
    system = np.concatenate(rows)
    (*gains, gamma), _ = scipy.optimize.nnls(system[:, :-1], system[:, -1])
    a = gains[0]
    # Without a gain, at a pace that leads so far in so long: where a loss flattens out its curvature is not its pull.
    pull = max(1e-300, *(float(np.max(np.abs(stakes * loss.gradient(places)))) for _, places, stakes in recordings))
    way = max(float(np.max(np.ptp(places, axis=0))) for _, places, _ in recordings)
    pace = slow_rate(scale.curvature, a, gamma) if a else scale.rate * math.sqrt(scale.curvature * way / pull)
    pace = float(np.clip(pace, scale.rate / 30, 30 * scale.rate))
    least = 1e-3 * max(gains) or 1.0
    metric = [math.log(max(a, least) / max(gain, least)) for gain in gains[1:]]
    return np.array([gamma / (gamma + scale.rate), math.log(pace), *metric])


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
