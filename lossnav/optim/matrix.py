"""The ballistic rule for weight matrices: Shampoo's, SOAP's and Muon's steps from a belief about the curvature."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import finite, flag, one_of, whole
from lossnav._tensors import bfloat16_units
from lossnav.optim import _shards, belief
from lossnav.optim._base import Found, Group, Rule, State, given, portions, zeros
from lossnav.optim._generated import read, run, stated
from lossnav.optim._iterated import orthogonal
from lossnav.optim._options import count, counter
from lossnav.rules import assume
from lossnav.rules.bases import largest, turn, turn_back
from lossnav.rules.derive.source import Statement
from lossnav.rules.derive.state import ArrayLook, look
from lossnav.rules.matrices import Fit, Matrices

Curvature = Literal["eigenbasis", "likelihood", "kronecker", "bound", "polar", "diagonal"]
Long = Literal["identity", "polar"]
Root = Literal["auto", "exact", "iterated"]
FITS: dict[str, Fit] = {"likelihood": "likelihood", "kronecker": "moments", "bound": "bound"}
_STACKED = 1 << 22  # numbers in a stack of matrices; larger ones fill a processor or a device by themselves
_SMALL = 1 << 15  # numbers of a matrix with its bases, up to which a CPU puts it into a stack sooner than it moves it


class BallisticMatrix(belief.Believing):
    r"""The ballistic step −√(ηk) H^{−1/2} g for weight matrices, with beliefs about H that know rows and columns.

    To train a network whose layers are matrices: ``BallisticMatrix(optim.split(model))``. The default, "polar", is
    Muon's belief, with steps as long as Adam's at the same rate where gradients are noise: begin with Adam's rate.
    ``split`` leaves embeddings and the head to "diagonal": of a table of which a batch shows a few rows, "polar" would
    move those by tens of ``lr``.

    As in ``Belief``, a learner follows the mean gradient m, and takes the second moment C of the gradient for the
    curvature, H = cC. ``Belief`` takes its diagonal in the coordinates of the weights. Here a weight matrix, m × n, has
    bases Q_L and Q_R of its rows and columns, the eigenvectors of averages of ggᵀ and gᵀg, and C is diagonal in them:

    .. math::
        \theta \leftarrow \theta - \mathrm{lr}\; Q_L \left[\frac{Q_L^\top \hat m\, Q_R}{\sqrt{V}}\right] Q_R^\top

    =============  ===========================================================  ======================================
    ``curvature``  what is believed                                             relatives
    =============  ===========================================================  ======================================
    "eigenbasis"   C = (Q_L ⊗ Q_R) diag(V) (·)ᵀ, V an average of (Q_Lᵀ g Q_R)²  SOAP, eigenvalue-corrected Shampoo
    "kronecker"    C = L ⊗ R / tr L, averages of ggᵀ and gᵀg                    Shampoo with exponents (−½, −½)
    "likelihood"   C = L ⊗ R, each whitened by the other                        KL-Shampoo
    "bound"        C = L^½ ⊗ R^½, times the rank of g an upper bound            Shampoo as published, (−¼, −¼)
    "polar"        C = L ⊗ I, with L = m mᵀ/(n Σw²) read off m alone            Muon: √(Σw² max(m, n)) · U Vᵀ
    "diagonal"     C = diag(V), V an average of g²                              Adam: ``Belief``
    =============  ===========================================================  ======================================

    A convolution, (out, in, height, width), is the matrix (out, in·height·width). Vectors and scalars move as with
    ``Belief`` at the same rate: whatever the shape of C, where it fits the gradients, a step without memory moves a
    weight by the root mean square ``lr``, and one with memory on white noise by √Σw² of that, so that one rate serves
    all (w are the weights of gradients in m); "bound" does not fit, on white noise its steps are (mn)^¼ times shorter.
    ``lr_overdamped`` and ``discount`` plan with a discount γ, as in ``Belief``: the exponent −½ of C then falls to 0
    where C is small.

    To turn a gradient and its step takes 4mn(m + n) operations, where forward and backward pass on B rows have 6Bmn:
    little for convolutions, for wide layers a multiple of all else unless B is large. Cheaper, and another belief, is
    ``block``: Q_L and Q_R are block-diagonal, eigenvectors of the blocks on the diagonals of the averages, and each
    entry still has its own V (for a product of L and R: which are block-diagonal). That takes at most 8mn·block, and no
    side is too long for it.

    The first step finds the bases and moves no matrix ("polar" does): a gradient is diagonal in its own bases, and what
    else is believed would be rounding error. So m and V begin with the second. The bases turn in steps 2, 4, 8, … and
    then every ``every``, and all beliefs turn with them.

    Args:
        params: parameters, or dictionaries of parameter groups; every option below may differ between groups.
        lr: √(ηk/c) Δt >= 0, a length in weight space (root mean square of a weight's step); a number or a 0-dim tensor.
        betas: (β₁, β₂), weights of the past in m and in the averages that make C, each in [0, 1).
        eps: added to √V, as in Adam, >= 0, in the units of g.
        weight_decay: decoupled decay rate >= 0: θ ← (1 − lr · wd) θ first.
        curvature: what is believed, of the table; it is read when a parameter first has a gradient.
        every: steps between turns of the bases, >= 1. "polar" keeps no bases.
        watch: steps between gradients that the averages of ggᵀ and gᵀg see, >= 1.
        max_dim: the longest side that gets a basis, >= 1; one of length 1 has the identity, and a parameter with no
            basis at all moves as with ``Belief``. "polar" has its basis on the shorter side, also where that is 1 long:
            one row or column moves by a fixed length along m.
        block: None, or the most directions of a side that are mixed, >= 1: a longer side is cut into blocks of
            neighbours, as few as may be and as equal as may be, whose length is what ``max_dim`` limits then. Like
            that one and ``curvature`` it is read when a parameter first has a gradient. "polar" has no blocks.
        long: what a matrix does that has one side longer than ``max_dim``: "polar", it moves as with
            ``curvature="polar"``; "identity", it has a basis on the other side alone. In the first steps of
            the networks on which both were tried the first learned faster (the chapter on matrices).
        lr_overdamped: lr_s in [0, inf], the rate of a learner that discounts; as in ``Belief``.
        discount: ε in [0, inf], in the units of g, or None; as in ``Belief``.
        eps_relative: floor of V in units of its mean over the matrix, >= 0; None is 1e-8 for "eigenbasis", where it
            only hides rounding, 1e-6 for "polar", and 1e-3 for the products, whose smallest entries nobody saw.
        noise: what "polar" takes m for. True: for what an average with the weights w leaves of white noise, so that C
            is that of the gradients, and steps are as long as Adam's at the same rate where those are noise: ``lr`` at
            first, and √((1 − β₁)/(1 + β₁)) of it in the long run, .23 at β₁ = .9. False: for the gradient, Σw² = 1.
        root: how "polar" finds U Vᵀ. "exact": by eigenvectors, which know the floor ``eps_relative``, ``eps`` and a
            discount. "iterated": by five steps of Newton–Schulz in bfloat16, where the device multiplies that directly:
            singular values from 10⁻³ of the Frobenius norm on become 1 ± .16, smaller ones stay smaller; where they are
            0, as in a gradient of few examples, rounding takes their place, nearly as long as all else. "auto":
            iterated in what is no float64 and has none of those three options, on devices that have units for bfloat16
            and on all but CPUs, where eigenvectors would stall the step. Muon's steps are of this kind, too.
        maximize: go uphill.
        foreach: True, False, or None (True unless a parameter is a tensor subclass): matrices of one shape then move
            as a stack, if they are small or "polar", and vectors as with ``Belief``. The results differ by rounding,
            which chooses the directions in which no gradient has been.

    State of a matrix: ``m`` in the bases, a step counter, the averages ``left`` and ``right`` and the bases ``ql`` and
    ``qr``, each a matrix or, for a side in blocks, a stack of them; "eigenbasis" adds ``v`` (m, n), the products
    ``rows`` (m, 1) and ``columns`` (1, n); "polar" has ``m`` only. Beside the state the optimizer keeps two matrices of
    the largest size to compute in.
    The step is not compiled by ``torch.compile``: it runs as it is.

    Raises:
        ValueError: an option is out of range, or a parameter is not real, or lies in parts on several processes
            (FSDP, tensor parallelism): a matrix must lie whole, as it does under DistributedDataParallel; in ``step``,
            if a gradient on the CPU is not finite (``check_gradients``).
        RuntimeError: in ``step``, for sparse gradients.

    Example:
        >>> import torch
        >>> w = torch.nn.Parameter(torch.eye(2, dtype=torch.float64))
        >>> optimizer = BallisticMatrix([w], lr=0.01, curvature="polar")
        >>> loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward())[1])
        >>> [round(x, 4) for x in w.flatten().tolist()]
        [0.9859, 0.0, 0.0, 0.9859]

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 32, 138; what each belief about a matrix makes of them is ours. Gupta,
        Koren, Singer (2018) for Shampoo; Morwani et al. (2025) for its exponents; Vyas et al. (2025) for SOAP; Lin et
        al. (2025) for KL-Shampoo; Jordan et al. (2024) for Muon; Amsel et al. (2025) for the iteration's polynomials.
    """

    _memory: tuple[str, ...] = ("step", "m", "v", "left", "right", "ql", "qr", "rows", "columns")
    _fixed: ClassVar[Group] = {
        "eps_inside": 0.0, "curvature_scale": 0.0, "variance": "uncentred", "bias_correction": True
    }  # fmt: skip
    _call = Rule._call  # what has a basis has no kernel
    mixes = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 3e-3,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 0.0,
        weight_decay: float = 0.0,
        *,
        curvature: Curvature = "polar",
        every: int = 20,
        watch: int = 4,
        max_dim: int = 1024,
        lr_overdamped: float = math.inf,
        block: int | None = None,
        long: Long = "polar",
        discount: float | None = None,
        eps_relative: float | None = None,
        noise: bool = True,
        root: Root = "auto",
        maximize: bool = False,
        foreach: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))

    def _check(self, group: Group) -> None:
        super()._check(group)
        one_of("curvature", group["curvature"], get_args(Curvature))
        one_of("long", group["long"], get_args(Long))
        one_of("root", group["root"], get_args(Root))
        if group["root"] == "iterated" and not _has_plain_root(group):
            raise ValueError(
                "root = 'iterated', but it must be 'auto' or 'exact' where eps, eps_relative, discount or "
                "lr_overdamped is given: the iteration knows of none"
            )
        for name in ("every", "watch", "max_dim"):
            whole(name, group[name], low=1)
        flag("noise", group["noise"])
        if group["block"] is not None:
            whole("block", group["block"], low=1)
        if group["eps_relative"] is not None:
            finite("eps_relative", group["eps_relative"], low=0.0)
        for parameter in group["params"]:
            if _shards.is_sharded(parameter) or _shards.is_flattened(parameter):
                raise ValueError(
                    f"params holds a sharded tensor of shape {tuple(parameter.shape)}, but a matrix must lie whole on "
                    "each process: use DistributedDataParallel, or a rule that moves each weight by itself"
                )

    def _assumed(self, group: Group) -> Found:
        if self.rule is not None:  # its options say the rate at its own Δt
            return self._made_of(self.rule, float(group["lr"]) * (self.rule.dt or 1.0) / self.rule.options["lr"])
        kind, epsilon = group["curvature"], belief.discount_of(group)
        if kind == "diagonal":
            return super()._assumed(group)
        words = f"ballistic, curvature of a weight matrix: {kind}; belief: an average of g; all else as Belief"
        if group["block"] is not None or epsilon == math.inf:
            return words, "Bases in blocks, or no curvature at all, are none of derive's beliefs about matrices", None
        what = Statement(
            assume.Filter(group["betas"][0]), believed(group, kind), gamma=2 * (epsilon or 0.0),
            fading=group["eps"] if epsilon is None else 0.0,
        )  # fmt: skip
        return read(group, what, (group["lr"],), words, "Of matrices; of one mean (polar), or of averages")

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        if "m" in state:
            return
        block, most = group["block"], group["max_dim"]
        sides: tuple[int, ...] = (
            (len(parameter), parameter.numel() // max(len(parameter), 1)) if parameter.ndim > 1 else ()
        )
        has_basis = any(1 < largest(size, block) <= most for size in sides)
        if group["curvature"] == "diagonal" or not has_basis:
            super()._start(parameter, group, state)
            return
        kind = "polar" if group["long"] == "polar" and largest(max(sides), block) > most else group["curvature"]
        state["step"] = counter()
        state["m"] = zeros(parameter).reshape(sides)
        for name, shape in believed(group, kind).start(sides[0], sides[-1], block).items():
            state[name] = state["m"].new_zeros(shape)

    def _shapes(self, shape: torch.Size, entry: State) -> dict[str, torch.Size]:
        if "ql" not in entry and "qr" not in entry and "v" in entry:
            return super()._shapes(shape, entry)
        return {"m": torch.Size((shape[0], shape[1:].numel()))} if "m" in entry and len(shape) > 1 else {}

    def _portions(self, work: list[Tensor]) -> list[slice]:
        return [slice(None)]  # matrices of one shape move together, wherever they stand

    @torch.compiler.disable(recursive=True)
    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        vectors = [i for i, s in enumerate(states) if "v" in s and "ql" not in s and "qr" not in s]
        for part in portions([params[i] for i in vectors]):
            chosen = vectors[part]
            super()._update(group, [params[i] for i in chosen], [grads[i] for i in chosen], [states[i] for i in chosen])
        matrices = sorted({*range(len(params))} - {*vectors})
        if group["weight_decay"] != 0 and matrices:
            decay = 1 - belief.step_rate(group) * group["weight_decay"]
            torch._foreach_mul_([params[i] for i in matrices], decay)
        plan = cache(partial(self._plan, group))
        for alike in _alike(matrices, states):
            moved, some = [params[i] for i in alike], [states[i] for i in alike]
            torch._foreach_add_([s["step"] for s in some], 1.0)
            steps, rate = _steps(group, [grads[i].reshape(some[0]["m"].shape) for i in alike], some, self._room, plan)
            ways = [step.reshape(p.shape) for p, step in zip(moved, steps, strict=False)]
            if torch.is_tensor(rate):  # never read on the host: a schedule may live on the device
                torch._foreach_addcmul_(moved, [way.to(moved[0].dtype) for way in ways], [rate] * len(ways))
            elif ways:  # none in the step that finds the bases
                torch._foreach_add_(moved, ways, alpha=rate)

    def _plan(self, group: Group) -> Callable[[Tensor, Tensor, Tensor], None]:
        """Return what adds −S(V) m to a tensor, for m and a V that is used up on the way, whatever ``maximize`` is."""
        step, values = stated(self._stated, self._form(group, moves=False)), self._values(group)

        def add(target: Tensor, mean: Tensor, variance: Tensor) -> None:
            run(step, [target], [mean], [[mean], [variance]], [(1.0,)], values)

        return add

    def _room(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return two stacks of matrices to compute in, kept between steps."""
        buffers, key = self.__dict__.setdefault("_kept", {}), (like.device, like.dtype)
        if key not in buffers or buffers[key].shape[1] < like.numel():
            buffers[key] = like.new_empty(2, like.numel())
        first, second = buffers[key][:, : like.numel()].unflatten(1, like.shape)
        return first, second


