"""Learning with uncertain weights: a mean and a precision each, and entropy that makes old evidence fade (Sec. 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav import _random
from lossnav._checks import flag
from lossnav.optim import _naming, _shards
from lossnav.optim._base import Found, Group, Rule, State, given, zeros
from lossnav.optim._fused import Call
from lossnav.optim._native import NoKernel
from lossnav.optim._options import counter
from lossnav.optim._prior import prior
from lossnav.optim._uncertain_options import check_options, check_stability, forgetting

_UNIFORM, _NORMAL, _SAMPLE = 0, 1, 2  # what a random number is drawn for: part of its name
_ZERO = (
    "ZeroRedundancyOptimizer gives each process the precisions of some parameters alone (DistributedDataParallel with "
    "this optimizer itself, or fully_shard, can sample)"
)


class Uncertain(Rule):
    r"""Learning of a mean and a variance per weight, with entropy: the overdamped Eq. 148 with a proper prior.

    For streams of tasks that change, where weights must stay plastic; on one task that stays ``Belief`` learns faster.

    Each weight is N(μ, 1/p). Curvature sharpens it, entropy blurs it towards the prior N(μ_p, v_p), and the mean moves
    by an online Newton step at temperature T:

    .. math::
        p \leftarrow e^{-\rho}p + (1-e^{-\rho})\Bigl(\frac hT+\frac1{v_p}\Bigr),\qquad
        \mu \leftarrow \mu - \mathrm{lr}\,\frac{g+T(\mu-\mu_p)/v_p}{T\,p}

    so that a weight on which the loss does not depend is plastic again: its precision returns to the prior's at the
    rate ρ a step, and then its mean at the rate lr.
    ρ = ηλ_SΔt/γ is ``forgetting``; T = λ_S/k; the theory has lr = ρ, the default. At rest 1/p = 1/(h/T + 1/v_p), which
    without a prior is Eq. 149.

    The parameters hold the means. With ``sample=True`` the gradient is taken at a draw from the weights' distribution::

        with optimizer.sampled():
            loss = criterion(model(x), y)
            loss.backward()
        optimizer.step()

    The book's page Training stacks has this in the loops of Lightning, Hugging Face's Trainer and accelerate;
    ``training.train`` does it.
    p stays in [1/v_p, ∞) for all gradients whose squares over T are numbers. It is updated before μ, so that where h is
    the curvature of the loss, and no estimate as here, the mean cannot overshoot by more than it had to go after any
    jump of it, if lr < 2(1 − e^{−ρ}): for lr = ρ, below 1.594.

    Args:
        params: parameters, or dictionaries of parameter groups; every option below may differ between groups.
        lr: rate of the mean, >= 0, dimensionless; a number or a 0-dim tensor. Where ``forgetting``
            is None 1/lr steps are the memory, too: one task of a few hundred steps wants a larger rate than this.
        forgetting: ρ >= 0, rate at which old curvature fades; None means lr (and follows its scheduler).
        temperature: T > 0, in nats: the weight of entropy against the loss.
        prior_variance: v_p > 0, or "init": the variance of each tensor's values when it is first seen. A tensor of
            equal values (a zero bias, the ones of a normalisation) has none; it takes the mean, over weights, of
            its group's other tensors, and if they have none either, the square of its value, which must not be 0.
        clip: trust region: no step moves a mean by more than ``clip`` posterior standard deviations. None: unbounded.
        prior_mean: μ_p; None means the mean of each tensor's values when it is first seen: the prior of a network that
            has learned is where its weights are (the gains of a normalisation stay near 1).
        curvature_scale: factor >= 0 from g² (or, sampling, from g z √p) to the curvature h. 0 keeps p at the prior's.
            g² stands for curvature where gradients are noise, as they are in batches. Without noise it vanishes at
            a minimum, and the mean hops around it at a distance of √(lr/2h), unless T/v_p or ``clip`` is in the way.
        speed: χ = 1/(γΔt) >= 0: a mean that travels is less certain, 1/p grows by χu² a step, at most to v_p. u is a
            running average of the steps, because noise alone would saturate the raw ones.
        speed_beta: weight of the past in u, in [0, 1).
        sample: the gradient was taken in ``sampled()``; the curvature is then g z √p, clipped at 0 (Price's theorem).
        reset: None, or a ``Reset`` or its (probability, threshold, age) by place or by name: draw idle weights afresh.
        seed: of the samples and resets. Draws are numbered, so that a checkpoint resumes them; torch's generator
            is left alone. A parameter's draws belong to its name, if ``params`` has names (``named_parameters()``),
            else to its place in ``params``.
        maximize: go uphill.
        foreach: True, False, or None (True unless a parameter is a tensor subclass). The results are the same.
        fused: as in ``Ballistic``: one pass over the memory, if there is a C compiler. With ``sample``, ``speed`` or
            ``reset`` there is no such form.

    In several processes the results are those of one: replicas (DistributedDataParallel) draw the same samples; of a
    DTensor (FSDP2) each process moves its part, and gets its part of the whole tensor's draws and priors; inside a
    ZeroRedundancyOptimizer draws and priors are those of the whole model, but sampling is refused, since no process
    knows the precisions of all weights.

    State: ``precision`` p; with ``reset`` ``age``, steps since the last one; ``drift`` u with ``speed``; the prior's
    mean and variance; counters.

    Raises:
        ValueError: an option is out of range or leaves the mean unstable, a parameter is not real, "init" finds
            nothing to go by, or a process holds too little to sample; in ``step``, if a gradient on the CPU is not
            finite (``check_gradients``).
        RuntimeError: in ``step``, for sparse gradients, inside ``sampled()``, or without it where ``sample`` is True.

    Example:
        >>> import torch
        >>> w = torch.nn.Parameter(torch.tensor([3.0, -3.0]))
        >>> optimizer = Uncertain([w], lr=0.1, temperature=1.0)
        >>> for _ in range(300):
        ...     loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward())[1])
        >>> bool(w.abs().max() < 0.1)
        True

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 15, 16, 143–149. The prior, the finite step, the trust region and the
        resets are ours; g² for the curvature is a heuristic.
    """

    _sampling = False
    _memory: tuple[str, ...] = (
        "step", "precision", "age", "prior_mean", "prior_variance", "index", "draws", "used", "drift",
    )  # fmt: skip
    _flags = ("sample",)
    _divisors = ("temperature", "prior_variance")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        *,
        forgetting: float | None = None,
        temperature: float = 3e-4,
        prior_variance: float | str = "init",
        clip: float | None = 0.1,
        prior_mean: float | None = None,
        curvature_scale: float = 1.0,
        speed: float = 0.0,
        speed_beta: float = 0.99,
        sample: bool = False,
        reset: Sequence[float] | Mapping[str, float] | None = None,
        seed: int = 0,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))

    @contextmanager
    def sampled(self, again: bool = False) -> Iterator[None]:
        """Put draws from N(μ, 1/p) in the place of the means, for a loss and its gradient, or for a prediction.

        On leaving, also through an exception, every weight has its old bits back. Call ``backward`` inside. Each
        ``step`` with ``sample=True`` wants a draw of its own: the last one before it. Under ``fully_shard`` a root with
        parameters of its own must be given ``reshard_after_forward=True``, or would go on with the weights that it has
        gathered, and not see the draw, unless a ``backward`` came between.

        Args:
            again: put the last draw there again, if no step has used it yet, so that a gradient that is accumulated
                over several batches is taken at one place. Else the gradients would belong to several draws and the
                curvature, which is that of the last, would come out too small by their number.
        """
        flag("again", again)
        if self._owner is not None:
            raise RuntimeError(f"sampled() has no sample of all weights: {_ZERO}")
        if self._sampling:
            raise RuntimeError("sampled() inside sampled(): a draw of a draw is no sample of the weights")
        saved: list[tuple[Tensor, Tensor]] = []
        self._sampling = True
        try:
            with torch.no_grad():
                for group in self.param_groups:
                    for parameter in filter(lambda p: p.requires_grad, group["params"]):
                        state = self._state_of(parameter, group)
                        if not (again and group["sample"] and state["draws"] > state["used"]):
                            state["draws"] += 1
                        weights = _shards.local(parameter)
                        saved.append((parameter, weights.detach().clone()))
                        noise = last_draw(parameter, group, state) / _shards.local(state["precision"]).sqrt()
                        _put(parameter, weights + noise)
            yield
        finally:
            for parameter, mean in saved:
                _put(parameter, mean)
            self._sampling = False

    def _check(self, group: Group) -> None:
        check_options(group)
        if group["sample"] and self._owner is not None:
            raise ValueError(f"sample = True, but it must be False here: {_ZERO}")
        prior_given = group["prior_mean"] is not None and group["prior_variance"] != "init"
        if any(map(_shards.is_flattened, group["params"])) and (group["sample"] or group["reset"] or not prior_given):
            raise ValueError(
                "params holds flat parts of parameters (FullyShardedDataParallel), but Uncertain needs whole tensors "
                "or DTensors for its priors and draws: use torch.distributed.fsdp.fully_shard"
            )

    def _check_rate(self, group: Group) -> None:
        check_stability(group)

    def _assumed(self, group: Group) -> Found:
        words = "weights that are distributions, with entropy (Sec. 6): overdamped, g² for the curvature"
        why = "derive's learner has no uncertain weights: the rule is in the chapter on continual learning"
        return words, why, None

    def _look(self) -> None:
        """Find the priors of parameters that are new, and see that each gradient was taken at a sample of its own."""
        # A traced step that asked the state for its size would be traced anew for each new gradient.
        known = torch.compiler.is_compiling() or len(self.state) == sum(1 for _ in self._parameters())
        for group in self.param_groups:
            moved = () if known and not group["sample"] else [p for p in group["params"] if p.grad is not None]
            for p in moved:
                if "precision" not in self.state.get(p, ()):
                    self._state_of(p, group)
                if group["sample"] and self.state[p]["draws"] == self.state[p]["used"]:
                    raise RuntimeError(
                        f"Uncertain(sample=True) has no sample for a parameter of shape {tuple(p.shape)}: compute the "
                        "loss and call backward() inside `with optimizer.sampled():`, then step()"
                    )

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        if "precision" not in state:  # as sure as the prior
            mean, variance = prior(self, parameter, group)
            state["step"] = counter()
            state["precision"] = zeros(parameter).fill_(1 / variance)
            state["prior_mean"], state["prior_variance"] = mean, variance
            state["index"] = _naming.number(parameter, self._all_groups())
            state["draws"] = state["used"] = 0
        if group["reset"] is not None and ("age" not in state or state["age"].shape != parameter.shape):
            state["age"] = zeros(parameter)
            _shards.local(state["age"]).add_(state["step"].item())
        if group["speed"] != 0 and "drift" not in state:
            state["drift"] = zeros(parameter)

    def _call(self, group: Group, states: list[State]) -> Call:
        if self._sampling or group["sample"] or group["speed"] != 0 or group["reset"] is not None:
            raise NoKernel("its kernel knows neither sample nor speed nor reset")
        keep, learn = map(float, forgetting(group))
        temperature = group["temperature"]
        return Call(
            kernel=_kernel(),
            memory=("precision",),
            option=(
                keep, learn * group["curvature_scale"] / temperature,
                (-1.0 if group["maximize"] else 1.0) / temperature, -float(group["lr"]),
                math.inf if group["clip"] is None else group["clip"],
            ),
            each=[(learn / s["prior_variance"], 1 / s["prior_variance"], -s["prior_mean"] / s["prior_variance"])
                  for s in states],
        )  # fmt: skip

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        if self._sampling:
            raise RuntimeError("step() inside sampled(): the weights are not the means there; leave the block first")
        steps = [s["step"] for s in states]
        torch._foreach_add_(steps, 1.0)
        if group["reset"] is not None:
            torch._foreach_add_([s["age"] for s in states], 1.0)
        _sharpen(params, grads, states, group)
        moves = _moves(params, grads, states, group)
        torch._foreach_add_(params, moves)
        if group["speed"] != 0:
            _blur(moves, states, group)
        if group["reset"] is not None:
            for parameter, state in zip(params, states, strict=True):
                reset_idle(parameter, state, group)


@cache
def _kernel() -> str:
    return (resources.files(__package__) / "uncertain.c").read_text(encoding="utf-8")


@torch.no_grad()
def _put(parameter: Tensor, weights: Tensor) -> None:
    """Give the parameter, or the part of it that lies here, other values."""
    home = _shards.local(parameter)
    home.copy_(weights)
    if home is not parameter:  # autograd must know that the values it may have saved are gone
        torch.autograd.graph.increment_version(parameter)


def _sharpen(params: list[Tensor], grads: list[Tensor], states: list[State], group: Group) -> None:
    """Update the precisions: forget, then learn from the curvature and the prior."""
    p = [s["precision"] for s in states]
    if group["sample"]:
        target = list(torch._foreach_sqrt(p))
        torch._foreach_mul_(target, grads)
        torch._foreach_mul_(
            target, [last_draw(parameter, group, s) for parameter, s in zip(params, states, strict=True)]
        )
        for state in states:
            state["used"] = state["draws"]
        if group["maximize"]:
            torch._foreach_neg_(target)
        torch._foreach_clamp_min_(target, 0.0)
    else:
        target = list(torch._foreach_mul(grads, grads))
    torch._foreach_mul_(target, group["curvature_scale"] / group["temperature"])
    torch._foreach_add_(target, [1 / s["prior_variance"] for s in states])
    keep, learn = forgetting(group)
    torch._foreach_mul_(target, learn)
    torch._foreach_mul_(p, keep)
    torch._foreach_add_(p, target)


def _moves(params: list[Tensor], grads: list[Tensor], states: list[State], group: Group) -> list[Tensor]:
    """Return the displacements of the means."""
    p = [s["precision"] for s in states]
    uphill = -1.0 if group["maximize"] else 1.0
    moves = list(torch._foreach_sub(params, [s["prior_mean"] for s in states]))
    torch._foreach_mul_(moves, [1 / s["prior_variance"] for s in states])
    torch._foreach_add_(moves, grads, alpha=uphill / group["temperature"])
    torch._foreach_div_(moves, p)
    torch._foreach_mul_(moves, -group["lr"])
    if group["clip"] is not None:
        radius = list(torch._foreach_sqrt(p))
        torch._foreach_reciprocal_(radius)
        torch._foreach_mul_(radius, group["clip"])
        torch._foreach_minimum_(moves, radius)
        torch._foreach_neg_(radius)
        torch._foreach_maximum_(moves, radius)
    return moves


def _blur(moves: list[Tensor], states: list[State], group: Group) -> None:
    """Let the variance of a travelling mean grow, at most to the prior's."""
    p, drift = [s["precision"] for s in states], [s["drift"] for s in states]
    torch._foreach_mul_(drift, group["speed_beta"])
    torch._foreach_add_(drift, moves, alpha=1 - group["speed_beta"])
    variance = list(torch._foreach_reciprocal(p))
    torch._foreach_addcmul_(variance, drift, drift, group["speed"])
    torch._foreach_clamp_max_(variance, [s["prior_variance"] for s in states])
    torch._foreach_reciprocal_(variance)
    torch._foreach_copy_(p, variance)


