"""What can be measured of an optimizer without supposing a law: what its steps keep, reach, forget and depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ortho_group

from lossnav.optim.fingerprint.laws import Law, average, residual
from lossnav.optim.fingerprint.play import Player

Array = NDArray[np.float64]

SHAPE = (6, 8)
ALIKE = 0.05  # iterations in bfloat16 are this rough
EXACT = 1e-6
_FLIPS = 1500  # steps after which every memory in use is full


def gradients(seed: int, steps: int, shape: tuple[int, int] = SHAPE) -> Array:
    """Return made-up gradients (T, m, n), whose sizes differ between coordinates and from step to step."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(size=(steps, *shape)) + rng.normal(size=(steps, 1, 1)))
    return np.asarray(rng.normal(size=(steps, *shape)) * sizes)


def weights(seed: int, shape: tuple[int, int] = SHAPE) -> Array:
    """Return made-up weights."""
    return np.random.default_rng(seed).normal(size=shape)


def apart(left: Array, right: Array) -> float:
    """Return |left − right| over the larger of both, 0 to 2."""
    size = max(float(np.linalg.norm(left)), float(np.linalg.norm(right)))
    return float(np.linalg.norm(left - right)) / size if size else 0.0


def noise(player: Player) -> float:
    """Return how far another seed moves steps, 0 to 2: what is measured on gradients of size one is told no finer."""
    start, g = weights(0), gradients(0, 12)
    return apart(*(player.play([start], [g], seed)[0] for seed in (0, 1)))


def beside_a_factor(steps: Array, again: Array) -> float:
    """Return which part of late steps, as a share, is not along those that another seed makes: no law is seen below."""
    moving = steps.any((1, 2)) & again.any((1, 2))
    return residual(Law(("g",)), {}, again[moving], steps[moving])


def decay(player: Player, drawn: float = 0.0) -> str:
    """Find how weights fade on gradients that are zero, and tell the player; beside what is ``drawn`` large ones do.

    An L2 term is one that a gradient −λθ cancels, whatever the rule makes of gradients; a decay beside the step takes
    one share of all weights.
    """
    start, zeros = weights(1) * (1e3 if drawn > EXACT else 1.0), np.zeros((40, *SHAPE))
    (steps,), (drawn_again,) = (player.play([start], [zeros], seed) for seed in (0, 1))
    if not steps.any():
        return "none"
    rough = max(1e-3, beside_a_factor(steps, drawn_again))
    if rough > ALIKE:
        return "not seen"
    for sign in (1.0, -1.0):  # a rule that goes uphill turns what it is given, and not its own L2 term
        low, high = 1e-9, 1e3
        for _ in range(80):
            middle = float(np.sqrt(low * high))
            (first,) = player.play([start], [zeros[:1]], pull=sign * middle)
            low, high = (middle, high) if float(np.sum(first * start)) < 0 else (low, middle)
        (cancelled,) = player.play([start], [zeros], pull=sign * high)
        if np.linalg.norm(cancelled) < rough * np.linalg.norm(steps):
            player.coupled = sign * high
            return "coupled"
    places = start + np.concatenate([zeros[:1], np.cumsum(steps, axis=0)[:-1]])
    shares = -(steps * places).sum((1, 2)) / (places**2).sum((1, 2))
    if apart(steps, -shares[:, None, None] * places) < rough:
        player.decoupled = shares
        return "decoupled"
    return "of another kind"


def degree(player: Player, of: str) -> float:
    """Return the power of a factor on all gradients, or on the weights, that the steps have; NaN if they have none."""
    start, g = weights(2), gradients(2, 12)
    base, powers = player.pure(start, g)[6:], []  # some rules are others in their first steps
    for factor in (1 / 16, 16.0) if of == "gradient" else (1 / 16, 1 / 4):  # large weights are clipped by some
        scaled = (player.pure(start, g * factor) if of == "gradient" else player.pure(start * factor, g))[6:]
        size = float(np.linalg.norm(scaled)) / max(float(np.linalg.norm(base)), 1e-300)
        power = float(np.log(max(size, 1e-300)) / np.log(factor))
        if apart(scaled, base * factor**power) > ALIKE:
            return math.nan
        powers.append(power)
    return float(np.mean(powers)) if abs(powers[0] - powers[1]) < ALIKE else math.nan  # one object: it equals itself


