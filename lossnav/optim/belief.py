"""Learning with beliefs about the gradient: one rule that spans SGD, RMSprop, Adam and Newton (Eqs. 12–14)."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import duration, one_of, shown
from lossnav.optim import _readings, _recipes, _switch
from lossnav.optim._base import Group, Rule, State, zeros
from lossnav.optim._fused import Call, each
from lossnav.optim._options import check_decay, check_rate, count
from lossnav.optim._plan import TINY, damped_root, finite_step_, root_options
from lossnav.rules.recipe import Recipe

Variance = Literal["uncentred", "centred", "innovation"]
VARIANCES: tuple[Variance, ...] = get_args(Variance)


class Belief(Rule):
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
    Adam, AdamW                the defaults
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
            given, or a parameter is not real.
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
        options = {
            "lr": lr, "lr_overdamped": lr_overdamped, "betas": betas, "eps": eps, "discount": discount,
            "eps_inside": eps_inside, "variance": variance, "bias_correction": bias_correction,
            "curvature_scale": curvature_scale, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "fused": fused,
        }  # fmt: skip
        super().__init__(params, options)

    def _check(self, group: Group) -> None:
        check_options(group)

    def _renew(self, group: Group) -> None:
        respell(group)

    def _complete(self, group: Group) -> None:
        complete(group)
        super()._complete(group)

    def _recipe(self, group: Group, parameter: Tensor | None) -> Recipe:
        return recipe_of(group)

    def _adopts(self, saved: Group, own: Group) -> bool:
        _switch.check_adam(saved)
        if own["variance"] != "uncentred":
            raise ValueError(
                f"variance = {own['variance']!r}, but it must be 'uncentred' to go on from Adam's v, an average of g²"
            )
        return True

    def _assumed(self, group: Group) -> _readings.Found:
        return _readings.belief(group, discount_of(group))

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        start_state(parameter, state)

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        advance(group, params, grads, states)

    def _call(self, group: Group, states: list[State], counts: list[float]) -> Call:
        beta1, beta2 = group["betas"]
        return Call(
            kernel="belief",
            memory=("v", "m"),
            option=(
                1 - step_rate(group) * group["weight_decay"], *_plan_options(group), group["curvature_scale"],
                1.0 if group["maximize"] else -1.0, beta1, 1 - beta1, beta2, 1 - beta2, group["eps_inside"],
                2 * VARIANCES.index(group["variance"]) + (not is_overdamped(group)),
            ),
            each=each(counts, lambda n: _numbers(n, group)),
        )  # fmt: skip


def advance(group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
    """Take one step of the rule in place: believe, then move."""
    m, v = [s["m"] for s in states], [s["v"] for s in states]
    steps = [s["step"] for s in states]
    torch._foreach_add_(steps, 1.0)
    counts = [count(n) for n in steps]
    if group["weight_decay"] != 0:
        torch._foreach_mul_(params, 1 - step_rate(group) * group["weight_decay"])
    _believe(m, v, grads, counts, group)
    if not group["bias_correction"]:
        move(params, m, v, group)
    elif torch.compiler.is_compiling() or torch.is_tensor(group["lr"]):
        beta1, beta2 = group["betas"]
        mean = list(torch._foreach_div(m, [1 - beta1**n for n in counts]))
        move(params, mean, list(torch._foreach_div(v, [1 - beta2**n for n in counts])), group)
    else:
        for n in set(counts):  # of one count, nearly always
            same = [i for i, k in enumerate(counts) if k == n]
            move([params[i] for i in same], [m[i] for i in same], [v[i] for i in same], group, n)


def _plan_options(group: Group) -> tuple[float, ...]:
    """Return the rate and the four numbers of the root that divides it, for the kernel."""
    lr, epsilon = float(step_rate(group)), damping(group)
    if is_overdamped(group):
        return (lr, *root_options(0.0))
    if epsilon is None:
        return (lr, 1.0, 0.0, group["eps"] + TINY, 1.0)
    return (lr, *root_options(float(epsilon)))


def _numbers(n: float, group: Group) -> tuple[float, float, float, float]:
    """Return what step n divides m and v by, and m again, and what it multiplies the squared innovation by."""
    beta1, beta2 = group["betas"]
    corrections = (1 - beta1**n, 1 - beta2**n) if group["bias_correction"] else (1.0, 1.0)
    divisor, weight = innovation(n, beta1) if group["variance"] == "innovation" else (1.0, 0.0)
    return (*corrections, divisor, weight * (1 - beta2))


def _believe(m: list[Tensor], v: list[Tensor], grads: list[Tensor], counts: list[Any], group: Group) -> None:
    """Update both beliefs in place: m with g, v with the datum q."""
    beta1, beta2 = group["betas"]
    kind = group["variance"]
    torch._foreach_mul_(v, beta2)
    if kind == "innovation":  # before m moves: the datum must not know the mean that it is compared with
        divisors, weights = zip(*(innovation(n, beta1) for n in counts), strict=True)
        surprise = list(torch._foreach_div(m, list(divisors)))
        torch._foreach_sub_(surprise, grads)
        torch._foreach_mul_(surprise, surprise)
        torch._foreach_mul_(surprise, [weight * (1 - beta2) for weight in weights])
        torch._foreach_add_(v, surprise)
    torch._foreach_lerp_(m, grads, 1 - beta1)
    if kind == "uncentred":
        torch._foreach_addcmul_(v, grads, grads, 1 - beta2)
    elif kind == "centred":
        residual = list(torch._foreach_sub(grads, m))
        torch._foreach_addcmul_(v, residual, residual, 1 - beta2)


def move(
    params: list[Tensor], mean: list[Tensor], variance: list[Tensor], group: Group, n: float | None = None
) -> None:
    """Take the step −S(V) m̂, or its finite-Δt form, in place.

    With n, ``mean`` and ``variance`` are averages not yet corrected for their beginning in step 1. Their corrections
    c₁ and c₂ then move into numbers, √(v/c₂ + ε²) + ε = (√(v + c₂ε²) + √c₂ε)/√c₂: two passes over the memory less.
    """
    lr, epsilon, scale = step_rate(group), damping(group), group["curvature_scale"]
    sign = 1.0 if group["maximize"] else -1.0
    c1, c2 = (1.0, 1.0) if n is None else (1 - beta**n for beta in group["betas"])
    root = math.sqrt(c2)
    if group["eps_inside"] != 0:
        variance = list(torch._foreach_add(variance, c2 * group["eps_inside"]))
    plain = scale == 0 and not torch.is_tensor(lr)  # a tensor is never read here: a schedule may live on the device
    if is_overdamped(group):
        if plain:
            torch._foreach_add_(params, mean, alpha=sign * lr / c1)
            return
        gain = [torch.ones_like(x) for x in variance]
        root = 1.0
    else:
        if epsilon is None:
            gain = list(torch._foreach_sqrt(variance))
            torch._foreach_add_(gain, root * group["eps"] + TINY)
        else:
            gain = damped_root(variance, epsilon * root)
        if plain:
            torch._foreach_addcdiv_(params, mean, gain, sign * lr * (root / c1))
            return
        torch._foreach_reciprocal_(gain)
    torch._foreach_mul_(gain, lr * root)
    if scale != 0:
        finite_step_(gain, list(torch._foreach_mul(variance, scale / c2)))
    torch._foreach_addcmul_(params, mean, gain, sign / c1)


def innovation(n: Any, beta1: float) -> tuple[Any, Any]:
    """Return what to divide m by, and what to multiply (g − m̂)² by, for an unbiased variance in step n.

    m̂ averages n − 1 gradients with weights of sum one, so that E(g − m̂)² = V(1 + Σw²) for steady noise; the factor
    1/(1 + Σw²) is (1+β₁)(1−β₁ⁿ⁻¹) / (2(1−β₁ⁿ)). In the first step there is no mean yet: 1 and 1.
    """
    first = n == 1
    past = beta1 ** (n - 1)
    return 1 - past + first, (1 + beta1) * (1 - past) / (2 * (1 - beta1**n)) + first


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


def recipe_of(group: Group) -> Recipe:
    """Return the rule as a recipe."""
    return _recipes.belief(group, float(step_rate(group)), discount_of(group))


def respell(group: Group) -> None:
    """Turn lr = inf with an lr_overdamped, which no scheduler can move, into lr with discount = inf."""
    lr, slow = group["lr"], group["lr_overdamped"]
    older = isinstance(lr, float) and lr == math.inf and group["discount"] in (None, math.inf)
    if older and isinstance(slow, int | float) and 0 <= slow < math.inf:
        group.update(lr=slow, lr_overdamped=math.inf, discount=math.inf)
        if group.get("initial_lr") == math.inf:  # what a scheduler has written down
            group["initial_lr"] = slow


def complete(group: Group) -> None:
    """Say that there is no discount in a state that is older than the option."""
    if "lr_overdamped" in group:
        group.setdefault("discount", None)


def check_options(group: Group) -> None:
    """Raise ``ValueError`` unless the options of a belief rule are in range."""
    duration("lr_overdamped", group["lr_overdamped"], zero=True)
    if group["discount"] is not None:
        duration("discount", group["discount"], zero=True)
    rate = group["lr"]
    if isinstance(rate, float) and rate == group["lr_overdamped"] == math.inf:
        raise ValueError(
            "lr = inf, but it must be finite where lr_overdamped is inf too: nothing would limit the step. The step of "
            "SGD with a rate is lr=rate, discount=inf"
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
        check_decay(f"betas[{i}]", beta)
    one_of("variance", group["variance"], VARIANCES)
    if group["variance"] == "centred" and betas[0] == 0:
        raise ValueError(
            "betas[0] = 0, but it must be > 0 where variance is 'centred': with m = g there is no deviation "
            '("innovation" compares with the gradient before)'
        )
    for name in ("eps", "eps_inside", "curvature_scale", "weight_decay"):
        check_rate(name, group[name])


def start_state(parameter: Tensor, state: State) -> None:
    """Begin without beliefs: m = v = 0."""
    if "v" not in state:
        state["step"] = torch.zeros((), dtype=torch.float32)
        state["m"] = zeros(parameter)
        state["v"] = zeros(parameter)