def reset_idle(parameter: Tensor, state: State, group: Group) -> None:
    """Draw afresh, with some probability, the weights that have learned nothing for long, in place."""
    probability, threshold, age = group["reset"]
    p, variance, n = state["precision"], state["prior_variance"], int(state["step"].item())
    idle = (p * variance < 1 + threshold) & (state["age"] > age)
    chosen = idle & (_drawn(_random.uniform, parameter, group, state, n, _UNIFORM) < probability)
    fresh = state["prior_mean"] + math.sqrt(variance) * _drawn(_random.normal, parameter, group, state, n, _NORMAL)
    parameter.copy_(torch.where(chosen, fresh, parameter))
    p.masked_fill_(chosen, 1 / variance)
    state["age"].masked_fill_(chosen, 0.0)
    if "drift" in state:
        state["drift"].masked_fill_(chosen, 0.0)


def last_draw(parameter: Tensor, group: Group, state: State) -> Tensor:
    """Return z of the last draw; made again from its name, so that nobody has to keep it."""
    return _drawn(_random.normal, parameter, group, state, state["draws"], _SAMPLE)


def _drawn(
    numbers: Callable[..., Tensor], parameter: Tensor, group: Group, state: State, n: int, purpose: int
) -> Tensor:
    """Return random numbers for a parameter. Of a DTensor they are the part that lies here of those for the whole.

    So how it is spread over processes does not change what it gets; the whole is in memory for a moment.
    """
    like = _shards.layout(parameter, state)
    return _shards.part(numbers(like, state["precision"].dtype, group["seed"], state["index"], n, purpose), like)