def symmetries(player: Player, drawn: float) -> dict[str, float]:
    """Return how far steps are from turning with gradients and weights, for each change of both, 0 to 2.

    NaN where a change is as small as what is ``drawn``, and not small.
    """
    start, g = weights(3), gradients(3, 12)
    base, (m, n) = player.pure(start, g), SHAPE
    left, right = ortho_group.rvs(m, random_state=1), ortho_group.rvs(n, random_state=2)
    every, order = ortho_group.rvs(m * n, random_state=3), np.random.default_rng(4).permutation(m * n)

    def in_a_row(x: Array, change: Callable[[Array], Array]) -> Array:
        return change(x.reshape(*x.shape[:-2], -1)).reshape(x.shape)

    changes: dict[str, Callable[[Array], Array]] = {
        "sign": lambda x: -x, "order": lambda x: in_a_row(x, lambda row: row[..., order]), "left": lambda x: left @ x,
        "right": lambda x: x @ right, "turn": lambda x: in_a_row(x, lambda row: row @ every.T),
    }  # fmt: skip
    defects = {name: apart(player.pure(change(start), change(g)), change(base)) for name, change in changes.items()}
    return {name: math.nan if ALIKE < defect <= 2 * drawn else defect for name, defect in defects.items()}


def reach(player: Player) -> str:
    """Return how far away a gradient may change while the step of the first weight stays as it is."""
    starts, g = [weights(4), weights(5, (3, 4))], [gradients(5, 8), gradients(6, 8, shape=(3, 4))]
    other_gradients = [gradients(7, 8), gradients(8, 8, shape=(3, 4))]

    def first(*changed: Array) -> Array:
        return player.play(starts, changed, pull=player.coupled)[0][:, 0, 0]

    base = first(*g)

    def touched(rows: slice, columns: slice) -> bool:
        mixed = g[0].copy()
        mixed[:, rows, columns] = other_gradients[0][:, rows, columns]
        return apart(first(mixed, g[1]), base) > 1e-9

    if apart(first(g[0], other_gradients[1]), base) > 1e-9:
        return "model"
    if touched(slice(1, None), slice(1, None)):
        return "tensor"
    row, column = touched(slice(0, 1), slice(1, None)), touched(slice(1, None), slice(0, 1))
    return "row and column" if row and column else "row" if row else "column" if column else "coordinate"


def counts(player: Player, drawn: float) -> bool:
    """Return whether idle steps at the beginning change what comes after them: a count, a clock, a correction."""
    start, g = weights(6), gradients(9, 12)
    idle = player.pure(start, np.concatenate([np.zeros((40, *SHAPE)), g]))
    return apart(idle[40:], player.pure(start, g)) > max(EXACT, 2 * drawn)


