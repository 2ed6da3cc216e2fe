r"""The rule that an optimizer follows, read off its steps and gradients (book: I23, I24).

There is no noise in a record of the gradients that it was given, so that a reading is exact or refuted, and ranges have
what rounding leaves open, to first order. The order: a step as a sum of the last step, this and the last gradient, and
the weights, with the fewest of them that do; the same with a schedule; then
:math:`\Delta=-lr\,\hat m/(\hat v^p+\epsilon)-\lambda\theta` with averages m of g and v of g²; the same with a schedule,
which is one of lr, and then one of λ, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.analysis.inference.records import Gram, Steps
from lossnav.analysis.inference.result import Estimate, Fit, Inference

_EXACT, _SINGLE = 1e-8, 1e-5  # relative deviation above which a reading is refuted; the second in single precision
_FOUND = 1e-10  # below it a search from another start would find the same
_RANK = 1e-9  # below it columns are dependent; in single precision 1e-5
_ENTRIES = 96  # of a step, on which averages are searched for
_MEMORY = 8  # deviations before a step in which what was drawn is looked for
_AVERAGES = ((0.0, 0.0), (0.0, 0.99), (0.0, 1.0), (0.9, 0.95), (0.9, 0.999), (0.5, 0.5))


def read(record: Steps | Gram, level: float) -> Inference:
    """Return the reading of a recorded optimizer; ``level`` is that of intervals, where there are any."""
    if isinstance(record, Gram):
        return _of_products(record)
    if not record.own:
        return _unseen(record, level)
    theta, g = np.asarray(record.weights), np.asarray(record.gradients)
    moved = np.diff(theta, axis=0)
    exact, rank = (_SINGLE, _SINGLE) if record.single else (_EXACT, _RANK)
    # A decay and a step round a place twice, by half a unit of its last digit, and the last step has its own rounding.
    digit = float(np.finfo(np.float32 if record.single else np.float64).eps)
    exact = max(exact, 2 * digit * float(np.linalg.norm(theta[:-1]) / np.linalg.norm(moved)))
    least = math.inf
    decayed = [functools.partial(reader, decayed=True) for reader in (_scheduled, _averaged)]
    readers: list[Callable[..., Reading | None]] = [_linear, _scheduled, _averaged, *decayed]
    for reader in readers:
        reading = reader(theta, g, moved, exact, rank)
        if reading is not None:
            rule, numbers, residual = reading
            if residual <= exact:
                return replace(_said(rule, numbers, residual, exact), warnings=_tied(theta, g, rank))
            least = min(least, residual)
    return _said("none of the listed", {}, least, exact, _constant(moved, record.shapes))


def _tied(theta: Array, g: Array, rank: float) -> tuple[str, ...]:
    """Return a warning where all gradients are one multiple of the weights."""
    columns = np.stack([g.ravel(), theta[:-1].ravel()])
    size = np.linalg.norm(columns, axis=1, keepdims=True)
    if np.any(size == 0) or np.linalg.svd(columns / size, compute_uv=False)[-1] > rank:
        return ()
    return ("gradients are one multiple of the weights, so that lr and a weight decay are not told apart",)


Reading = tuple[str, Mapping[str, tuple[float, float, float]], float]  # words, value and range of each number, residual


def _said(rule: str, numbers: Mapping[str, tuple[float, float, float]], residual: float, exact: float,
          because: str = "") -> Inference:  # fmt: skip
    refuted = residual > exact
    return _answer(rule, {} if refuted else numbers, Fit(residual, exact, 0.0 if refuted else 1.0, refuted, because))


def _answer(rule: str, numbers: Mapping[str, tuple[float, float, float]], fit: Fit) -> Inference:
    estimates = {name: Estimate(*three, "") for name, three in numbers.items()}
    score = {"logL": math.nan, "parameters": float(len(numbers)), "bic": math.nan, "p_value": fit.p_value}
    return Inference("rule", estimates, (), fit, score, rule=rule)


def _near(value: float, width: float, low: float = -math.inf, high: float = math.inf) -> tuple[float, float, float]:
    """Return a number with its range, within what it may be."""
    return value, max(value - width, low), min(value + width, high)


def _widths(columns: Array, ways: Array) -> Array:
    """Return how far combinations of coefficients, (K, M), go in all where columns, (N, M), leave 1 more in all."""
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    _, values, turned = np.linalg.svd(columns / size, full_matrices=False)
    return np.linalg.norm(ways / size @ turned.T / np.maximum(values, 1e-300), axis=1)


def _solve(columns: list[Array], goal: Array, rank: float) -> tuple[Array, float] | None:
    """Return the coefficients of columns and the relative residual; None if the columns are dependent."""
    matrix = np.stack([column.ravel() for column in columns], axis=1)
    size = np.linalg.norm(matrix, axis=0)
    if np.any(size == 0) or len(matrix) <= len(size):
        return None
    coefficients, _, _, values = np.linalg.lstsq(matrix / size, goal.ravel(), rcond=None)
    if values[-1] <= rank:
        return None
    residual = float(np.linalg.norm(goal.ravel() - matrix / size @ coefficients))
    return coefficients / size, residual / max(float(np.linalg.norm(goal)), 1e-300)


def _linear(theta: Array, g: Array, moved: Array, exact: float, rank: float) -> Reading | None:
    """Read a step as a sum with constant coefficients of the fewest terms that do."""
    terms = {"g": g[1:], "last": moved[:-1], "weights": theta[1:-1], "g_last": g[:-1]}
    best: Reading | None = None
    for names in (("g",), ("g", "weights"), ("g", "last"), ("g", "last", "weights"), ("g", "last", "g_last"),
                  ("g", "last", "g_last", "weights")):  # fmt: skip
        columns = [terms[name] for name in names]
        solved = _solve(columns, moved[1:], rank)
        if solved is None:
            continue
        flat = np.stack([column.ravel() for column in columns], axis=1)
        off = exact * np.linalg.norm(moved[1:]) * _widths(flat, np.eye(len(names)))
        by, widths = (dict(zip(names, part.tolist(), strict=True)) for part in (solved[0], off))
        if _idle(by["g"] * g[1:], moved, exact):
            continue
        best = _named(by, widths, solved[1])
        if solved[1] <= exact:
            return best
    return best


def _idle(pull: Array, moved: Array, exact: float) -> bool:
    """Say whether gradients add nothing but rounding: steps that repeat each other follow none."""
    return bool(np.linalg.norm(pull) <= exact * np.linalg.norm(moved))


def _named(by: Mapping[str, float], off: Mapping[str, float], residual: float) -> Reading:
    """Name the rule of coefficients, of which each may be off by what rounding leaves open."""
    beta, step, rule = by.get("last", 0.0), -by["g"], "gradient descent"
    numbers, width = {}, off["g"]
    if "last" in by:
        rule, numbers["beta"] = "heavy ball", _near(beta, off["last"])
    if "g_last" in by:  # Nesterov's step: −lr(1 + β)g + lrβg′ + β(1 − lr·decay)Δ′ − lr·decay·θ
        share, ahead, width_ahead = by["g_last"], step - by["g_last"], width + off["g_last"]
        rule = "momentum with a share of the last gradient"
        numbers["on the last gradient"] = _near(share, off["g_last"])
        unlike = abs(share * (1 + by.get("weights", 0.0)) - beta * ahead)
        if unlike <= off["g_last"] + off["last"] * abs(ahead) + abs(beta) * width_ahead:
            rule, step, width = "Nesterov momentum", ahead, width_ahead
            numbers = {"beta": _near(share / ahead, (off["g_last"] + abs(share / ahead) * width_ahead) / abs(ahead))}
    if "weights" in by:
        rule, numbers["lr·decay"] = rule + ", weight decay", _near(-by["weights"], off["weights"])
    return rule, {"lr": _near(step, width), **numbers}, residual


def _scheduled(
    theta: Array, g: Array, moved: Array, exact: float, rank: float, *, decayed: bool = False
) -> Reading | None:
    """Read each step by itself as a multiple of the gradient, of the last step, and, if ``decayed``, of the weights."""
    for names in (("g", "weights"), ("g", "last", "weights")) if decayed else (("g",), ("g", "last")):
        coefficients, squared_error = [], 0.0
        for t in range(1, len(g)):
            terms = {"g": g[t], "last": moved[t - 1], "weights": theta[t]}
            solved = _solve([terms[name] for name in names], moved[t], rank)
            if solved is not None:
                coefficients.append(solved[0])
                squared_error += (solved[1] * float(np.linalg.norm(moved[t]))) ** 2
        if len(coefficients) < len(g) / 2 or g.shape[1] < 2 * len(names):
            continue
        residual = math.sqrt(squared_error) / float(np.linalg.norm(moved[1:]))
        if residual <= exact:
            rates = -np.array(coefficients)[:, 0]
            if len(rates) == len(g) - 1 and _idle(rates[:, None] * g[1:], moved, exact):
                continue
            lengths = np.linalg.norm(moved, axis=1)
            steady = float(np.mean(np.abs(lengths / np.median(lengths) - 1) < 1e-5))
            rule = f"{'heavy ball' if 'last' in names else 'gradient descent'} with a schedule"
            if steady > 0.2:
                rule += f"; {100 * steady:.0f} % of steps have one length, as if clipped"
            decays = {"lr·decay": _over(-np.array(coefficients)[:, -1])} if decayed else {}
            return rule, {"lr": _over(rates), **decays}, residual
    return None


def _over(values: Array) -> tuple[float, float, float]:
    """Return what a number that changes is in the middle, and its range."""
    return float(np.median(values)), float(values.min()), float(values.max())


def _averaged(
    theta: Array, g: Array, moved: Array, exact: float, rank: float, *, decayed: bool = False
) -> Reading | None:
    """Read a step as an average of gradients over a power of an average of their squares."""
    if not np.any(g):
        return None
    some = np.linspace(0, g.shape[1] - 1, min(g.shape[1], _ENTRIES)).astype(int)
    least, unit = math.inf, 2.0 ** round(math.log2(np.sqrt(np.mean(g**2))))  # whose powers take no digit away
    g = g / unit
    # A single entry has any step at some rate, and few have it with a decay.
    shared, scheduled = [False] * (not decayed), [True] * (g.shape[1] > (3 if decayed else 1))
    for each in shared + scheduled:
        takes = decayed or not each
        # On some entries from several starts, with and without bias corrections; the best goes on on all of them.
        searches: list[tuple[float, Array, bool]] = []
        for start in _AVERAGES:
            begin = np.array([*np.clip(start, 1e-6, 1 - 1e-6), 0.5, math.log(1e-8)])
            searches += [(*_fit(theta[:, some], g[:, some], moved[:, some], begin, corrected, each, takes), corrected)
                         for corrected in (True, False)]  # fmt: skip
            if min(searches, key=lambda search: search[0])[0] <= _FOUND:
                break
        # Where each step has a rate it takes the corrections up, all but ε: then they are what is usual, with a mean.
        _, x, corrected = min(searches, key=lambda s: (max(s[0], exact), s[2] == (s[1][0] < 1e-3), s[0]))
        residual, x = _fit(theta, g, moved, x, corrected, each, takes)
        forgetful = np.append(x[:2] < 1e-3, [False, False])
        if forgetful.any():  # a bound is reached slowly
            residual, x = _fit(theta, g, moved, np.where(forgetful, 0.0, x), corrected, each, takes)
        if not corrected and 1 - x[1] < 1e-3:  # a sum, if that leaves no more than a number fewer does at two errors
            summed = _fit(theta, g, moved, np.array([x[0], 1.0, *x[2:]]), corrected, each, takes)
            residual, x = summed if summed[0] <= residual * (1 + 2 / moved.size) else (residual, x)
        _, slopes, rates, decays = _project(theta, g, moved, x, corrected, each, takes)
        least = min(least, residual)
        if residual <= exact:
            break
    else:
        return "", {}, least
    if not each:  # one rate and a decay are free beside what was searched for
        direction, turns = _direction(g, x, corrected)
        parts = [*(rates[0] * part for part in (*turns, direction)), theta[:-1]]
        slopes = np.stack([part.ravel() for part in parts], axis=1) / np.linalg.norm(moved)
    b1, b2, power, floor = (*(float(value) for value in x[:3]), math.exp(x[3]))
    floor, rates = floor * unit ** (2 * power), rates * unit ** (2 * power - 1)
    ways = np.eye(6)  # of what a rule is given, by β₁, β₂, p, ln ε, the logarithm of the rate, and the decay
    ways[3:5, 2] = 2 * math.log(unit)
    if not corrected:  # sums were taken; averages are what a rule is given, except where nothing is forgotten
        rates, ways[4, 0] = rates / max(1 - b1, 1e-300), 1 / max(1 - b1, 1e-300)
        if b2 < 1 - 1e-7:
            floor, rates = floor * (1 - b2) ** power, rates * (1 - b2) ** power
            ways[3:5, 1:3] += -power / (1 - b2), math.log(1 - b2)
    off = exact * _widths(slopes, ways[:, : slopes.shape[1]])
    b1, b2 = (0.0 if value < 1e-6 else value for value in (b1, b2))
    lr = _over(rates)
    if not each:
        lr = _near(lr[0], off[4] * abs(lr[0]))
    numbers = {"lr": lr, "beta1": _near(b1, off[0], 0.0, 1.0), "beta2": _near(b2, off[1], 0.0, 1.0),
               "p": _near(power, off[2], 0.0), "eps": _near(floor, off[3] * floor, 0.0)}  # fmt: skip
    if decayed:
        numbers["lr·decay"] = _over(decays)
    elif abs(decays[0]) > off[5]:
        numbers["lr·decay"] = _near(float(decays[0]), off[5])
    return _name(b1, b2, corrected) + (", with a schedule" if each else ""), numbers, residual


_BOX = ([0.0, 0.0, 0.0, math.log(1e-14)], [1.0, 1.0, 1.0, math.log(10.0)])


def _name(b1: float, b2: float, corrected: bool) -> str:
    if b1 < 1e-5 and b2 < 1e-5:
        return "sign descent: all entries of a step are equal in size"
    if b2 > 1 - 1e-7:
        return "Adagrad: a sum of squares" if b1 < 1e-5 else "momentum over a sum of squares"
    if b1 < 1e-5:
        return "RMSprop" + (", corrected" if corrected else "")
    return "Adam" + ("" if corrected else ", not corrected")


def _fit(
    theta: Array, g: Array, moved: Array, x: Array, corrected: bool, each: bool, takes: bool
) -> tuple[float, Array]:
    """Return the least deviation near x, and the averages' two factors, p and ln ε there; factors 0 and 1 are kept."""
    free = np.append((x[:2] != 0.0) & (x[:2] != 1.0), [True, True])
    low, high = (np.array(end)[free] for end in _BOX)

    def whole(y: Array) -> Array:
        full = x.copy()
        full[free] = y
        return full

    @functools.lru_cache(maxsize=2)
    def at(y: bytes) -> tuple[Array, Array]:
        deviations, slopes, _, _ = _project(theta, g, moved, whole(np.frombuffer(y)), corrected, each, takes)
        return deviations, slopes[:, free]

    solution = scipy.optimize.least_squares(
        lambda y: at(y.tobytes())[0], x[free], lambda y: at(y.tobytes())[1], bounds=(low, high),
        x_scale=np.array([0.1, 0.1, 0.1, 1.0])[free], xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=500,
    )  # fmt: skip
    return math.sqrt(2 * solution.cost), whole(solution.x)