class StackLook(ArrayLook):
    """A look at the gradients of a stack of matrices, whose averages move where they lie.

    Its ``memory`` are two stacks to compute in, of which the gradient may be one: on CPUs new ones would take a quarter
    of a step's time.
    """

    def __init__(self, gradient: Tensor, averages: State, n: int, memory: tuple[Tensor, Tensor]) -> None:
        super().__init__(gradient, averages, n)
        self._memory = memory

    def average(self, name: str, datum: Any, beta: Any, corrected: bool = True, words: str = "") -> Any:
        """Take a datum into an average."""
        value = self.averages[name].lerp_(datum, 1 - beta)
        return torch.div(value, self.seen(beta, self.n), out=None if name == "m" else datum) if corrected else value

    def square(self) -> Tensor:
        """Return g²."""
        return torch.mul(self.gradient, self.gradient, out=self._memory[self.gradient is self._memory[0]])


@torch.compiler.disable  # which would warn that it looks through the cache
def believed(group: Group, kind: str) -> Matrices:
    """Return the belief about matrices that the options of a group state; the one that ``derive`` takes."""
    return _believed(
        kind, group["betas"][1], group["eps_relative"], group["noise"], group["every"], group["watch"], group["max_dim"]
    )


@lru_cache(maxsize=256)
def _believed(
    kind: str, beta: float, floor: float | None, noise: bool, every: int, watch: int, max_dim: int
) -> Matrices:
    options: dict[str, Any] = {} if floor is None else {"floor": floor}
    if kind == "polar":
        return assume.Polar(noise=noise, **options)
    options |= {"every": every, "watch": watch, "max_dim": max_dim}
    if kind == "eigenbasis":
        return assume.Eigenbasis(beta, **options)
    return assume.Kronecker(beta, FITS.get(kind, "moments"), **options)