def flatness(steps: Array) -> float:
    """Return the spread of the singular values of late steps over their mean, the median over those that move."""
    moving = steps[steps.any((1, 2))]
    values = np.linalg.svd(moving[len(moving) // 2 :], compute_uv=False)
    return float(np.median((values[:, 0] - values[:, -1]) / values.mean(1)))


def equal_sizes(steps: Array, drawn: float) -> bool:
    """Return whether all entries of a late step are equally large, but for what is ``drawn``."""
    sizes = np.abs(steps[len(steps) // 2 :]).reshape(len(steps) - len(steps) // 2, -1)
    alike = max(1e-3, min(10 * drawn, 0.5))
    return bool(np.all(np.ptp(sizes, axis=1) < alike * sizes.max()) and sizes.max() > 0)


def growth(player: Player) -> tuple[float, float] | None:
    """Return the factors of a step's size while a sign stays and after it has turned, if these are all that counts."""
    start, g = weights(7), gradients(10, 12)
    base = player.pure(start, g)
    others = player.pure(start, np.sign(g) * np.abs(g) ** 0.5), player.pure(weights(12), g)
    if max(apart(other, base) for other in others) > EXACT:
        return None
    same = np.ones((8, *SHAPE))
    held = np.abs(player.pure(start, same)[:, 0, 0])
    if np.ptp(held[2:5] / held[1:4]) > EXACT:  # signs are added up, or the rate changes: it is no factor
        return None
    turned = np.abs(player.pure(start, np.concatenate([same[:5], -same[:3]]))[:, 0, 0])
    after = turned[5] or turned[6]  # the step of the turn itself may be left out
    return float(held[4] / held[3]), float(after / turned[4])


def signed_filter(player: Player, plays: tuple[tuple[Array, Array], ...]) -> tuple[float, float, float]:
    """Return β₁, β₂ and the share of wrong signs of sign(β₁m + (1 − β₁)g), m an average by β₂.

    Each coordinate tries another size of gradient that is to turn the sign of a full memory: three rounds of bisection.
    """
    start, full, size = weights(8), np.ones((_FLIPS, *SHAPE)), 1e3

    def turning(history: Array) -> float:
        low, high = 1e-6, 1e9
        for _ in range(3):
            tried = np.geomspace(low, high, SHAPE[0] * SHAPE[1])
            last = player.pure(start, np.concatenate([history, -np.sign(history[-1:]) * tried.reshape(1, *SHAPE)]))
            turned = np.flatnonzero((last[-1] * np.sign(history[-1])).ravel() > 0)
            at = int(turned[0]) if len(turned) else len(tried) - 1
            low, high = float(tried[max(at - 1, 0)]), float(tried[at])
        return float(np.sqrt(low * high))

    edge = turning(full)
    beta1 = edge / (1 + edge) if edge > 1e-5 else 0.0
    beta2 = 0.0
    if beta1:
        mean = turning(np.concatenate([full, -size * full[:1]])) / edge
        beta2 = (size - mean) / (1 + size)
    wrong = []
    for g, s in plays:
        past = np.concatenate([np.zeros_like(g[:1]), average(g, beta2)[:-1]])
        predicted = np.sign(beta1 * past + (1 - beta1) * g)
        wrong.append(float(np.mean(predicted != -np.sign(s))))
    return beta1, beta2, max(wrong)


def orthogonal_filter(plays: tuple[tuple[Array, Array], ...]) -> tuple[float, float, float]:
    """Return β, the share of the newest gradient and the misfit of U·f(Σ)·Vᵀ, where βm + … = UΣVᵀ.

    Steps have the filter's singular vectors exactly if both products with it are symmetric. Of no memory, a memory, and
    a memory with a share of the newest gradient the first counts that is off at most twice as far as the best.
    """
    from scipy.optimize import minimize

    def misfit(beta: float = 0.0, share: float = 0.0) -> float:
        total = 0.0
        for g, s in plays:
            filtered = ((1 - share) * average(g, beta) + share * g)[len(g) // 3 :]
            turned, step = np.swapaxes(filtered, 1, 2), s[len(s) // 3 :]
            for product in (step @ turned, turned @ step):
                total += apart(product, np.swapaxes(product, 1, 2)) / (2 * len(plays))
        return total

    def fitted(starts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        def inside(x: Array) -> tuple[float, ...]:
            return tuple(np.clip(x, 0, (0.9999, 1)[: len(x)]).tolist())

        options = {"xatol": 1e-5, "fatol": 1e-7}
        start = min(starts, key=lambda x: misfit(*x))
        return inside(minimize(lambda x: misfit(*inside(x)), start, method="Nelder-Mead", options=options).x)

    memories = [(beta,) for beta in (0.2, 0.5, 0.8, 0.9, 0.95, 0.99)]
    numbers = [(), fitted(memories), fitted([(*memory, share) for memory in memories for share in (0.05, 0.3, 0.6)])]
    misfits = [misfit(*each) for each in numbers]
    simplest = next(at for at, each in enumerate(misfits) if each <= 2 * min(misfits))
    beta, share = (*numbers[simplest], 0.0, 0.0)[:2]
    return beta, share, misfits[simplest]
