"""The entry point: what did the learner assume? Rank before estimate, then a local test, then J."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.inference import evidence, rules
from lossnav.analysis.inference.evidence import Evidence, Question, Recording
from lossnav.analysis.inference.families import FAMILIES, Measured, Planner, Quantity
from lossnav.analysis.inference.records import Curve, Gram, Rates, Steps, positions
from lossnav.analysis.inference.result import Ambiguity, Estimate, Fit, Inference
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.losses.base import check_loss
from lossnav.problem.losses.function import Formula, as_loss
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve

_ROUNDED = 30.0  # times rounding: what an exact record may deviate


def infer(
    path: ArrayLike | Trajectory | Rates | Curve | Steps | Sequence[Any] | Any,
    loss: Loss | Callable[[Any], Any] | Formula | None = None,
    *,
    times: ArrayLike | None = None,
    family: str | Sequence[str] = "planner",
    noise: float | None = None,
    level: float = 0.95,
    known: Mapping[str, Any] | None = None,
) -> Inference:
    r"""Return what a learner assumed, as far as its path tells.

    The loss is known; what is asked is the discount γ, the gain a = ηk (both up to what no record tells: the unit of
    J), a drift, a deadline, a memory or a diagonal metric. Else G = I, unless a rule is read.

    Args:
        path: weights over time, shape (N + 1, D), with their ``times``; a ``Trajectory``; an ``infer.Rates``; an
            ``infer.Curve``; an ``infer.Steps`` or what ``ln.watch`` has seen; or a list of paths or of ``Rates`` under
            stakes that ``known`` gives. Leave a place of which an entry is missing out, with its time.
        loss: the landscape, of D parameters; None for rates, curves and steps.
        times: shape (N + 1,), rising, at least five; for a list of paths those of each in a list, or one array for all.
            A ``Trajectory`` has its own.
        family: "planner" (γ, a) | "+decay" (j) | "+metric" (G2 …, with G₁₁ = 1) | "+rotation" (q) | "deadline" (T, c) |
            "memory" (friction, b) | "hyperbolic" (alpha, a; a sophisticated planner's) | "rule" (recorded optimizers);
            or a list, compared, without those that do not apply: ``warnings`` has the reasons. On a loss that is not
            quadratic only "planner" and "+decay", and each takes 4 to 50 s of a core for 50 places of two parameters.
        noise: standard deviation of an entry of the record (of the loss, for a curve). None estimates it; 0 says that
            the record is exact.
        level: of the intervals, in (.5, 1).
        known: values that are held, by name; and ``k``, what each recording of a list multiplies the loss by.

    Returns:
        The inference. Parameters that the record cannot tell are an answer, ``unidentified``, and no error.

    Raises:
        ValueError: naming the argument: too few times, or such that do not rise; a path that does not move; one that
            climbs throughout where no planner's can; a loss curve alone; ``noise`` 0 where no family fits to rounding;
            no family that applies.

    Honest limits: with a metric of any directions every γ explains a bowl; with one that may depend on θ
    everything is explained; a loss curve alone says rates only.

    Example:
        >>> import lossnav as ln
        >>> found = ln.infer(ln.infer.Rates([1.0, 100.0], [0.4142135623731, 9.0498756211209], error=0.001))
        >>> {name: round(one.value, 6) for name, one in found.estimates.items()}
        {'gamma': 2.0, 'a': 1.0}

    References:
        book: *What did the learner assume?*; I3, I10, I23, I24; the exponents that refute are I4's.
    """
    given: Mapping[str, Any] = {} if known is None else known
    known_values = dict(_checks.instance("known", given, Mapping, "a mapping from names to values"))
    _checks.finite("level", level, low=0.5, high=1, open_low=True, open_high=True)
    sigma = None if noise is None else _checks.finite("noise", noise, low=0.0)
    family_names = [family] if isinstance(family, str) else list(_checks.sequence("family", family, "families"))
    for name in family_names:
        _checks.one_of("family", name, (*FAMILIES, "rule"))
    if not family_names:
        raise ValueError("family is empty, but it must name at least one")
    steps = path.record() if hasattr(path, "record") else path  # what ln.watch has seen: torch is not known here
    if isinstance(steps, Steps | Gram):
        if family_names != ["rule"]:
            raise ValueError(f"family = {family!r}, but recorded steps are read by family 'rule'")
        return rules.read(steps, level)
    if "rule" in family_names:
        raise ValueError("family = 'rule' needs path to be an infer.Steps, or what ln.watch has seen")
    inferences, left_out = [], {}
    for name in family_names:
        try:
            asked = Question(FAMILIES[name], _known(FAMILIES[name], known_values), sigma, level)
            inferences.append(_one(path, loss, times, asked, known_values.get("k")))
        except ValueError as error:  # what is wrong with the record is so for every family
            left_out[name] = str(error)
    if not inferences:
        raise ValueError("; ".join(dict.fromkeys(left_out.values())))
    first, *others = sorted(inferences, key=lambda answer: (answer.fit.refuted, answer.score["bic"]))
    told = tuple(f"family {name!r} is left out: {why}" for name, why in left_out.items())
    return replace(first, others=tuple(others), warnings=first.warnings + told)


def _one(path: Any, loss: Any, times: Any, asked: Question, stakes: ArrayLike | None) -> Inference:
    """Return the inference of one family."""
    seen = _evidence(path, loss, times, asked, stakes)
    fit = _fit(seen, asked)
    if asked.noise == 0 and fit.residual > _ROUNDED * seen.floor:
        raise ValueError(f"noise = 0, but the best of {asked.family.name!r} misses path by {fit.residual:.2g}: "
                         "give the noise, or another family")  # fmt: skip
    path, times, stakes = copy.deepcopy((path, times, stakes))  # who asks again must not see them changed from outside
    return replace(_answer(seen, fit, asked), again=partial(_evidence, path, loss, times, asked, stakes))


def _evidence(path: Any, loss: Any, times: Any, asked: Question, stakes: ArrayLike | None) -> Evidence:
    """Return what a record says; of several extremals that fit, the one that is the optimum from its start, if any."""
    seen = _candidates(path, loss, times, asked, stakes)
    return next((choice for choice in seen if len(seen) == 1 or _cheapest(choice, choice.likelihood.x)), seen[0])


def _candidates(path: Any, loss: Any, times: Any, asked: Question, stakes: ArrayLike | None) -> list[Evidence]:
    name = asked.family.name
    records = path if _several(path) else [path]
    shares = _checks.positives("known['k']", np.ones(len(records)) if stakes is None else stakes, shape=(len(records),))
    if isinstance(records[0], Rates):
        if not all(isinstance(record, Rates) for record in records):
            raise ValueError("path mixes infer.Rates with other records, but all must be of one kind")
        if name in ("+metric", "+rotation", "deadline"):
            raise ValueError(f"family = {name!r} needs a path: rates do not tell it")
        scaled = [(k * np.asarray(record.h), record.r, record.error) for k, record in zip(shares, records, strict=True)]
        return [evidence.of_rates(Rates(*map(np.concatenate, zip(*scaled, strict=True))), asked)]
    if isinstance(path, Curve):
        if path.speed is None:
            raise ValueError("path is a loss curve alone, which says rates only (path.rates): for every gamma there is "
                             "a spectrum with exactly this curve; give its speed, or where curvatures are known "
                             "infer.Rates(h, path.rates(len(h)))")  # fmt: skip
        if name != "planner":
            raise ValueError(f"family = {name!r} cannot be told from a loss curve and its speed, only 'planner'")
        return [evidence.of_curve(path, asked)]
    if loss is None:
        raise ValueError("loss is None, but what a path assumes is told only by the loss that it was for")
    apart = records is path and isinstance(times, list | tuple) and len(times) > 0 and np.ndim(times[0]) == 1
    clocks = times if apart else [times] * len(records)
    if len(clocks) != len(records):
        raise ValueError(f"times is a list of {len(clocks)}, but path is one of {len(records)}")
    recordings: list[Recording] = []
    for record, clock, k in zip(records, clocks, shares, strict=True):
        path_and_times = (record(record.times), record.times) if isinstance(record, Trajectory) else (record, clock)
        recordings.append((*positions(*path_and_times), float(k)))
    dim = recordings[0][1].shape[1]
    landscape: Loss = as_loss(loss, dim)
    check_loss(landscape)
    if any(places.shape[1] != landscape.dim for _, places, _ in recordings):
        raise ValueError(f"path has places of {dim} parameters, but loss has {landscape.dim}")
    asked = replace(asked, family=asked.family.of(landscape.dim))
    if not isinstance(landscape, Quadratic):
        return evidence.of_extremals(recordings, landscape, asked)
    of_paths = evidence.of_metric if isinstance(asked.family, Measured) else evidence.of_modes
    return [of_paths(recordings, landscape, asked)]


def _known(family: Planner, known: Mapping[str, Any]) -> dict[str, float]:
    """Return what is held, by name."""
    for key in known:
        if key not in (*family.names, "k"):
            allowed = ", ".join((*family.names, "k"))
            raise ValueError(f"known has {key!r}, but of family {family.name!r} it may hold {allowed}")
    held = {key: value for key, value in known.items() if key != "k"}
    return {key: _checks.finite(f"known[{key!r}]", value) if key in ("q", "T")
            else _checks.duration(f"known[{key!r}]", value, zero=True) for key, value in held.items()}  # fmt: skip


def _several(path: Any) -> bool:
    """Say whether this is a list of records."""
    return isinstance(path, list) and bool(path) and (isinstance(path[0], Rates | Trajectory) or np.ndim(path[0]) == 2)


# --------------------------------------------------------------------------------------------------------- local tests


def _fit(seen: Evidence, asked: Question) -> Fit:
    """Return the local test: χ² where the noise is known, else whether deviations hang together in time."""
    likelihood = seen.likelihood
    residual = math.sqrt(likelihood.cost / likelihood.count) * seen.unit
    exact = asked.noise == 0 or (seen.series is None and seen.floor > 0)
    if asked.noise is None and seen.series is not None:
        expected, p = math.nan, 1.0
        if residual > _ROUNDED * seen.floor:
            deviations = seen.series(likelihood.x)
            ratio = float(np.sum(np.diff(deviations, axis=0) ** 2) / np.sum(deviations**2))
            p = float(scipy.special.ndtr((ratio - 2) * math.sqrt(deviations.size) / 2))
    else:
        expected = seen.unit * math.sqrt(likelihood.spare / likelihood.count)
        p = float(scipy.special.chdtrc(likelihood.spare, likelihood.cost))
        if exact:
            p = 1.0 if residual <= _ROUNDED * seen.floor else 0.0
    refuted = p < 1 - asked.level
    return Fit(residual, expected, p, refuted, _why(seen, residual, expected, p) if refuted else "")


def _why(seen: Evidence, residual: float, expected: float, p: float) -> str:
    if seen.family.name == "planner" and seen.rates is not None:
        h, r, error = (np.asarray(part) for part in (seen.rates.h, seen.rates.r, seen.rates.error))
        order = np.argsort(h)
        h, r, error = h[order], r[order], error[order]
        for i in range(len(h) - 1):
            if h[i + 1] < h[i] * (1 + 1e-9):
                continue
            gap = math.log(h[i + 1] / h[i])
            power = math.log(r[i + 1] / r[i]) / gap
            blur = 2 * math.hypot(error[i] / r[i], error[i + 1] / r[i + 1]) / gap
            side = "< 1/2" if power + blur < 0.5 else "> 1" if power - blur > 1 else ""
            if side:
                return f"exponent {power:.3g} {side} between h = {h[i]:.3g} and {h[i + 1]:.3g}, where G = I"
    if math.isnan(expected):
        return f"deviations of {residual:.2g} hang together in time (p = {p:.2g})"
    return f"it misses the record by {residual:.2g}, where noise would leave {expected:.2g} (p = {p:.2g})"


# -------------------------------------------------------------------------------------------------------- what is told


def _answer(seen: Evidence, fit: Fit, asked: Question) -> Inference:
    family, likelihood, scale, noise = seen.family, seen.likelihood, seen.scale, asked.noise
    best = seen.values(likelihood.x)
    quantities = {name: Quantity.around(family, name, scale, best[name]) for name in family.names}
    margin = np.where(likelihood.high - likelihood.low <= 1, 0.01, 0.0)  # an edge is no lack of rank
    inside = np.clip(likelihood.x, likelihood.low + margin, likelihood.high - margin)
    pinned, followed = inside != likelihood.x, inside
    if pinned.any():  # the others follow: what is not told is a way along which the fit stays as good
        there, _ = likelihood.fit(
            inside[None], lambda x: np.concatenate([likelihood.held(x), (x - inside)[..., pinned]], axis=-1)
        )
        followed = there if np.all(np.isfinite(there)) else inside
    free = [name for name in family.names if name not in asked.known]
    # Lost is what has no rank at the best fit, no ends, or no upper end and no rank on the way to the edge.
    lost = [name for name in free if likelihood.blind(inside, quantities[name])]
    estimates: dict[str, Estimate] = {}
    intervals = {name: likelihood.interval(quantities[name]) for name in free if name not in lost}
    for name, ends in intervals.items():
        if ends[1] >= 1 and (ends[0] <= 0 or likelihood.blind(followed, quantities[name])):
            lost.append(name)
        else:
            low, high = (float(quantities[name].value(end)) for end in ends)
            estimates[name] = Estimate(min(max(best[name], low), high), low, high, family.names[name])

    def between(name: str, shares: Sequence[float]) -> list[float]:
        """Return places of what is not excluded, at shares of its interval."""
        low, high = intervals.get(name) or likelihood.interval(quantities[name])
        return [low + (high - low) * share for share in shares]

    # Members of the family along γ: over its interval, which may be all of its range if it is lost.
    grid: Sequence[float] = between("gamma", [0.0, 0.25, 0.5, 2 / 3, 0.8, 1.0]) if "gamma" in lost else []
    if "gamma" in estimates:
        grid = between("gamma", np.linspace(0, 1, 7).tolist())
    likelihood.near = []
    points = [likelihood.x, *(likelihood.along(quantities["gamma"], place)[0] for place in grid)]
    fit, points, estimates = _by_cost(seen, fit, points, estimates)
    members = tuple(map(seen.values, points))
    # Two far members that give the same path show what cannot be told.
    unidentified: tuple[Ambiguity, ...] = ()
    if lost:
        finite = [values for values in members[1:] if math.isfinite(values.get("a", math.inf))] if family.plans else []
        pair = finite[: len(finite) // 2 + 1 : max(len(finite) // 2, 1)]
        if family.plans and "gamma" not in lost:
            walk = quantities[lost[0]]
            pair = [seen.values(likelihood.along(walk, place)[0]) for place in between(lost[0], [0.25, 0.75])]
        unidentified = (Ambiguity(tuple(lost), family.relation, tuple(map(family.objective, pair)), family.parted),)
    # The score, of noise that is known or estimated from what is left.
    count = likelihood.count if noise is not None or seen.series is None else likelihood.spare
    logl = (-likelihood.cost / (2 * likelihood.unit) if likelihood.noisy
            else -likelihood.count * (math.log(max(likelihood.cost, 1e-300)) / 2 + math.log(seen.unit)))  # fmt: skip
    parameters = likelihood.parameters
    score = {"logL": logl, "parameters": float(parameters), "bic": parameters * math.log(max(count, 2)) - 2 * logl,
             "p_value": fit.p_value}  # fmt: skip
    shown = None if seen.record is None else (*seen.record[:2], seen.fitted(likelihood.x))
    few = seen.series is not None and likelihood.count < 20 and noise != 0
    vague = (f"intervals from {likelihood.count} numbers: their coverage is only nominal",) if few else ()
    return Inference(
        family.name, estimates, unidentified, fit, score, members, seen.rates, shown, (*vague, *seen.warnings),
        law=family, loss=seen.loss,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ J itself


def _by_cost(
    seen: Evidence, fit: Fit, points: list[Array], estimates: dict[str, Estimate]
) -> tuple[Fit, list[Array], dict[str, Estimate]]:
    """Keep the members whose path is the cheapest; refute where there is none.

    An extremal passes every local test, also where another one costs less. Whether it does turns at one γ on each side
    of the estimate: that end of the interval is moved to there.
    """
    if seen.loss is None or not seen.family.motion or isinstance(seen.loss, Quadratic):
        return fit, points, estimates
    asked = [points[0], points[1], points[-1]] if "gamma" in estimates else points  # the best and both ends of γ
    excess = [_excess(seen, x) for x in asked]
    good = [gap <= error for gap, error in excess]
    told = replace(fit, excess=max(excess[0][0], 0.0))
    if not any(good):
        text = f"by {excess[0][0]:.4g} (numerical error {excess[0][1]:.2g})" if excess[0][0] < math.inf else "elsewhere"
        because = fit.because or f"J exceeds the optimum at these assumptions {text}"
        return replace(told, refuted=True, because=because), points, estimates
    if "gamma" not in estimates:
        return told, list(itertools.compress(points, good)), estimates
    if all(good):
        return told, points, estimates
    # Where some are optimal and others are not, find the γ at which that turns.
    likelihood = seen.likelihood
    at = Quantity.around(seen.family, "gamma", seen.scale, estimates["gamma"].value)
    beyond = {float(at(x)): gap - error for x, (gap, error) in zip(asked, excess, strict=True)}

    def over(place: float) -> float:
        if place not in beyond:
            gap, error = _excess(seen, likelihood.along(at, place)[0])
            beyond[place] = gap - error
        return min(beyond[place], 1e300)

    places = sorted(beyond)
    cheap = [i for i, place in enumerate(places) if beyond[place] <= 0]
    turns = [scipy.optimize.brentq(over, places[i], places[j], xtol=1e-4) if 0 <= j < len(places) else places[i]
             for i, j in ((cheap[0], cheap[0] - 1), (cheap[-1], cheap[-1] + 1))]  # fmt: skip
    best = points[0] if good[0] else likelihood.along(at, float(np.clip(at(points[0]), turns[0], turns[1])))[0]
    low, high = (float(at.value(turn)) for turn in turns)
    moved = seen.values(best)
    new = {name: replace(old, value=moved[name]) for name, old in estimates.items()}
    kept = [best, *(x for x in points[1:] if turns[0] <= at(x) <= turns[1])]
    return replace(fit, excess=0.0), kept, new | {"gamma": replace(new["gamma"], low=low, high=high)}


def _cheapest(seen: Evidence, x: Array) -> bool:
    excess, error = _excess(seen, x)
    return excess <= error


def _excess(seen: Evidence, x: Array) -> tuple[float, float]:
    """Return J of a fitted extremal beyond the best other from its start, and what of that is numerical error.

    An extremal that the search does not know is none that is cheapest.
    """
    values = seen.values(x)
    if not math.isfinite(values["a"]) or seen.loss is None or seen.record is None:
        return 0.0, 0.0  # gradient descent is the limit of optima
    (times, _, stakes), places = seen.record, seen.fitted(x)
    objective = replace(seen.family.objective(values), k=stakes)
    best, *others = solve(objective, seen.loss, places[0], throw=False).candidates
    later = times - times[0]

    def away(path: Trajectory) -> float:
        return float(np.max(np.abs(path(later) - places)))

    own = min([best, *others], key=away)
    if away(own) > 1e-3 * float(np.max(np.ptp(places, axis=0))):
        return math.inf, 0.0
    rival = next(iter(others), best) if own is best else best
    finite = math.isfinite(own.action) and math.isfinite(rival.action)
    cost, other = (path.action if finite else path.excess for path in (own, rival))
    gap = cost - other if finite or np.allclose(own.asymptote, rival.asymptote) else math.inf
    if own is best:
        return float(np.fmin(gap, 0.0)), 2 * own.error
    return gap, own.error + rival.error + 1e-9 * abs(other)
