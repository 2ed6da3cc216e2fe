"""``explain``: a published optimizer read as assumptions, and the rule that they give; or that none of ours give it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from lossnav import _checks
from lossnav._shown import Shown
from lossnav.problem import drifts
from lossnav.problem.objective import Objective
from lossnav.rules import assume
from lossnav.rules.derive.derivation import derive
from lossnav.rules.derive.rule import LearningRule

Options = Mapping[str, Any]
_PLACES = ("torch.optim", "pytorch_optimizer")
_UNREAD = ("foreach", "fused", "capturable", "differentiable")  # options that change no step


@dataclass(frozen=True, eq=False)
class Reading(Shown):
    """One way to read an optimizer.

    Attributes:
        optimizer: its name.
        assumptions: under which it is optimal to first order in Δt; empty if none of the listed are.
        why: the regime in which they make sense, or why none of the listed assumptions give this optimizer.
        rule: the derived rule, whose steps are the optimizer's; None where none are, or where options do not say which.
        penalty: λ, if λ|θ|²/2 is a part of the loss and its gradient λθ of what the rule is given.
    """

    optimizer: str
    assumptions: str
    why: str
    rule: LearningRule | None = None
    penalty: float = 0.0

    _drawing: ClassVar[str] = "reading"

    def _facts(self) -> dict[str, Any]:
        """Return the words of the reading, and the numbers of its rule."""
        own = {"optimizer": self.optimizer, "assumptions": self.assumptions, "why": self.why, "penalty": self.penalty}
        return own | (self.rule._facts() if self.rule else {})

    def __str__(self) -> str:
        return f"{self.optimizer}: {self.assumptions or 'none of the listed'}. {self.why}"


@dataclass(frozen=True)
class Row:
    """A row of the table: names of an optimizer's class, assumptions (or ""), regime or reason, whose class it is."""

    names: tuple[str, ...]
    assumptions: str
    why: str
    places: tuple[str, ...] = _PLACES


_OVERDAMPED = "no curvature, γ > 0"
_ROOT = "ballistic (γ = 0), curvature h = cV believed diagonal, V an average of g²"
_SLOW = "Estimates stand still within a plan only where beliefs change slowly beside γ, and γ ≪ √(ηkcV)"