def _direction(g: Array, x: Array, corrected: bool) -> tuple[Array, list[Array]]:
    """Return the direction of each step, (N, D), and its derivatives by both factors, p and ln ε."""
    (top, by_first), (square, by_second) = (
        _averages(part, float(beta), corrected) for part, beta in ((g, x[0]), (g * g, x[1]))
    )
    power, floor = float(x[2]), math.exp(x[3])
    square = np.maximum(square, 1e-300)
    root = square**power
    direction = top / (root + floor)
    by_root = -direction / (root + floor)
    by_power = by_root * root * np.log(square)
    by_square = by_root * power * root / square
    return direction, [by_first / (root + floor), by_square * by_second, by_power, by_root * floor]


def _averages(g: Array, beta: float, corrected: bool) -> tuple[Array, Array]:
    """Return Σβ^s g_{t−s}, shape (N, D), or over the same of 1; and its derivative by beta: that of the sums before."""
    sums = [scipy.signal.lfilter([1.0], [1.0, -beta], part, axis=0) for part in (g, np.ones((len(g), 1)))]
    (total, count), by = sums, [scipy.signal.lfilter([0.0, 1.0], [1.0, -beta], part, axis=0) for part in sums]
    if not corrected:
        return total, by[0]
    return total / count, (by[0] - total / count * by[1]) / count


