"""``fingerprint``: any torch optimizer read from its steps alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import torch

from lossnav import _checks
from lossnav._shown import Shown
from lossnav.optim.fingerprint import measures
from lossnav.optim.fingerprint.laws import Array, Fit, residual, search
from lossnav.optim.fingerprint.measures import ALIKE
from lossnav.optim.fingerprint.play import Player, Refused

_STEPS = 40
_LARGE = 1e3  # size of the gradients that laws are fitted to: beside it an ε in a denominator is nothing
_ENOUGH, _EXACT = 1e-3, 1e-6  # a law that holds as far as a state in bfloat16 lets it, and one in float64
_FLAT = 0.8
_PULSE = 20

_NAMES = {
    "the gradient": "gradient descent",
    "a filter": "heavy ball",
    "a filter, the gradient and the first one": "heavy ball whose first gradient counts in full",
    "a filter over a power of an average of g²": "Adam",
    "a filter and the gradient over a power of an average of g²": "Adam with a share of the newest gradient",
    "the gradient over a power of an average of g²": "RMSprop",
    "a filter of quotients over a power of an average of g²": "RMSprop with a filter behind it",
    "the gradient over a power of the variance of g": "RMSprop by the variance",
    "the gradient over a power of the sum of g²": "Adagrad",
    "a filter over a power of the sum of g²": "Adagrad of a filter",
    "a filter over a power of a maximum of |g|": "Adamax",
    "a filter over a power of the largest average of g²": "AMSGrad",
    "a filter over a power of an average of (g − m)²": "AdaBelief",
    "a filter over a power of a signed average of g²": "Yogi",
    "a filter of quotients over a power of an average of past g²": "ADOPT",
    "the gradient over a power of rows ⊗ columns of an average of g²": "Adafactor",
    "the gradient over a power of rows ⊗ columns of an ever longer average of g²": "Adafactor, its memory growing",
    "a filter of quotients over a power of an average of |G|²": "a filter of normalised gradients",
    "the gradient times a root of its own squared steps over its own": "Adadelta",
}
_REACHES = {"coordinate": "its own gradients alone", "model": "all tensors"}
_RATES = {
    "its own": "a length of its own", "a schedule": "a rate that changes",
    "drawn": "a rate that it draws", "relative to |θ|": "a length relative to |θ|",
    "relative to |θ| or the loss": "a length relative to |θ| or the loss",
}  # fmt: skip
_LETTERS = {
    "beta1": "β₁ =", "beta2": "β₂ =", "beta3": "β₃ =", "power": "p =", "kappa": "κ =", "share": "share =",
    "from": "at first",
    "grows": "while a sign stays ×", "shrinks": "after it turned ×",
}  # fmt: skip


@dataclass(frozen=True)
class Fingerprint(Shown):
    """What was measured of an optimizer; ``plot()`` draws its answer to a gradient that is on for 20 steps, then off.

    Attributes:
        family: the law with its numbers, in words; or "none of the listed", and why; or "not seen", where what is drawn
            hides it; or "refused", and why.
        law: the law of the list that the steps obey; "" if they obey none.
        nearest: in that case the law with the least residual; of one that draws, the simplest that is no tenth worse.
        numbers: of the law: ``beta1``, ``beta2``, ``power`` p of the second moment, ``share`` of the newest gradient
            beside the filter, ``kappa`` of a memory 1 − t^−κ, ``grows`` and ``shrinks`` of a step that signs rule;
            ``gain``, late steps over the direction that the law names, with averages that begin at zero.
        residual: |step − law|/|step| on gradients that the numbers were not fitted to, of the law, or of the nearest.
        residual_small: the same with gradients a thousand times smaller, of size one: what an ε or a clip does there;
            NaN where that is hidden by what is drawn.
        rate: what the law's coefficient does: "constant", "bias-corrected", "a schedule" (the same whatever the
            gradients are), "relative to |θ|", "drawn" (another with another seed: its gain is NaN), or "its own" (read
            off the gradients: clipped, normalised, adapted).
        gradient_degree: a factor c on all gradients changes steps by c to this power; NaN if by no power that is seen.
        weight_degree: the same of the weights; 0 if steps do not depend on them but for a decay.
        symmetries: how far steps are from changing with gradients and weights, from 0, which is exactly, to 2: "sign";
            "order" of all weights; "left" and "right", a rotation of a matrix' columns or rows; "turn", of all weights.
            NaN where no more is seen than noise.
        reach: of how far away gradients change a weight's step: "coordinate", "row", "column", "row and column",
            "tensor" or "model".
        flatness: spread of the singular values of a step over their mean.
        decay: "none", "coupled" (λθ in the gradient), "decoupled" (a share of the weights in each step), "coupled or
            decoupled" where these are the same, "of another kind", or "not seen" beside what is drawn.
        decay_rate: λ if it is coupled, the share in a late step if it is decoupled, else 0.
        counts: idle steps in the beginning change later ones, by more than noise.
        deterministic: another seed, of torch, NumPy and Python, changes nothing.
        noise: how far another seed moves steps on gradients of size one, 0 to 2.
        closure: ``step`` wants a closure.
        state_bytes: of state for each float32 weight of a 32 × 48 matrix.
        cost: time of a step on a 64 × 64 matrix over that of torch's SGD on this machine, now; no part of equality.
        response: steps along a gradient of one that is on for 20 steps, then off, shape (40,).
        refused: why it could not be measured; "" if it was.
    """

    _drawing: ClassVar[str] = "fingerprint"

    family: str
    law: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    nearest: str = ""
    residual: float = math.nan
    residual_small: float = 0.0
    rate: str = ""
    gradient_degree: float = math.nan
    weight_degree: float = math.nan
    symmetries: dict[str, float] = field(default_factory=dict)
    reach: str = ""
    flatness: float = math.nan
    decay: str = ""
    decay_rate: float = 0.0
    counts: bool = False
    deterministic: bool = True
    noise: float = 0.0
    closure: bool = False
    state_bytes: float = math.nan
    cost: float = field(default=math.nan, compare=False)
    response: tuple[float, ...] = field(default=(), repr=False)
    refused: str = ""

    def _facts(self) -> dict[str, Any]:
        own = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        del own["numbers"], own["response"]
        symmetries = own.pop("symmetries")
        return own | {f"keeps_{name}": value for name, value in symmetries.items()} | self.numbers

    def _columns(self) -> dict[str, tuple[float, ...]]:
        return {"response": self.response} if self.response else {}

    def __str__(self) -> str:
        return self.family


def fingerprint(make_optimizer: Callable[[Any], torch.optim.Optimizer], *, timed: bool = True) -> Fingerprint:
    """Return what any torch optimizer does, measured from the steps that it makes of gradients made up for the purpose.

    No loss and no network are needed, and neither the class nor its name is looked at. A fresh optimizer is made for
    each play of 6 to 1,500 steps on float64 matrices of 6 × 8.

    - *Decay*: steps at a gradient of zero; an L2 term is what a gradient −λθ cancels, and λ is found by bisection.
    - *Scales, symmetries, reach*: the same gradients and weights, scaled, negated, permuted or rotated; and gradients
      changed in other rows, columns, tensors.
    - *Count, randomness*: idle steps in the beginning; another seed, whose other steps are what all is measured by.
    - *Law*: sizes of gradients are drawn from a wide distribution, and the steps fitted by filters of the gradient over
      powers of second moments, with coefficients that are free in each step. β₁, β₂ and p are fitted on one play; the
      law holds if its residual is below a thousandth on another. So a schedule, a trust ratio or a clipped length does
      not hide a law, and ``rate`` says which it was.
    - *Signs*: the size of gradient that just turns the sign of a full memory, by bisection; *orthogonalised* steps: the
      filter with whose products they are symmetric.

    Limits: options are as the factory sets them. A law is that of the last 27 of 40 steps; scales, symmetries and reach
    are those of the first 8 or 12; what sets in later is not seen. Gradients have sizes around 1, for a law 1,000: an ε
    that matters only at smaller ones is not seen either, nor a decay that goes with the gradient. What an optimizer
    keeps beside its weights, such as an average of iterates, is in ``state_bytes`` alone. In tolerance with iterations
    in bfloat16, a symmetry counts as kept below 0.05.

    Args:
        make_optimizer: from a list of parameters to the optimizer, such as ``torch.optim.Adam``. It is called often.
        timed: measure ``cost``, too.

    Raises:
        ValueError: ``make_optimizer`` is not callable. What goes wrong inside is no error: ``refused`` has it.

    Example:
        >>> import torch, lossnav as ln
        >>> print(ln.fingerprint(lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9), timed=False))
        heavy ball, β₁ = 0.9

    References:
        book: *What did the learner assume?*
    """
    _checks.function("make_optimizer", make_optimizer)
    _checks.flag("timed", timed)
    try:
        with np.errstate(all="ignore"):
            return _measured(Player(make_optimizer), timed)
    except Refused as refusal:
        return Fingerprint(f"refused: {refusal}", refused=str(refusal))


def _measured(player: Player, timed: bool) -> Fingerprint:
    """Measure all, from what needs nothing to what needs the decay."""
    noise = measures.noise(player)
    decay = measures.decay(player, noise)
    plays = tuple(
        (large, player.pure(measures.weights(seed), large))
        for seed in (20, 21)
        for large in [_LARGE * measures.gradients(seed, _STEPS)]
    )
    if not all(steps[_STEPS // 3 :].any() for _, steps in plays):
        moves = any(steps.any() for _, steps in plays)
        raise Refused(f"it makes no step{f' after the first {_STEPS // 3}' if moves else ''}")
    flat = Fingerprint(
        "", gradient_degree=measures.degree(player, "gradient"),
        weight_degree=measures.degree(player, "weights"), symmetries=measures.symmetries(player, noise),
        reach=measures.reach(player), flatness=measures.flatness(plays[0][1]), decay=decay,
        decay_rate=abs(player.coupled) or float(player.decoupled[-1]), counts=measures.counts(player, noise),
        deterministic=noise < 1e-9, noise=noise, closure=player.closure, state_bytes=player.state_bytes(),
        cost=player.cost() if timed else math.nan, response=_response(player),
    )  # fmt: skip
    small = measures.gradients(22, _STEPS)
    common = (small, player.pure(measures.weights(22), small))
    hidden, moved = _drawn(player, 21, plays[1])
    signed = _by_sign(player, flat, (*plays, common), hidden)
    reading = signed or _by_polar(player, flat, plays) or _by_search(player, flat, plays, common, hidden)
    if reading.law and moved > 30 * max(_EXACT, hidden):
        reading = replace(reading, rate="drawn", numbers={**reading.numbers, "gain": math.nan})
    if reading.law == "the gradient" and decay == "coupled" and reading.rate in ("constant", "a schedule"):
        reading = replace(reading, decay="coupled or decoupled")
    return replace(reading, family=_words(reading))


def _response(player: Player) -> tuple[float, ...]:
    on = np.zeros((2 * _PULSE, *measures.SHAPE))
    on[:_PULSE] = direction = np.random.default_rng(30).normal(size=measures.SHAPE)
    steps = player.pure(measures.weights(9), on)
    return tuple((-(steps * direction).sum((1, 2)) / (direction**2).sum()).tolist())


def _by_sign(player: Player, seen: Fingerprint, plays: Any, hidden: float) -> Fingerprint | None:
    """Return the fingerprint of a rule of which only signs count, if it is one."""
    steps = plays[0][1]
    if measures.equal_sizes(steps, hidden):
        beta1, beta2, wrong = measures.signed_filter(player, plays)
        if wrong < 0.01:
            numbers = {"beta1": beta1, "beta2": beta2, "gain": float(np.abs(steps[-1]).max())}
            law = "the sign of a filter" if beta1 else "the sign of the gradient"
            rate, _ = _rate(_sizes(plays[:2]), {}, seen, max(_EXACT, hidden))
            return replace(
                seen, law=law, residual=wrong, rate=rate, numbers=numbers if beta1 else {"gain": numbers["gain"]}
            )
    elif seen.deterministic and (factors := measures.growth(player)):
        numbers = {"grows": factors[0], "shrinks": factors[1]}
        return replace(seen, law="a size of its own that signs rule", numbers=numbers, residual=0.0, rate="constant")
    return None


def _by_polar(player: Player, seen: Fingerprint, plays: Any) -> Fingerprint | None:
    """Return the fingerprint of a rule that makes the singular values of a filter alike, if it is one.

    How long its steps are depends on the gradients where a few iterations leave a third between singular values, so the
    rate is read off a gradient that stays.
    """
    if seen.flatness > _FLAT:
        return None
    beta, share, misfit = measures.orthogonal_filter(plays)
    if misfit > ALIKE / 2:
        return None
    same = _LARGE * np.repeat(measures.gradients(23, 1), _STEPS, axis=0)
    held = [(size * same, player.pure(measures.weights(seed), size * same)) for seed, size in ((23, 1), (24, 2))]
    rate, _ = _rate(_sizes(held), {}, seen, ALIKE)
    numbers = {"beta1": beta, "share": share, "gain": float(_sizes(plays)[0, -1, 0])}
    return replace(
        seen, law="a filter with its singular values made alike", numbers=numbers, residual=misfit, rate=rate
    )


def _sizes(plays: Any) -> Array:
    """Return the root mean square of each step, where this is the coefficient; (2, T, 1)."""
    return np.stack([np.sqrt((steps**2).mean((1, 2)))[:, None] for _, steps in plays])


def _by_search(
    player: Player, seen: Fingerprint, plays: Any, common: tuple[Array, Array], hidden: float
) -> Fingerprint:
    """Return the fingerprint with the law that holds, or with the nearest law's residual."""
    exact, close = (_EXACT, _ENOUGH) if seen.deterministic else (_ENOUGH, math.inf)  # beside noise more says nothing
    fit: Fit = search(plays, exact, close)
    if not fit.residual < (exact if "two" in fit.law.name else _ENOUGH):  # of two filters many others are near
        return replace(seen, residual=fit.residual, nearest=fit.law.name)
    rate, gain = _rate(fit.coefficients, fit.numbers, seen, max(_EXACT, 30 * fit.residual))
    numbers = {**fit.numbers, "gain": gain}
    if "and the gradient" in fit.law.name:
        shares = fit.coefficients[0, _STEPS // 3 :, 1] / fit.coefficients[0, _STEPS // 3 :, :2].sum(1)
        numbers["share"] = float(shares[-1])
        if np.ptp(shares) > max(_ENOUGH, 30 * hidden):
            numbers["from"] = float(shares[0])
    small = residual(fit.law, fit.numbers, *common)
    small = math.nan if ALIKE < small <= _drawn(player, 22, common)[0] else small
    return replace(seen, law=fit.law.name, numbers=numbers, residual=fit.residual, residual_small=small, rate=rate)


def _drawn(player: Player, at: int, play: tuple[Array, Array]) -> tuple[float, float]:
    """Return how far another seed moves the steps of a play, beside a factor in each of them, and with it."""
    again = player.pure(measures.weights(at), play[0], seed=1)
    return measures.beside_a_factor(play[1], again), measures.apart(play[1], again)


def _rate(
    coefficients: Array, numbers: dict[str, float], seen: Fingerprint, alike: float = _EXACT
) -> tuple[str, float]:
    """Return what the coefficients of two plays do, in words, and the last one without the correction of a bias.

    Late steps have to agree, as in some rules the first ones are others; where several words hold of them, as a short
    memory has been corrected early, the first steps choose.
    """
    first, second = (play[:, :2].sum(1) for play in coefficients)
    late = slice(_STEPS // 3, None)
    gain = float(-first[-1])
    if np.any(np.abs(first - second)[late] > alike * np.abs(first[late])):
        relative = "relative to |θ|" + " or the loss" * seen.closure  # a closure's loss is ⟨g, θ⟩
        return (relative if abs(seen.weight_degree - 1) < ALIKE else "its own"), gain
    t = np.arange(1, _STEPS + 1)
    mean = 1 - numbers.get("beta1", 0.0) ** t
    square = (1 - numbers.get("beta2", 0.0) ** t) ** numbers.get("power", 0.0)
    corrected = {
        "constant": first, "bias-corrected": first * mean / square, "numerator corrected": first * mean,
        "denominator corrected": first / square,
    }  # fmt: skip
    holding = {
        words: float(np.abs(each - each[-1]).sum())
        for words, each in corrected.items() if np.ptp(each[late]) <= alike * np.abs(each[late]).max()
    }  # fmt: skip
    if not holding:
        return "a schedule", gain
    words = min(holding, key=lambda words: holding[words])
    return words, float(-corrected[words][-1])


def _words(seen: Fingerprint) -> str:
    """Return the family of a measured optimizer."""
    if not seen.law:
        off = f"the nearest, {seen.nearest}, is off by {100 * seen.residual:.2g} %"
        none = "none of the listed" if seen.deterministic else "not seen through what it draws"
        return f"{none}: {off}; {_structure(seen)}"
    numbers = {name: value for name, value in seen.numbers.items() if name != "gain"}
    name = _NAMES.get(seen.law, seen.law)
    if seen.law == "a filter and the gradient" and abs(numbers["share"] - 1 + numbers["beta1"]) < _ENOUGH:
        name = "Nesterov"
        del numbers["share"]
    if seen.law == "the sign of a filter" and abs(numbers["beta1"] - numbers["beta2"]) < _ENOUGH:
        del numbers["beta2"]
    if seen.law == "a filter with its singular values made alike" and not numbers["share"]:
        del numbers["share"]
    numbers.pop("floor", None)
    places = 4 if seen.deterministic or seen.residual < 1e-4 else 3  # noise decides the rest
    parts = [f"{_LETTERS[name]} {_digits(value, places)}" for name, value in numbers.items()]
    parts += [_RATES.get(seen.rate, seen.rate)] if seen.rate != "constant" else []
    parts += ["uphill"] if seen.numbers.get("gain", 1.0) < 0 else []
    if seen.residual_small > ALIKE:
        parts.append(f"where gradients are large: off by {100 * seen.residual_small:.2g} % at size one")
    if seen.decay != "none":
        parts.append(f"decay {seen.decay}")
    parts += [] if seen.deterministic or seen.rate == "drawn" else ["it draws at random"]
    return ", ".join([name, *parts])


def _digits(value: float, places: int) -> str:
    return f"{round(value, places) + 0.0:g}"  # no "-0"


def _structure(seen: Fingerprint) -> str:
    """Return what is known of a rule without a law."""
    kept_symmetries = {name for name, defect in seen.symmetries.items() if defect < ALIKE}
    parts = [f"a step depends on {_REACHES.get(seen.reach, f'its {seen.reach}')}"]
    if {"left", "right"} <= kept_symmetries:
        parts.append("it turns with " + ("all weights" if "turn" in kept_symmetries else "rows and columns"))
    elif {"left", "right"} & kept_symmetries:
        parts.append("it turns with " + ("columns" if "left" in kept_symmetries else "rows"))
    if seen.symmetries["sign"] > ALIKE:
        parts.append("−g and −θ do not give −step")
    if math.isnan(seen.gradient_degree) and 2 * seen.noise < ALIKE:
        parts.append("it has a scale of the gradient")
    if seen.weight_degree != 0 and not abs(seen.weight_degree) < ALIKE:
        parts.append("it depends on the weights")
    return ", ".join(parts)
