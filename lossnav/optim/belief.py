"""Learning with beliefs about the gradient: one rule that spans SGD, RMSprop, Adam and Newton (Eqs. 12–14)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import duration, one_of, shown, weight
from lossnav.optim import _switch
from lossnav.optim._base import Found, Group, given
from lossnav.optim._generated import Generated
from lossnav.optim._options import check_rate
from lossnav.rules import assume
from lossnav.rules.derive.numbers import Number
from lossnav.rules.derive.program import flat_root, root, wide_root
from lossnav.rules.derive.source import Statement, of_names

Variance = Literal["uncentred", "centred", "innovation"]
VARIANCES: tuple[Variance, ...] = get_args(Variance)
_LARGE = 1e9  # an ε above it has a square that float32 does not hold
_NAMES = ("beta1", "beta2", "eps", "epsilon", "floor", "scale", "weight_decay")


class Believing(Generated):
    """Eq. 14 from its options; a rule that does not offer all of them says in ``_fixed`` what the others are."""

    _fixed: ClassVar[Group] = {}

    def _check(self, group: Group) -> None:
        group = {**group, **self._fixed}
        duration("lr_overdamped", group["lr_overdamped"], zero=True)
        if group["discount"] is not None:
            duration("discount", group["discount"], zero=True)
        rate = group["lr"]
        if isinstance(rate, float) and rate == group["lr_overdamped"] == math.inf:
            raise ValueError(
                "lr = inf, but it must be finite where lr_overdamped is inf too: nothing would limit the step. The "
                "step of SGD with a rate is lr=rate, discount=inf"
            )
        check_rate("lr", group["lr"])
        if group["discount"] is not None and group["lr_overdamped"] < math.inf:
            raise ValueError(
                f"discount = {shown(group['discount'])}, but it must be None where lr_overdamped is given "
                f"({shown(group['lr_overdamped'])}): both would say how the future is discounted"
            )
        betas = group["betas"]
        if not isinstance(betas, list | tuple) or len(betas) != 2:
            raise ValueError(f"betas = {shown(betas)}, but it must be a pair of numbers in [0, 1)")
        for i, beta in enumerate(betas):
            weight(f"betas[{i}]", beta)
        one_of("variance", group["variance"], VARIANCES)
        if group["variance"] == "centred" and betas[0] == 0:
            raise ValueError(
                "betas[0] = 0, but it must be > 0 where variance is 'centred': with m = g there is no deviation "
                '("innovation" compares with the gradient before)'
            )
        for name in ("eps", "eps_inside", "curvature_scale", "weight_decay"):
            check_rate(name, group[name])

    def _renew(self, group: Group) -> None:
        """Turn lr = inf with an lr_overdamped, which no scheduler can move, into lr with discount = inf."""
        lr, slow = group["lr"], group["lr_overdamped"]
        older = isinstance(lr, float) and lr == math.inf and group["discount"] in (None, math.inf)
        if older and isinstance(slow, int | float) and 0 <= slow < math.inf:
            group.update(lr=slow, lr_overdamped=math.inf, discount=math.inf)
            if group.get("initial_lr") == math.inf:  # what a scheduler has written down
                group["initial_lr"] = slow

    def _complete(self, group: Group) -> None:
        if "lr_overdamped" in group:  # a state that is older than the option has no discount
            group.setdefault("discount", None)
        super()._complete(group)

    def _assumed(self, group: Group) -> Found:
        options, epsilon = {**group, **self._fixed}, discount_of(group)
        words = f"beliefs in mean and variance of the gradient, h = cV; V an average, {options['variance']}; "
        words += "a gradient that fades at α = ε√(ηkc)" if epsilon is None else f"discount γ = {2 * epsilon:g}√(ηkc)"
        if options["variance"] == "innovation" and options["betas"][0] == 0:
            return words, "Without memory there is no mean to be surprised about", None
        return self._read(group, words, "As for Adam")

    def _form(self, group: Group, moves: bool = True) -> Hashable:
        options, epsilon = {**group, **self._fixed}, damping(group)
        plan = "fading"
        if is_overdamped(group):
            plan = "overdamped"
        elif epsilon is not None:
            plan = "discounted" if torch.is_tensor(epsilon) or epsilon <= _LARGE else "wide"
        return (
            plan, options["variance"], moves and options["bias_correction"], bool(options["curvature_scale"] != 0),
            bool(options["eps_inside"] != 0), moves and bool(group["weight_decay"] != 0), moves,
        )  # fmt: skip

    @staticmethod
    def _stated(form: Any) -> Statement:
        """Return Eq. 14 with ηk = c, so that ``lr`` is √(ηk/c)Δt, γ = 2εc, and Adam's ε a belief that fades at εc."""
        plan, variance, corrected, finite, floored, shrinks, moves = form
        beta1, beta2, eps, epsilon, floor, scale, decay = map(Number.named, _NAMES)
        c: Any = scale if finite else 1.0
        kind = assume.Innovation if variance == "innovation" else assume.SecondMoment
        return Statement(
            of_names(assume.Filter, beta=beta1, corrected=corrected),
            of_names(
                kind, beta=beta2, scale=c, floor=floor if floored else 0.0, corrected=corrected,
                centred=variance == "centred",
            ),
            control_gain=1.0 if plan == "overdamped" else c,
            gamma={"fading": 0.0, "overdamped": 1.0}.get(plan, epsilon * 2.0 * c),
            fading=eps * c if plan == "fading" else 0.0,
            held=finite,
            shrinks=decay if shrinks else 0.0,
            root={"overdamped": flat_root, "wide": wide_root}.get(plan, root),
            names=_NAMES,
            moves=moves,
        )  # fmt: skip

    def _values(self, group: Group) -> tuple[Any, ...]:
        options, epsilon = {**group, **self._fixed}, 0.0 if is_overdamped(group) else damping(group) or 0.0
        names = ("eps_inside", "curvature_scale", "weight_decay")
        return step_rate(group), *group["betas"], group["eps"], epsilon, *(options[name] for name in names)