def _project(theta: Array, g: Array, moved: Array, x: Array, corrected: bool, each: bool, takes: bool
             ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return relative deviations, (N·D,), their derivatives, (N·D, 4), each rate and what is taken of weights, (N,).

    Rates, of which there is one or one for ``each`` step, and the decay, if any ``takes`` of the weights, are those of
    the least deviation r = Δ + rate·u + decay·θ. It stays perpendicular to u and θ: where u turns by u′, both amounts
    move by what makes (u′r, 0) + (u, θ)·(rate·u′ + rate′·u + decay′·θ) vanish.
    """
    direction, turns = _direction(g, x, corrected)

    def together(part: Array) -> Array:  # what shares its rate and its decay
        return part.reshape(len(moved) if each else 1, -1, 1)

    columns = np.concatenate([together(part) for part in (direction, theta[:-1])[: 1 + takes]], axis=2)
    size = np.maximum(np.linalg.norm(columns, axis=1, keepdims=True), 1e-300)
    columns = columns / size
    inverse, goal = np.linalg.pinv(columns, rcond=1e-14 * columns.shape[1]), together(moved)
    amounts = -inverse @ goal
    deviations, length = goal + columns @ amounts, np.linalg.norm(moved)
    amounts = amounts / size.transpose(0, 2, 1)
    derivatives = []
    for turned in map(together, turns):
        derivative = amounts[:, :1] * turned
        pull = np.sum(turned * deviations, axis=1, keepdims=True) / size[:, :, :1]
        derivative = derivative - columns @ (inverse @ derivative) - pull * inverse[:, :1].transpose(0, 2, 1)
        derivatives.append((derivative / length).ravel())
    rates, decays = (np.broadcast_to(amounts[:, at, 0] if at <= takes else 0.0, len(moved)) for at in (0, 1))
    return (deviations / length).ravel(), np.stack(derivatives, axis=1), rates, decays


def _constant(moved: Array, shapes: object) -> str:
    """Say what is the same in all steps of a rule that is none of those listed."""
    facts, sizes, lengths = [], np.abs(moved), np.linalg.norm(moved, axis=1)
    middle = np.maximum(np.median(sizes, axis=1, keepdims=True), 1e-300)
    if moved.shape[1] > 1 and np.mean(np.abs(sizes / middle - 1) < 1e-4) > 0.95:
        facts.append("all entries of a step are equal in size")
    if np.mean(np.abs(lengths / max(float(np.median(lengths)), 1e-300) - 1) < 1e-4) > 0.95:
        facts.append("all steps have one length")
    at = 0
    for shape in shapes or ():  # type: ignore[attr-defined]
        count = math.prod(shape)
        if len(shape) == 2 and min(shape) > 1:
            values = np.linalg.svd(moved[:, at : at + count].reshape(-1, *shape), compute_uv=False)
            low, high = np.quantile(values / np.maximum(np.median(values, axis=1, keepdims=True), 1e-300), [0.1, 0.9])
            if high < 2 * low:
                facts.append(f"singular values of a {shape[0]}×{shape[1]} step lie within {low:.2f}–{high:.2f} of "
                             "their median")  # fmt: skip
        at += count
    return "no rule of the listed makes these steps" + (f"; {', and '.join(facts)}" if facts else "")


def _unseen(record: Steps, level: float) -> Inference:
    """Read a heavy ball whose own gradients were not kept (book: I24).

    The noise of a batch that is drawn by itself has mean 0 whatever came before: the last step, and the gradient of all
    examples. So a regression on both is consistent, and one on a noisy gradient with another for its instrument, too.
    What may tell nothing more then are the weights, the gradient before, and the noise of the last steps.
    """
    moved, g = np.diff(record.weights, axis=0), np.asarray(record.gradients)
    z = g if record.instruments is None else np.asarray(record.instruments)
    columns, partners = ([moved[:-1], part[1:]] for part in (g, z))
    coefficients, covariance, deviations = _regressed(columns, partners, moved[1:])
    past = np.cumsum(np.vstack([np.zeros((_MEMORY + 1, g.shape[1])), deviations]), axis=0)
    recent, weights = past[_MEMORY:-1] - past[: -_MEMORY - 1], np.asarray(record.weights)[1:-1]
    more, spread, _ = _regressed([*columns, weights, g[:-1], recent], [*partners, weights, z[:-1], recent], deviations)
    free = len(deviations) - len(more)
    if free < len(more):
        raise ValueError(f"gradients has {len(g)} steps, but without the rule's own it must have at least 11")
    (beta, rate), errors = coefficients, np.sqrt(np.diag(covariance)) * scipy.stats.t.ppf((1 + level) / 2, free)
    wald = more[2:] @ np.linalg.pinv(spread[2:, 2:], rcond=_RANK, hermitian=True) @ more[2:]
    residual = float(np.linalg.norm(deviations) / np.linalg.norm(moved[1:]))
    rounding = residual <= (_SINGLE if record.single else _EXACT)
    p = 1.0 if rounding else float(scipy.stats.f.sf(wald / 3, 3, free))
    numbers = {"lr": (-rate, -rate - errors[1], -rate + errors[1]), "beta": (beta, beta - errors[0], beta + errors[0])}
    refuted = p < 1 - level
    reason = "what came before tells more of a step than a heavy ball and batches drawn by themselves leave"
    fit = Fit(residual, math.nan, p, refuted, f"{reason} (p = {p:.2g})" if refuted else "")
    rule = "gradient descent" if numbers["beta"][1] <= 0 <= numbers["beta"][2] else "heavy ball"
    return _answer(rule, numbers, fit)


def _regressed(columns: list[Array], partners: list[Array], goal: Array) -> tuple[Array, Array, Array]:
    """Return the coefficients of columns, each of shape (N, D), by way of instruments; their covariance; what is left.

    Entries of one step share its batch: steps are the clusters that errors are counted by. Each counts with what the
    others would leave of it, for one that the fit follows closely, as the first steps of a descent, hides its noise.
    """
    x, z = np.stack(columns, axis=2), np.stack(partners, axis=2)
    x_sizes, z_sizes = (np.maximum(np.linalg.norm(part, axis=(0, 1)), 1e-300) for part in (x, z))
    x, z = x / x_sizes, z / z_sizes
    products = np.einsum("ndi,ndj->nij", z, x)
    inverse = np.linalg.pinv(products.sum(axis=0), rcond=_RANK)
    coefficients = inverse @ np.einsum("ndi,nd->i", z, goal)
    residuals = goal - x @ coefficients
    apart = np.linalg.pinv(np.eye(len(inverse)) - products @ inverse)
    scores = (apart @ np.einsum("ndi,nd->ni", z, residuals)[..., None])[..., 0]
    covariance = inverse @ (scores.T @ scores) @ inverse.T
    return coefficients / x_sizes, covariance / np.outer(x_sizes, x_sizes), residuals


def _of_products(seen: Gram) -> Inference:
    """Read SGD or a heavy ball from inner products: they say |Δ − βΔ′ + lr g|² for every β and lr (book: I23)."""
    now = slice(1, None)
    before, own, grad = seen.steps[:-1], seen.steps[now], seen.gradients[now]
    rows = (own, before, grad, seen.step_last[now], -seen.with_step[now], -seen.with_last[now])
    good = np.isfinite(np.sum(rows, axis=0))
    if good.sum() < 3:
        raise ValueError("path has fewer than three steps in a row, from which nothing can be read")
    dd, pp, gg, dp, dg, pg = (float(np.sum(row[good])) for row in rows)
    length = np.sqrt(own[good])
    if np.ptp(length) <= (_SINGLE if seen.single else _RANK) * length.mean():
        return _said("constant length", {}, 1.0, _EXACT, "all steps have one length, as of a sign or a normalised step")
    exact = 1e-6 if seen.single else 1e-10  # of squared deviations: the sums cancel, and leave their rounding
    # The normal equations of Δ = βΔ′ − lr g: gradient descent, if that alone leaves nothing but rounding.
    scale = np.sqrt([pp, gg])
    matrix = np.array([[pp, pg], [pg, gg]]) / np.outer(scale, scale)
    goal = np.array([dp, dg]) / scale
    alone = dd - dg * dg / gg  # −lr g by itself
    rule, numbers, left = "gradient descent", {"lr": _near(dg / gg, 0.0)}, alone
    if alone > exact * dd:
        beta, rate = (np.linalg.lstsq(matrix, goal, rcond=1e-12)[0] / scale).tolist()
        left = dd - 2 * (beta * dp + rate * dg) + beta * beta * pp + 2 * beta * rate * pg + rate * rate * gg
        rule, numbers = "heavy ball", {"lr": _near(rate, 0.0), "beta": _near(beta, 0.0)}
    residual = max(left, 0.0) / dd
    reason = "inner products do not belong to a heavy ball: keep entries (watch's keep) to read another rule"
    return _said(rule, numbers, residual, exact, reason if residual > exact else "")