TABLE = (
    Row(("SGD",), f"{_OVERDAMPED}; belief: m = g, or an average of g for momentum",
        "Momentum is a belief in a mean that wanders, not the horizon; torch's lr is that of the average times 1 − β"),
    Row(("SGDW",), f"{_OVERDAMPED}, drift f = −jθ", "The decay is exact at every γ > 0"),
    Row(("Signum", "SignSGD"), "ballistic, diagonal curvature of this moment alone, h = cm²",
        "One datum is no estimate: the sign forgets how sure the mean is"),
    Row(("RMSprop",), f"{_ROOT}; belief: m = g, and it fades at α = ε√(ηkc)", _SLOW),
    Row(("Adam",), f"{_ROOT}; belief: an average of g that fades at α = ε√(ηkc)", _SLOW),
    Row(("AdamW",), "metric G = diag(√V + ε), no curvature, γ > 0, drift f = −jθ; belief: an average of g",
        "Exact at every γ > 0, but it prices moves by past gradients. The other reading, G = 1, γ = 0 and a decay of "
        "its own in each coordinate, j² = (w² + √(w⁴ + 4w²ηkh))/2, gives the constant decay w exactly and a gradient "
        "part that is smaller, by .618 at h = w²/ηk"),
    Row(("AdaBelief",), "ballistic, diagonal curvature h = cV, V an average of (g − m)²; belief fading at α = ε√(ηkc)",
        "V is the variance alone, as in the paper's own model; the published rule adds ε to V in each step, too"),
    Row(("Lion",), "ballistic, curvature of this moment h = c·(signal)²; belief: a slow mean and a white signal, share "
        "(β₂ − β₁)/β₂; drift f = −jθ under the metric |signal|",
        "White signal has no forecast: it counts in full only if the discount is fast, s₊Δt ≫ 1"),
    Row(("Adagrad",), f"metric G = diag √(Σg²), {_OVERDAMPED}", "Its 1/√t comes from the sum; no schedule derives it"),
    Row(("MSVAG",), f"{_OVERDAMPED}; belief: the posterior mean m²/(m² + σ²/n)·m under a prior of variance m², "
        "rules.shrink(pool='coordinate')",
        "The prior is read off the same gradients: a plug-in that loses to no shrinking from about |μ|√n/σ = 1.5 on"),
    Row(("LARS",), "relative metric G = |θ|⁻² for each tensor, ballistic, isotropic curvature h = c|g|² of this moment",
        "Without its momentum and weight decay"),
    Row(("Lamb", "LAMB"), "relative metric, ballistic, h = c·V with one scale for each tensor, c = Σ m²/V",
        "The scale is taken afresh in each step"),
    Row(("LBFGS",), "a long step, rΔt ≫ 1: Newton's step for an approximate H", "Its line search is no part of it"),
    Row(("Shampoo",), "ballistic for an upper bound of the curvature, H = c·L^½ ⊗ R^½: assume.Kronecker(fit='bound')",
        "L and R are averages of ggᵀ and gᵀg here, whose roots are fresh; published ones are sums, and the 1/√t that "
        "comes from them no schedule derives"),
    Row(("ScalableShampoo",), "as Shampoo in each block, with averages of ggᵀ and gᵀg",
        "Without its grafted length and its momentum, which averages steps"),
    Row(("SOAP",), "ballistic, curvature diagonal in Shampoo's eigenbasis, assume.Eigenbasis; belief: an average of g "
        "that fades at α = ε√(ηkc). With a decay: as metric, γ > 0, f = −jθ, and without ε",
        "Of a matrix, between turns of the bases. Where they turn, V stays as it is in the published rule, and goes "
        "with them here, which is also after steps 2, 4, 8, …; of a convolution it has a basis for each axis. Its "
        "decay shrinks the step, too, by lr·decay"),
    Row(("KFAC", "KFACOptimizer"), "metric F = A ⊗ B, no curvature, γ > 0; or a long step, rΔt ≫ 1, on H = A ⊗ B",
        "The two readings give one step. Damping of the factors apart is another matrix. No rule of coordinates"),
    Row(("Muon",), "ballistic, a one-sided curvature of this moment, H = c·(mmᵀ/n) ⊗ I, assume.Polar; belief: an "
        "average of g, and a share of white signal for Nesterov. With a decay: as metric, γ > 0, f = −jθ",
        "Read off one mean: worst for square layers. Its polynomial misses the polar factor, by up to a third in a "
        "direction, and by more where a singular value is below 0.0015 of |m|; its rate is that of matrices with one "
        "number of columns"),
    Row(("SophiaH", "Sophia"), "price Box, |θ̇|∞ ≤ ρ and free within; curvature h, an average; belief: an average "
        "of g", "The exact step −clip(m/h, ρΔt), at every discount, on a sum of bowls along the axes"),
    Row(("SCION", "SCIONLight"), "price Norm, a limit of speed for each layer in a norm of its own; belief: an average "
        "of g", "Full speed, at every discount, on a loss of the singular values of W − W* alone; elsewhere as γ → ∞"),
    Row(("NAdam",), "", "Its weights of m and g change with the step: the share of white signal would need a schedule"),
    Row(("RAdam",), "", "Its factor changes with the step number alone, and no belief of ours begins without V"),
    Row(("Adamax", "AdaMax"), "", "A maximum of |g| is no average: no belief with a mean gives it"),
    Row(("Adadelta", "AdaDelta"), "", "Its rate is an average of its own squared steps"),
    Row(("Rprop",), "", "Its steps grow by the signs of two gradients"),
    Row(("ASGD",), "", "It averages iterates after the fact; so do schedule-free methods: no policy of this J does",
        ("torch.optim",)),
    Row(("ScheduleFreeSGD", "ScheduleFreeAdamW", "ScheduleFreeRAdam"), "",
        "Gradients are taken between a walker and the average of its places; who pays for acceleration takes them "
        "where the walker is"),
    Row(("SAM",), "", "The gradient is taken elsewhere, at the worst point nearby"),
    Row(("Adan",), "",
        "It looks ahead along differences of gradients by a constant, which a trend does only overdamped, and "
        "divides by √V, which only a ballistic plan does; its averages lag behind a ramp, and are no posterior"),
    Row(("Adafactor", "AdaFactor"), "",
        "V = row ⊗ column minimises the I-divergence, not a likelihood; it has a relative step and clipping, too"),
    Row(("SparseAdam",), "", "A coordinate without a gradient stops its clock: beliefs here age with time"),
)  # fmt: skip