class Belief(Believing):
    r"""Optimal learning on beliefs about gradient and curvature, Eq. 14 with its discount kept.

    The learner believes in a mean gradient m and a gradient variance V in each coordinate, follows both with running
    averages, takes cV for the curvature (noise is large where the loss is steep), and makes the optimal step of Eq. 6:

    .. math::
        m \leftarrow \beta_1 m + (1-\beta_1) g, \qquad v \leftarrow \beta_2 v + (1-\beta_2) q, \qquad
        \theta \leftarrow \theta - S(V)\,\hat m

        S(V) = \frac{2\,\mathrm{lr}_s}{1+\sqrt{1+4V(\mathrm{lr}_s/\mathrm{lr}_b)^2}}
        \le \min\bigl(\mathrm{lr}_s,\ \mathrm{lr}_b/\sqrt V\bigr)

    with lr_b = √(ηk/c) Δt, the rate of a learner that plans far ahead, lr_s = ηkΔt/γ, that of one that discounts the
    future, and V = v̂ + ε_in. Both grow with the step's time Δt; their ratio ε = lr_b/(2 lr_s) = γ/(2√(ηkc)) is the
    discount. ``lr`` is lr_b, and it is what schedulers move. ``discount=ε`` ties lr_s to it,
    S = lr/(√(V + ε²) + ε), so that a schedule changes Δt and leaves γ alone; ``lr_overdamped`` is an lr_s that stays
    where it is. ``discount=inf`` is the limit in which the rate does not fall with it: ``lr`` is then lr_s itself.

    =========================  ====================================================================================
    SGD                        ``lr=rate, discount=inf, betas=(0, …)``; with β₁ > 0 it follows an average
    RMSprop                    ``betas=(0, β), bias_correction=False``
    Adam                       the defaults
    AdamW                      ``weight_decay=0.01``, which is torch's default and not the one here
    the paper's ballistic      ``betas=(0, β), bias_correction=False, eps=0, eps_inside=ε``
    AdaBelief                  ``variance="centred"``
    discount γ                 ``discount=ε`` with ε = γ/(2√(ηkc)): Adam's ε is a discount rate
    Newton, −m/(cV)            ``curvature_scale=c`` with c·lr·√V ≫ 1
    =========================  ====================================================================================

    A parameter without a gradient keeps its value and its beliefs (a prior without decay, α = 0).

    The arguments stand in the order of torch's AdamW, and ``load_state_dict`` goes on from a state of that one, or of
    Adam without its L2 term: averages, counters and options are the same. ``discount`` and what else AdamW has not
    keep what they were given.

    Args:
        params: parameters, or dictionaries of parameter groups; every option below may differ between groups.
        lr: lr_b >= 0, a length in weight space, or, with ``discount=inf``, a learning rate of SGD; a number or a 0-dim
            tensor. ``lr=inf, lr_overdamped=rate`` is the older spelling of ``lr=rate, discount=inf``, and read as it.
        betas: (β₁, β₂), weights of the past in m and v, each in [0, 1). A scheduler that cycles momentum
            (``OneCycleLR``, ``CyclicLR``) moves β₁ as that of Adam, also where it is 0, unless it is told
            ``cycle_momentum=False``.
        eps: added to √V where neither ``discount`` nor a finite ``lr_overdamped`` is given, as in Adam; elsewhere the
            discount ε has its place, and this one is not used. >= 0, in the units of g.
        weight_decay: decoupled decay rate >= 0: θ ← (1 − lr · wd) θ first (lr_s · wd where lr is inf).
        lr_overdamped: lr_s in [0, inf], the units of a learning rate of SGD. A scheduler moves ``lr`` alone, so that
            ε = lr_b/(2 lr_s) moves with it; give ``discount`` instead where γ is to stay.
        eps_inside: ε_in >= 0, in the units of g²: a floor of the curvature, cε_in.
        variance: the datum q. "uncentred": g². "centred": (g − m)² with the new m, which is small by 2β₁²/(1+β₁) for
            steady noise. "innovation": (g − m̂)² with the m̂ of the step before, divided by the factor that makes it
            unbiased; g² in the first step. Without the mean in it, √V does not bound the step: where the gradient
            is steady only ε or lr_s does.
        bias_correction: divide m and v by 1 − βⁿ in the n-th step.
        discount: ε in [0, inf], in the units of g, or None: then ``lr_overdamped`` says what it is.
        curvature_scale: c >= 0 in h = cV, in the units that make h a curvature. 0 makes the step of first order in Δt;
            otherwise its length is exact for the quadratic model, S → (1 − e^{−ScV})/(cV).
        maximize: go uphill.
        foreach: True, False, or None (True unless a parameter is a tensor subclass). The results are the same.
        fused: as in ``Ballistic``: one pass over the memory, if there is a C compiler.

    State: two tensors a parameter, ``m`` and ``v``, and a step counter.

    Raises:
        ValueError: an option is out of range, both rates are inf, ``discount`` and a finite ``lr_overdamped`` are
            given, or a parameter is not real; in ``step``, if a gradient on the CPU is not finite
            (``check_gradients``).
        RuntimeError: in ``step``, for sparse gradients.

    Example:
        >>> import torch
        >>> w = torch.nn.Parameter(torch.tensor([3.0]))
        >>> optimizer = Belief([w], lr=0.01, discount=0.005)
        >>> loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward())[1])
        >>> round(w.item(), 4)
        2.99

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 12–14, 133–142. The two rates, the finite step and the unbiased centred
        variance are ours; so are bias correction and ε as parts of the same family. Kingma, Ba (2015) for the limit.
    """

    _memory: tuple[str, ...] = ("step", "m", "v")
    _needed = 3
    _flags = ("bias_correction",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        lr_overdamped: float = math.inf,
        discount: float | None = None,
        eps_inside: float = 0.0,
        variance: Variance = "uncentred",
        bias_correction: bool = True,
        curvature_scale: float = 0.0,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))

    def _adopts(self, saved: Group, own: Group) -> str:
        _switch.check_adam(saved)
        if own["variance"] != "uncentred":
            raise ValueError(
                f"variance = {own['variance']!r}, but it must be 'uncentred' to go on from Adam's v, an average of g²"
            )
        return "v"


def is_overdamped(group: Group) -> bool:
    """Whether the step is lr_s whatever V is."""
    return bool(group["discount"] == math.inf or group["lr_overdamped"] == 0)


def step_rate(group: Group) -> Any:
    """Return what multiplies the step and the weight decay: lr, or lr_s = 0."""
    return 0.0 if group["lr_overdamped"] == 0 else group["lr"]


def damping(group: Group) -> Any:
    """Return ε, the discount, or None where Adam's has its place."""
    if group["discount"] is not None:
        return group["discount"]
    return None if group["lr_overdamped"] == math.inf else group["lr"] / (2 * (group["lr_overdamped"] or math.inf))


def discount_of(group: Group) -> float | None:
    """Return ε as a number, inf where the step does not know V; None where Adam's has its place."""
    epsilon = math.inf if is_overdamped(group) else damping(group)
    return None if epsilon is None else float(epsilon)