@lru_cache(maxsize=256)
def _mean(beta: float, corrected: bool) -> assume.Filter:
    return assume.Filter(beta, corrected=corrected)


def _alike(matrices: list[int], states: list[State]) -> Iterator[list[int]]:
    """Part matrices into lists that take one step together: of one shape and age, and with the same beliefs."""
    groups: dict[Any, list[int]] = {}
    for i in matrices:
        shapes = tuple((name, x.shape) for name, x in states[i].items())
        groups.setdefault((shapes, states[i]["step"].item()), []).append(i)
    for (shapes, _), alike in groups.items():
        size, state = sum(shape.numel() for _, shape in shapes), states[alike[0]]
        alone = ("ql" in state or "qr" in state) and state["m"].device.type == "cpu" and size > _SMALL
        most = 1 if alone else max(_STACKED // max(size, 1), 1)
        yield from (alike[first : first + most] for first in range(0, len(alike), most))


def _steps(
    group: Group,
    grads: list[Tensor],
    states: list[State],
    room: Callable[[Tensor], tuple[Tensor, Tensor]],
    plan: Callable[[], Callable[[Tensor, Tensor, Tensor], None]],
) -> tuple[Sequence[Tensor], Any]:
    """Take gradients into the states of matrices that are alike; return where these go, and at what rate.

    In the step that finds the bases they go nowhere.
    """
    first, n = states[0], int(count(states[0]["step"]))
    in_bases = "ql" in first or "qr" in first
    if not in_bases and (iterated_steps := _iterated(group, grads, states)) is not None:
        return iterated_steps
    # The averages behind the bases are large, and only some steps look at them.
    assumption: Any = believed(group, "polar" if not in_bases else "eigenbasis" if "v" in first else group["curvature"])
    watched = in_bases and assumption.is_watched(n)
    names = [name for name in first if name != "step" and (watched or name not in ("left", "right"))]
    stacks, g = {name: _stacked([s[name] for s in states]) for name in names}, _stacked(grads)
    if in_bases and n == 1:
        _keep(states, assumption.first(stacks, g))
        return (), 1.0
    # Into the bases, where all assumptions look at the gradient as on arrays; "polar" finds its basis only then.
    sides, memory = (stacks.get("ql"), stacks.get("qr")), room(g)
    view = StackLook(turn(g, *sides, memory), stacks, n - in_bases, memory)
    beta = group["betas"][0]
    mean, variance, _ = look(view, _mean(beta, not in_bases), assumption, None)
    if len(states) > 1:  # else it is the matrix itself
        _keep(states, {name: stacks[name] for name in ("m", "v", "rows", "columns") if name in stacks})
    # Each entry has the gain of one coordinate; what the averages have seen of the whole comes with the rate.
    way = turn(mean.signal, *view.bases)
    step = torch.zeros_like(way) if way is view.gradient else memory[variance is memory[0]].zero_()
    plan()(step, way, variance.expand_as(way).contiguous())
    step = turn_back(turn_back(step, *view.bases, memory), *sides, memory)
    if watched:
        _keep(states, assumption.after(stacks, g, n))
    sign = -1.0 if group["maximize"] else 1.0
    return _apart(step, states), sign / (1 - beta ** (n - 1)) if in_bases else sign


def _stacked(tensors: list[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.stack(tensors)


def _apart(stack: Tensor, states: list[State]) -> Sequence[Tensor]:
    return [stack] if len(states) == 1 else stack.unbind()


def _keep(states: list[State], changed: dict[str, Tensor]) -> None:
    """Put what has changed of a stack into the states of its matrices."""
    for name, stack in changed.items():
        torch._foreach_copy_([state[name] for state in states], list(_apart(stack, states)))


def _iterated(group: Group, grads: list[Tensor], states: list[State]) -> tuple[Sequence[Tensor], Any] | None:
    """Return the steps by Newton–Schulz, and their rate; None where the root is to be exact."""
    means = [state["m"] for state in states]
    dtype, units = means[0].dtype, bfloat16_units(means[0].device)
    fast = (units is not None or means[0].device.type != "cpu") and dtype != torch.float64 and _has_plain_root(group)
    if group["root"] == "exact" or (group["root"] == "auto" and not fast):
        return None
    torch._foreach_lerp_(means, grads, 1 - group["betas"][0])
    factors = orthogonal(means, torch.bfloat16 if units and dtype != torch.float64 else dtype)
    sign = 1.0 if group["maximize"] else -1.0
    squared_weights = _mean(group["betas"][0], True).kept(int(count(states[0]["step"]))) if group["noise"] else 1.0
    return factors.unbind(), sign * belief.step_rate(group) * math.sqrt(squared_weights * max(means[0].shape))


def _has_plain_root(group: Group) -> bool:
    """Whether the root that a step divides by is √V and no more."""
    free = belief.damping(group) is None and not belief.is_overdamped(group)
    return free and group["eps"] == 0 and group["eps_relative"] is None