def explain(optimizer: Any) -> list[Reading]:
    """Return the assumptions under which an optimizer is optimal to first order in Δt, or the reason why none are.

    "None" is none of those that are listed here: the objective of ``Objective`` with the beliefs of ``lossnav.assume``.

    Args:
        optimizer: one of torch's, of ``pytorch-optimizer``'s or of ours, whose first group is read. Its class counts,
            not the name: another one that is called Lion is not read as Lion.

    Returns:
        Readings, more than one where there are more; with ``.rule`` where the assumptions are those of ``derive``.

    Raises:
        ValueError: it has no ``param_groups``, or its class is none of these.

    Example:
        >>> import torch, lossnav as ln
        >>> adam = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))], lr=0.01)
        >>> reading, = ln.explain(adam)
        >>> round(float(reading.rule.belief.fading), 10)
        1e-08
    """
    groups = getattr(optimizer, "param_groups", None)
    if not isinstance(groups, list) or not groups:
        raise ValueError(f"optimizer = {_checks.shown(optimizer)}, but it must be an optimizer with param_groups")
    readings, (first, *others) = _readings(optimizer, groups), groups
    differing = [key for key in optimizer.defaults if key not in _UNREAD and any(g[key] != first[key] for g in others)]
    note = f". That is the first group, from which others differ in {', '.join(differing)}" if differing else ""
    return [replace(reading, why=reading.why + note) for reading in readings]


def _readings(optimizer: Any, groups: list[Options]) -> list[Reading]:
    """Return how the first group may be read."""
    kind = type(optimizer)
    name = kind.__name__
    if kind.__module__.startswith("lossnav.optim."):
        return [optimizer.reading()]
    row = next((row for row in TABLE if name in row.names), None)
    # who has an optimizer of a collection has imported it; a name says nothing, the class does
    if row is None or not any(getattr(sys.modules.get(place), name, None) is kind for place in row.places):
        raise ValueError(
            f"optimizer is a {kind.__module__}.{name}, but it must be of lossnav.optim or, in {' or '.join(_PLACES)}, "
            f"one of {', '.join(n for row in TABLE for n in row.names)}; "
            "lossnav.fingerprint reads any other from its steps"
        )
    if name == "Adam" and groups[0].get("decoupled_weight_decay"):  # with this option it is torch's AdamW
        name, row = "AdamW", next(row for row in TABLE if "AdamW" in row.names)
    if not row.assumptions:
        return [Reading(name, "", row.why)]
    # Options that the table does not cover leave no assumptions.
    uphill = groups[0].get("maximize") or getattr(optimizer, "maximize", False)
    unlike = _unlike(name, {**groups[0], "maximize": uphill})
    if unlike:
        return [Reading(name, "", f"With {unlike} none of the listed assumptions give it")]
    maker, lr = _RULES.get(name), float(groups[0]["lr"])
    if maker is None:
        return [Reading(name, row.assumptions, row.why)]
    if lr <= 0:
        return [Reading(name, row.assumptions, f"lr = {lr:g} makes no step: there is a rule at a rate > 0")]
    # An L2 term belongs to the loss, a decay beside the step to the drift.
    coupled = not groups[0].get("weight_decouple", name not in ("SGD", "RMSprop", "Adam"))
    penalty = float(groups[0].get("weight_decay", 0.0)) if coupled else 0.0
    options = {**groups[0], "weight_decay": 0.0} if coupled else groups[0]
    made = maker(lr, options)
    rules = made if isinstance(made, dict) else {"": made}
    return [Reading(name, row.assumptions, row.why + words, rule, penalty) for words, rule in rules.items()]


