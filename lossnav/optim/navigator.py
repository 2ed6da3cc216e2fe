"""The optimal step itself, Eq. 6, on an estimate of the Hessian's diagonal: from ballistic to gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import duration, one_of, positive, shown, weight, whole
from lossnav.optim import _hutchinson, _naming, _replicas, _shards, finite
from lossnav.optim._base import Found, Group, State, given
from lossnav.optim._generated import Generated
from lossnav.optim._options import check_rate
from lossnav.rules import assume
from lossnav.rules.assumption import Look
from lossnav.rules.derive.numbers import Number
from lossnav.rules.derive.program import flat_root, root, signed_root, wide_root
from lossnav.rules.derive.source import Statement, of_names

Curvature = Callable[[Tensor, Tensor], Tensor]
Estimate = Literal["second_moment", "hutchinson"]
Negative = Literal["absolute", "clip", "signed"]


_LARGE = 1e9  # γ/(2√(ηk)) above it has a square that float32 does not hold


@dataclass(frozen=True)
class Signed(assume.Hutchinson):
    """A curvature that is told, and keeps its sign: h = c·V + ε, and c·V not less than a bound."""

    bound: Any = None

    def believed(self, look: Look) -> Any:
        """Average what the step is told."""
        return look.told("v", self.beta, self.corrected)

    def term(self, believed: Any) -> Any:
        """Return h."""
        return (believed * self.scale).at_least(self.bound) + self.floor


class Navigator(Generated):
    r"""The optimal step of Eq. 6 in each coordinate, for any discount and any step length.

    For who knows the curvature, or can estimate it, and for experiments with the discount; what takes AdamW's place is
    ``Belief``.

    .. math:: \theta_i \leftarrow \theta_i - \frac{1-e^{-r_i\Delta t}}{h_i}\,g_i,\qquad
              r_i = \sqrt{\gamma^2/4+\eta kh_i}-\gamma/2

    in a form that never divides by h. The three numbers of the theory are three arguments: Δt is ``lr``, γ is
    ``gamma``, ηk is ``eta_k``; a coordinate of known curvature moves as ``lossnav.update`` says. h is a running average
    of an estimate of the Hessian's diagonal, bias-corrected.

    * ``gamma=0``: the ballistic step, −√(ηk) lr g/√h where lr·√(ηkh) ≪ 1. With ``curvature="second_moment"`` and
      small steps this is ``Ballistic(bias_correction=True)``.
    * γ² ≫ 4ηkh: gradient descent with the rate ηk·lr/γ. **The rate falls as 1/γ**: to compare discounts at one
      rate, let ``lr`` or ``eta_k`` grow with γ. ``gamma=inf`` is the limit in which it does: ``eta_k`` is then ηk/γ,
      and the step is that of gradient descent with the rate lr·eta_k (to first order in lr·h).
    * lr·r ≫ 1: Newton, −g/h.

    γ > 0 caps what a flat direction can do: no step is longer than (ηk·lr/γ)·|g| where h >= 0.

    Args:
        params: parameters, or dictionaries of parameter groups; every option but ``curvature`` and ``process_group``
            may differ between them.
        lr: Δt >= 0, the time that a step takes, in the units of 1/γ and 1/√(ηkh); a float or a 0-dim tensor.
        gamma: discount rate γ in [0, inf].
        curvature: where h comes from. "second_moment": g², as in ``Ballistic``; needs nothing, and is proportional to
            the curvature at best. "hutchinson": z ⊙ Hz with random signs z, unbiased for the diagonal of H;
            needs ``observe(loss)`` before, or ``loss.backward(create_graph=True)`` instead of, the backward pass (of a
            loss that torch's GradScaler scales the graph has the scaled curvature: there it must be ``observe``; the
            book's page Training stacks has it in the loops of Lightning, Hugging Face's Trainer and accelerate;
            ``training.train`` does it).
            A function (parameter, gradient) → tensor of the parameter's shape: called without autograd in each due
            step (a parameter of half precision is shown as it is, and of a sharded one the DTensors).
        beta: weight of the past in h, in [0, 1). 0 takes each estimate as it is.
        eta_k: ηk > 0.
        curvature_scale: factor > 0 from the estimate to h. For "second_moment" it is the c of h = cV.
        eps: added to h, >= 0, in the units of h. With γ = 0 it floors the root at √ε.
        negative: what to do where the average is negative. "absolute": |h|. "clip": 0. "signed": keep it, as the
            theory does, but not below −γ²/(4ηk), where a minimiser stops to exist: the step runs away from a saddle.
        every: a due step is one in ``every``, the first included; between them h is kept. Not for "second_moment".
        probes: number of sign vectors that an observation averages. Only for "hutchinson".
        seed: of the signs. Draws are numbered, so that a checkpoint resumes them; torch's generator is left alone. A
            parameter's draws belong to its name, if ``params`` has names (``named_parameters()``), else to its place.
        weight_decay: decoupled decay rate >= 0: θ ← (1 − lr · wd) θ first.
        maximize: go uphill; h is then the curvature of −loss.
        foreach: True, False, or None (True unless a parameter is a tensor subclass). The results are the same.
        fused: as in ``Ballistic``: one pass over the memory, if there is a C compiler.
        process_group: the processes that hold replicas of the model, as in DistributedDataParallel, and average what
            they see of the curvature as they average their gradients. "auto": all, if torch.distributed is
            initialised, for "hutchinson"; what a function returns is then taken as it is, which is the same on all
            replicas if it looks at its arguments alone. A ``ProcessGroup``: these, for a function too. None: this
            process trains alone.

    In several processes "hutchinson" needs ``observe`` (DistributedDataParallel carries no graph through its buckets),
    in the same steps on all processes of the group: they wait for each other. That they hold replicas is checked in
    each look, by shapes, seeds, counts and the sum of the weights' bits. Where a process holds parts (FSDP2, other
    DTensors) or the state of some parameters (ZeroRedundancyOptimizer) "hutchinson" is refused; the other curvatures
    give what one process would. A process group cannot be pickled or copied, nor can an optimizer that was given one.

    State: one tensor a parameter, ``h``, and counters of its steps and observations.

    Raises:
        ValueError: an option is out of range, a parameter is not real, the function gives a wrong shape, or the
            parameters are spread over processes where they must not be; in ``step``, if a gradient on the CPU is not
            finite (``check_gradients``).
        RuntimeError: in ``step``, for sparse gradients, or where "hutchinson" has nothing to look at; there or in
            ``observe``, if the processes of the group hold no replicas or do not answer.

    Example:
        >>> import torch
        >>> w = torch.nn.Parameter(torch.tensor([3.0, 1.0]))
        >>> optimizer = Navigator([w], lr=100.0, curvature="hutchinson")
        >>> loss = (torch.tensor([1.0, 10.0]) * w**2).sum()
        >>> optimizer.observe(loss)
        >>> loss.backward()
        >>> optimizer.step()  # a long step on a quadratic: Newton's
        >>> bool(w.abs().max() < 1e-6)
        True

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 7; the diagonal and its estimates are heuristics (ibid., App. B), and
        ``negative`` is ours. Hutchinson (1990) for the probes.
    """

    _divisors = ("curvature_scale",)
    _memory: tuple[str, ...] = ("step", "h", "seen", "index", "fresh")
    process_group: Any = "auto"  # for what was pickled before there was a choice
    _cleared = False  # whether gradients were cleared since the last observation

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        *,
        gamma: float = 0.0,
        curvature: Estimate | Curvature = "second_moment",
        beta: float = 0.999,
        eta_k: float = 1.0,
        curvature_scale: float = 1.0,
        eps: float = 1e-8,
        negative: Negative = "absolute",
        every: int = 1,
        probes: int = 1,
        seed: int = 0,
        weight_decay: float = 0.0,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        process_group: Any = "auto",
    ) -> None:
        self.curvature = check_curvature(curvature)
        self.process_group = _replicas.check_process_group(process_group)
        super().__init__(params, given(locals(), "curvature", "process_group"))

    def observe(self, loss: Tensor) -> None:
        """Look at the curvature of ``loss`` with random signs, before ``loss.backward()``; for "hutchinson".

        The next step then uses it, due or not. Costs about one more forward and backward pass a probe. Unlike
        ``backward(create_graph=True)``, it leaves no gradient with a graph behind. What is observed before one step
        adds up, as gradients do: show it each loss that ``backward`` is called on, divided as it is there. Several
        processes average what they see (``process_group``): all of them must look. Of a step that is left out after
        it, as torch's GradScaler leaves out those with an inf, it counts as an observation of its own where
        ``zero_grad`` of this optimizer clears the gradients.

        Args:
            loss: a scalar with its graph, twice differentiable, not scaled as torch's GradScaler scales another.
                Attention by torch's fast kernels is not; under ``sdpa_kernel(SDPBackend.MATH)`` it is.

        Raises:
            RuntimeError: the rule takes its curvature elsewhere, the loss does not depend on any parameter, or the
                processes of the group hold no replicas or do not answer.
            ValueError: the loss is no scalar, or what is seen on the CPU is not finite (see ``check_gradients``);
                nothing is remembered of it.
        """
        if self.curvature != "hutchinson":
            raise RuntimeError(f"observe(loss) is for curvature='hutchinson', but it is {shown(self.curvature)}")
        if self._cleared and self._was_left_out():
            self._forget()
        self._cleared = False
        params = [p for p in self._parameters() if p.requires_grad]
        for p in self._probe(params, _hutchinson.gradients(loss, params)):
            self.state[p]["fresh"] = self.state[p].get("fresh", 0) + 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients, as torch does; what was observed for a step that is left out is then complete."""
        super().zero_grad(set_to_none)
        self._cleared = True

    def _was_left_out(self) -> bool:
        """Whether a step that was observed for is not made: its gradients are cleared, or not finite (GradScaler)."""
        left = [p.grad for p in self._parameters() if self.state.get(p, {}).get("fresh") and p.grad is not None]
        return not 0 < sum(float(gradient.float().norm()) for gradient in left) < math.inf

    def _forget(self) -> None:
        """Let what is observed next be no further part of what was observed before."""
        for state in self.state.values():
            state.pop("fresh", None)

    def curvature_due(self) -> bool:
        """Whether the next step wants a curvature: ask it before paying for ``create_graph=True`` or ``observe``."""
        if self.curvature == "second_moment":
            return False
        return any(self._is_due(p, group) for group in self.param_groups for p in group["params"] if p.requires_grad)

    def _check(self, group: Group) -> None:
        for name in ("curvature", "process_group"):
            own = getattr(self, name)
            if group.get(name, own) != own:
                raise ValueError(f"{name} is {shown(group[name])} for a group, but {shown(own)} for all parameters")
        check_rate("lr", group["lr"])
        duration("gamma", group["gamma"], zero=True)
        weight("beta", group["beta"])
        positive("eta_k", group["eta_k"])
        positive("curvature_scale", group["curvature_scale"])
        check_rate("eps", group["eps"])
        one_of("negative", group["negative"], get_args(Negative))
        for name, low in (("every", 1), ("probes", 1), ("seed", 0)):
            whole(name, group[name], low=low)
        check_rate("weight_decay", group["weight_decay"])
        if self.process_group not in ("auto", None) and any(map(_shards.is_sharded, group["params"])):
            raise ValueError(
                "process_group is a group, but it must be 'auto' or None where parameters are DTensors: their parts "
                "are no replicas, and a function of them must average by itself what it takes from elsewhere"
            )
        if self.curvature == "hutchinson":
            _hutchinson.check_whole(group["params"], dealt=self._owner is not None)

    def _decides(self, group: Group, square: Tensor) -> dict[str, Tensor]:
        if self.curvature != "second_moment" or torch.is_tensor(group["lr"]):
            return {}
        eps, scale = group["eps"], group["curvature_scale"]
        h, share = scale * square, "curvature_scale · g² (g² is {typical} in the mean)"
        rate, half = group["eta_k"] * h, group["gamma"] / 2  # r where γ is infinite
        if half < math.inf:
            rate = rate / (half + torch.sqrt(half**2 + rate))
        newton = group["lr"] * rate > 1
        return {
            f"eps = {eps:g} exceeds most curvatures, {share}: set eps to 1e-8 of that, or scale the loss": h < eps,
            f"curvature_scale = {scale:g} makes the step Newton's, 1/(curvature_scale · g), on a curvature of {share}: "
            "set it, or lr, smaller, or scale the loss": newton,
        }

    def _assumed(self, group: Group) -> Found:
        source = self.curvature if isinstance(self.curvature, str) else "a function"
        words = f"Eq. 6 in each coordinate, exactly in Δt; gradient as seen, curvature an average of {source}"
        return self._read(group, words, "Curvatures that change little in a step")

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        if "h" not in state:
            if self.curvature == "hutchinson" and _naming.is_named(parameter, self.param_groups):
                state["index"] = _naming.number(parameter, self.param_groups)
            if self.curvature != "second_moment":
                state["seen"] = 0
            super()._start(parameter, group, state)

    def _form(self, group: Group) -> Hashable:
        plan = "wide" if damping(group) > _LARGE else "discounted"
        if group["gamma"] == math.inf:
            plan = "overdamped"
        signs = "" if self.curvature == "second_moment" else group["negative"]
        return plan, signs if plan == "overdamped" or signs != "signed" else "bounded", bool(group["weight_decay"] != 0)

    @staticmethod
    def _stated(form: Any) -> Statement:
        plan, signs, shrinks = form
        names = ("gamma", "beta", "eta_k", "scale", "eps", "lowest", "weight_decay")
        gamma, beta, control_gain, scale, eps, lowest, decay = map(Number.named, names)
        kind = assume.Hutchinson if signs == "absolute" else assume.SecondMoment
        seen = of_names(kind, beta=beta, scale=scale, floor=eps / scale)
        if signs not in ("", "absolute"):
            seen = of_names(Signed, beta=beta, scale=scale, floor=eps, bound=lowest)
        return Statement(
            of_names(assume.Filter, beta=0.0), seen, control_gain=control_gain,
            gamma=1.0 if plan == "overdamped" else gamma, held=True, shrinks=decay if shrinks else 0.0, names=names,
            keys={"v": "h"},
            root={"overdamped": flat_root, "wide": wide_root}.get(plan, signed_root if signs == "bounded" else root),
        )  # fmt: skip

    def _values(self, group: Group) -> tuple[Any, ...]:
        signed = self.curvature != "second_moment" and group["negative"] != "absolute"
        scale = group["curvature_scale"] * (-1.0 if signed and group["maximize"] else 1.0)
        gamma = 0.0 if group["gamma"] == math.inf else group["gamma"]
        return (
            group["lr"], gamma, group["beta"], group["eta_k"], scale, group["eps"], lowest_curvature(group),
            group["weight_decay"],
        )  # fmt: skip

    def _is_due(self, parameter: Tensor, group: Group) -> bool:
        state = self.state.get(parameter, {})  # the state is a defaultdict: indexing would create an entry
        return "step" not in state or int(state["step"].item()) % group["every"] == 0

    def _squares(self) -> bool:
        return self.curvature == "second_moment"

    def _check_gradients(self) -> None:
        try:
            super()._check_gradients()
        except ValueError:
            self._forget()
            raise

    def _look(self) -> None:
        """Bring the averages up to date for the parameters that move now."""
        if self.curvature == "second_moment":
            return
        due = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or p.grad.layout != torch.strided:  # the move refuses a sparse gradient by name
                    continue
                if self._is_due(p, group) and not self.state.get(p, {}).get("fresh", False):
                    due.append(p)
        if self.curvature == "hutchinson":
            if due:
                self._probe(due, _hutchinson.left_behind(due, self.process_group))
        else:
            self._learn(due, [self._called(p) for p in due], shared=self.process_group != "auto")
        for p in self._parameters():
            if p.grad is not None and p.grad.requires_grad:
                p.grad = p.grad.detach()  # parameter and graph would keep each other in memory
        self._forget()

    def _called(self, parameter: Tensor) -> Tensor:
        assert callable(self.curvature) and parameter.grad is not None
        curvature = self.curvature(parameter, parameter.grad)
        if not torch.is_tensor(curvature) or curvature.shape != parameter.shape:
            shape = f"shape {tuple(curvature.shape)}" if torch.is_tensor(curvature) else shown(curvature)
            raise ValueError(
                f"curvature returned {shape} for a parameter of shape {tuple(parameter.shape)}, "
                "but it must return a tensor of the parameter's shape"
            )
        return curvature

    def _probe(self, params: list[Tensor], grads: list[Tensor | None]) -> list[Tensor]:
        """Observe the curvature through the graphs of the gradients; return the parameters that have one.

        A parameter on which the loss does not depend has the gradient None, and is not observed.
        """
        home = {id(p): (i, group) for i, (p, group) in enumerate(self._members())}
        names = [None if g is None else self._draw_name(p, *home[id(p)]) for p, g in zip(params, grads, strict=True)]
        probes = [home[id(p)][1]["probes"] for p in params]
        return self._learn(params, _hutchinson.diagonal(params, grads, names, probes), shared=True)

    def _draw_name(self, parameter: Tensor, place: int, group: Group) -> _hutchinson.Name:
        """Return seed, parameter, number of the observation, and of how many parts it has been made so far."""
        state = self.state.get(parameter, {})
        if "h" not in state:
            state = self._state_of(parameter, group)
        parts = state.get("fresh", 0)
        return group["seed"], state.get("index", place), state["seen"] - bool(parts), parts

    def _learn(self, params: list[Tensor], estimates: list[Tensor | None], *, shared: bool) -> list[Tensor]:
        """Average the estimates over the replicas, if they are to be shared, and over time; return what has one."""
        home = {id(p): (i, group) for i, (p, group) in enumerate(self._members())}
        replicas = _replicas.found(self.process_group) if shared else None
        if replicas is not None and params:
            names = [(*self._draw_name(p, *home[id(p)]), home[id(p)][1]["probes"]) for p in params]
            estimates = _replicas.average(replicas, params, names, estimates)
        if self._judges():
            finite.check_estimates(self.param_groups, params, estimates, self._owning())
        for p, estimate in zip(params, estimates, strict=True):
            if estimate is not None:
                self._average(p, home[id(p)][1], estimate)
        return [p for p, estimate in zip(params, estimates, strict=True) if estimate is not None]

    @torch.no_grad()
    def _average(self, parameter: Tensor, group: Group, estimate: Tensor) -> None:
        state, beta = self._state_of(parameter, group), group["beta"]
        h, seen = _shards.local(state["h"]), _shards.laid_out_as(parameter, estimate.detach(), "the curvature")
        if not state.get("fresh", 0):  # else a further part of the loss that this step is about
            h.mul_(beta)
            state["seen"] += 1
        h.add_(_shards.local(seen).to(h), alpha=1 - beta)

    def _members(self) -> list[tuple[Tensor, Group]]:
        return [(p, group) for group in self.param_groups for p in group["params"]]

    def __getstate__(self) -> State:
        return {**super().__getstate__(), "curvature": self.curvature, "process_group": self.process_group}


def damping(group: Group) -> float:
    """Return ε = γ/(2√(ηk))."""
    return float(group["gamma"] / (2 * math.sqrt(group["eta_k"])))


def lowest_curvature(group: Group) -> float:
    """Return the least curvature that ``negative`` lets through; −ε² is what the root adds: no root of less than 0."""
    lowest = -torch.finfo(torch.float32).max  # torch refuses a bound that is no float32
    if group["negative"] == "clip" or group["gamma"] == math.inf:
        return 0.0 if group["negative"] == "clip" else lowest
    half = damping(group)
    return max(-(half * half), lowest)  # of large numbers −inf, where ** would be an error


def check_curvature(curvature: Any) -> str | Curvature:
    """Return where h comes from, or raise ``ValueError``."""
    if callable(curvature):
        function: Curvature = curvature
        return function
    if isinstance(curvature, str) and curvature in get_args(Estimate):
        return curvature
    allowed = ", ".join(map(repr, get_args(Estimate)))
    raise ValueError(f"curvature = {shown(curvature)}, but it must be one of {allowed} or a function")