def _unlike(name: str, group: Options) -> str:
    """Return an option with which the optimizer is another, or nothing."""
    for option, why in _UNLIKE.items():
        if group.get(option):
            return f"{option} = {group[option]} ({why})"
    for option in ("momentum", "alpha"):
        if group.get(option, 0.0) >= 1:
            return f"{option} = {group[option]} (what forgets nothing is no average)"
    if group.get("fixed_decay") and group.get("weight_decay"):
        return f"fixed_decay = {group['fixed_decay']} (the rate moves the gradient's part alone)"
    if name in ("SGD", "SGDW") and group.get("dampening") and group["momentum"]:
        return f"dampening = {group['dampening']} (the first gradient counts more than an average from zero says)"
    if name == "SOAP" and group.get("shampoo_beta") not in (None, -1, group.get("betas", (0, -1))[1]):
        return f"shampoo_beta = {group['shampoo_beta']} (bases with a memory of their own)"
    if name == "AdaBelief" and group["betas"][0] == 0:
        return f"betas = {group['betas']} (of an average without memory there is no deviation)"
    if name == "SOAP" and not group.get("correct_bias", True):
        return f"correct_bias = {group['correct_bias']} (m and V both begin at zero, and the bases do not)"
    if name in ("RMSprop", "Shampoo") and group.get("momentum"):
        return f"momentum = {group['momentum']} (it averages steps, not gradients)"
    return ""


_UNLIKE = {
    "amsgrad": "a maximum over time is no average", "centered": "E g² − m² is no average of squared deviations",
    "rectify": "its factor changes with the step number alone", "normalize_grads": "a step of its own length",
    "ams_bound": "a maximum over time is no average", "normalize_gradient": "a step of its own length",
    "maximize": "a plan goes downhill: give it −g", "use_gc": "gradients are centred first",
    "cautious": "a step against the gradient is left out", "adanorm": "gradients get a length of their own first",
    "merge_dims": "other matrices than that of the first axis with all others",
}  # fmt: skip


def _sgd(lr: float, group: Options, decay: float = 0.0) -> LearningRule:
    beta = group["momentum"]
    share = 1 - beta if group.get("nesterov") else 0.0
    belief = assume.Filter(beta, corrected=False, share=share) if beta else None
    return derive(_decaying(1 / (1 - beta), decay), belief=belief, dt=lr)


def _decaying(eta: float, decay: float) -> Objective:
    """Return a discounted objective whose step is Δt·eta·m, with a decay."""
    return Objective(eta=eta * (1 + decay), gamma=1.0, drift=drifts.weight_decay(decay) if decay else None)


def _signum(lr: float, group: Options) -> LearningRule | None:
    if group.get("weight_decay"):
        return None
    belief = assume.Filter(group["momentum"], corrected=False)
    return derive(Objective(), belief=belief, curvature=assume.SecondMoment(0.0, signal=True), dt=lr)


def _rmsprop(lr: float, group: Options) -> LearningRule:
    curvature = assume.SecondMoment(group["alpha"], corrected=False)
    return derive(Objective(), belief=assume.Filter(0.0, fading=group["eps"]), curvature=curvature, dt=lr)


def _adam(lr: float, group: Options) -> LearningRule:
    beta1, beta2 = (float(beta) for beta in group["betas"])
    belief = assume.Filter(beta1, fading=group["eps"])
    return derive(Objective(), belief=belief, curvature=assume.SecondMoment(beta2), dt=lr)


def _adabelief(lr: float, group: Options) -> LearningRule | None:
    if group.get("weight_decay"):
        return None
    beta1, beta2 = group["betas"]
    belief = assume.Filter(beta1, fading=group["eps"])
    return derive(Objective(), belief=belief, curvature=assume.SecondMoment(beta2, centred=True), dt=lr)


def _adamw(lr: float, group: Options) -> LearningRule:
    beta1, beta2 = (float(beta) for beta in group["betas"])
    metric = assume.RootMeanSquare(beta2, eps=group["eps"])
    return derive(_decaying(1.0, group["weight_decay"]), belief=assume.Filter(beta1), metric=metric, dt=lr)


def adams(group: Options) -> list[LearningRule]:
    """Return the rules whose step is that of torch's Adam, or AdamW, with the options of a parameter group."""
    makers = (_adamw,) if group["weight_decay"] else (_adam, _adamw)  # without a decay a root is as good as a metric
    return [make(float(group["lr"]), group) for make in makers]


def _lion(lr: float, group: Options) -> LearningRule | None:
    beta1, beta2 = group["betas"]
    if group.get("weight_decay") or not 0 < beta1 <= beta2:
        return None
    belief = assume.Filter(beta2, corrected=False, share=(beta2 - beta1) / beta2)
    return derive(Objective(), belief=belief, curvature=assume.SecondMoment(0.0, signal=True), dt=lr)


def _soap(lr: float, group: Options) -> LearningRule | None:
    if "betas" not in group or "precondition_frequency" not in group:
        return None
    (beta1, beta2), decay = group["betas"], group.get("weight_decay", 0.0)
    shape = assume.Eigenbasis(
        beta2,
        every=group["precondition_frequency"],
        watch=1,
        floor=0.0,
        max_dim=group.get("max_precond_dim", group.get("max_precondition_dim", 10000)),
    )
    belief = assume.Filter(beta1, fading=0.0 if decay else group.get("eps", 0.0))
    return _of_matrices(lr, belief, shape, decay)


def _of_matrices(lr: float, belief: assume.Filter, shape: Any, decay: float, factor: float = 1.0) -> LearningRule:
    """Return the rule of a belief about matrices, which beside a decay is one about the metric."""
    if decay:
        return derive(_decaying(factor, decay), belief=belief, metric=shape, dt=lr)
    return derive(Objective(eta=factor**2), belief=belief, curvature=shape, dt=lr)


def _muon(lr: float, group: Options) -> dict[str, LearningRule] | None:
    """Return a rule for each factor that Muon's rate has, with words that say for which matrices.

    Ours is lr·√max(m, n)·UVᵀ for an m × n matrix, so that lr·√max(1, m/n)·UVᵀ has the rate lr/√n.
    """
    if not ("adjust_lr_fn" in group or group.get("use_muon")):
        return None
    if group.get("adjust_lr_fn") == "match_rms_adamw" or group.get("use_adjusted_lr"):
        factors = {"": 0.2}
    else:
        widths = sorted({parameter.shape[1] for parameter in group["params"]})
        factors = {f". This rule is for {n} columns": 1 / math.sqrt(n) for n in widths}
    beta, decay = group["momentum"], group["weight_decay"]
    belief = assume.Filter(beta, corrected=False, share=1 - beta if group["nesterov"] else 0.0)
    return {words: _of_matrices(lr, belief, assume.Polar(), decay, factor) for words, factor in factors.items()}


_RULES: dict[str, Callable[[float, Options], LearningRule | dict[str, LearningRule] | None]] = {
    "SGD": _sgd, "SGDW": lambda lr, group: _sgd(lr, group, group["weight_decay"]), "Signum": _signum,
    "SignSGD": _signum, "RMSprop": _rmsprop, "Adam": _adam, "AdamW": _adamw, "AdaBelief": _adabelief, "Lion": _lion,
    "SOAP": _soap, "Muon": _muon,
}  # fmt: skip


def second_reading(decay: float, curvature: float, control_gain: float = 1.0) -> tuple[float, float]:
    """Return the decay j under which a plan with γ = 0, G = 1 decays at the rate w, and what its gradient keeps.

    With j² = (w² + √(w⁴ + 4w²ηkh))/2 the optimal decay j²/√(j² + ηkh) is w; the gradient's coefficient is
    √(ηkh/(j² + ηkh)) of the ballistic one.

    Args:
        decay: w > 0.
        curvature: h > 0.
        control_gain: ηk > 0.

    Raises:
        ValueError: one of them is not > 0.
    """
    w, h = _checks.positive("decay", decay), _checks.positive("curvature", curvature)
    pull = _checks.positive("control_gain", control_gain) * h
    square = (w * w + math.sqrt(w**4 + 4 * w * w * pull)) / 2
    return math.sqrt(square), math.sqrt(pull / (square + pull))
