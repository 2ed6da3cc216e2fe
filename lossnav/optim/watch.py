"""Watch any torch optimizer at work, without changing it: how far its steps are from optimal ones, and why."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from lossnav import _checks
from lossnav._shown import Shown
from lossnav.analysis.inference.records import Gram, Steps
from lossnav.optim import _shards

_FLOATS = 6  # numbers kept for a step: |δ|², L, ⟨g, δ⟩ before it and after it, |g|², ⟨δ, δ of the step before⟩
_GAUSS = np.polynomial.legendre.leggauss(48)  # √L has a kink where a step passes the minimum


class Watch(Shown):
    r"""What was seen of an optimizer's steps; ``watch`` makes one, ``plot()`` draws the loss over the way.

    Everything is measured at G = I and f = 0. A step δ_n leads from θ_n to θ_{n+1} on a straight line.

    Attributes:
        optimizer: the one that is watched.
    """

    _drawing = "watch"

    def __init__(
        self, optimizer: torch.optim.Optimizer, closure: Callable[[], Tensor] | None, every: int, lanczos: int,
        keep: int | None, sharers: tuple[Any, ...],
    ):  # fmt: skip
        self.optimizer = optimizer
        self._sharers = sharers  # groups of processes that have parts of the parameters, and sum what they see
        self._closure, self._every, self._lanczos = closure, every, lanczos
        self._moving: list[Tensor] = []  # the parameters of the step that is being made
        self._before: list[Tensor] = []  # their weights before it
        self._first: list[Tensor] = []  # the gradients there, where the step has called its closure again
        self._moved: list[Tensor] = []  # the parameters of the step before
        self._last: list[Tensor] = []  # its δ
        self._after: Tensor | None = None  # ⟨g, δ⟩ of it, with the gradients of the step that is being made
        self._keep = keep
        self._places: list[tuple[Tensor, Tensor]] = []  # parameters, and which of their entries are kept
        self._entries: list[Tensor] = []  # θ_0, g_0, θ_1, g_1, …, θ_N there, each (keep,)
        self._kept_gradient: Tensor | None = None  # g of the step that is being made
        self._rows: list[Tensor] = []  # one (6,) tensor a step, on the device; read only when it is asked for
        self._loss: Tensor | None = None
        self._spaces: list[tuple[NDArray[np.float64], float, NDArray[np.float64], float]] = []
        self._space: tuple[NDArray[np.float64], float, Tensor] | None = None

    def __repr__(self) -> str:
        return f"Watch(optimizer={type(self.optimizer).__name__}, steps={self.steps})"

    # ------------------------------------------------------------------------------------------------ what is recorded

    def note(self, loss: Tensor) -> None:
        """Say what the loss is at the weights of the next step, a scalar tensor; nothing waits for its value.

        Needed for ``timing`` where ``optimizer.step()`` gets no closure.
        """
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ValueError(f"loss = {_checks.shown(loss)}, but it must be a tensor with one number")
        self._loss = loss.detach().reshape(()).to(torch.float64)

    @property
    def steps(self) -> int:
        """How many steps were seen."""
        return len(self._rows)

    def _parameters(self) -> list[Tensor]:
        every = (p for group in self.optimizer.param_groups for p in group["params"])
        return [p for p in every if p.grad is not None]

    def _enter(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Keep the weights before a step; torch's ``args`` are those of ``step``, the optimizer itself before them."""
        begun = False
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self._begin()
            return args, kwargs

        def seen() -> Any:
            nonlocal begun
            if begun and not self._first:  # another call will leave its own gradients in the place of these
                self._first = [gradient.clone() for gradient in _gradients(self._moving)]
            value = closure()
            if not begun:  # only its first call is at the weights before the step
                begun = True
                if isinstance(value, Tensor):
                    self.note(value)
                self._begin()
            return value

        return ((args[0], seen, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "closure": seen})

    @torch.no_grad()
    def _begin(self) -> None:
        """Keep what a step begins with. Of one that raises nothing is recorded: the next begins here again."""
        # A GradScaler leaves it to torch's fused rules to divide gradients by its scale, and not to move if any is inf.
        scale = getattr(self.optimizer, "grad_scale", None)
        moving = self._moving = [] if getattr(self.optimizer, "found_inf", None) else self._parameters()
        self._first = []
        if not moving:
            return
        goes_on = list(map(id, moving)) == list(map(id, self._moved))
        weights = [_shards.local(p) for p in moving]
        unit = 1.0 if scale is None else scale
        self._after = _inner(_gradients(moving), self._last) / unit if goes_on else None
        if self._closure is not None and self.steps % self._every == 0:
            self._space = self._krylov(moving)
        if len(self._before) != len(moving) or not all(map(_alike, self._before, weights)):
            self._before = [torch.empty_like(p) for p in weights]
        torch._foreach_copy_(self._before, weights)
        if self._keep is not None:
            if not self._places:
                everything = [p for group in self.optimizer.param_groups for p in group["params"]]
                self._places = _places(everything, self._keep)
                self._entries.append(self._kept([p for p, _ in self._places]))
            self._kept_gradient = self._kept(
                [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() / unit for p, _ in self._places]
            )

    @torch.no_grad()
    def _leave(self, *_: Any) -> None:
        moving = self._moving
        if not moving:
            return
        steps = self._before
        torch._foreach_neg_(steps)
        torch._foreach_add_(steps, [_shards.local(p) for p in moving])  # δ
        # A row of numbers, which stay on the device: nobody waits for them.
        row = torch.full((_FLOATS,), math.nan, dtype=torch.float64, device=moving[0].device)
        row[0] = _inner(steps, steps)
        gradients = self._first or _gradients(moving)
        row[2] = _inner(gradients, steps)
        row[4] = _inner(gradients, gradients)
        if self._after is not None:
            row[3], row[5] = self._after, _inner(self._last, steps)
        for group in self._sharers:
            torch.distributed.all_reduce(row, group=group)
        if self._after is not None:
            self._rows[-1][3] = row[3]  # of the step before
            row[3] = math.nan
        if self._loss is not None:
            row[1] = self._loss
        if self._kept_gradient is not None:
            self._entries += [self._kept_gradient, self._kept([p for p, _ in self._places])]
        self._rows.append(row)
        self._before, self._last, self._moved = self._last, steps, moving
        self._loss, self._moving, self._first = None, [], []
        if self._space is not None:
            values, size, basis = self._space
            vectors = torch.cat([d.reshape(-1) for d in steps])
            share = (basis @ vectors.to(basis.dtype)).double().cpu().numpy()
            self._spaces.append((values, size, share, float(row[0])))
            self._space = None

    def _krylov(self, moving: list[Tensor]) -> tuple[NDArray[np.float64], float, Tensor]:
        """Return the Ritz values of the Hessian in the Krylov space of the gradient, |g|, and that space's basis.

        The first component of each Ritz vector is in the basis' rows: they are Ritz vectors times their share of g.
        """
        from lossnav.analysis.curvature.quadrature import lanczos  # only who compares directions pays for its import

        assert self._closure is not None
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # the fast kernels have no second derivative
            value = self._closure()
            if not isinstance(value, Tensor) or value.numel() != 1 or not value.requires_grad:
                raise ValueError("loss must return a scalar tensor that depends on the parameters")
            gradients = _dense(moving, torch.autograd.grad(value, moving, create_graph=True, allow_unused=True))
        first = torch.cat([s.detach().reshape(-1) for s in gradients])
        size = float(first.double().norm())
        if size == 0:
            return np.zeros((2, 1)), 0.0, first.new_zeros(1, len(first))

        def product(vector: Tensor) -> Tensor:
            with torch.enable_grad():
                parts = _split(vector, moving)
                hessian_products = torch.autograd.grad(gradients, moving, parts, retain_graph=True, allow_unused=True)
            return torch.cat([s.reshape(-1) for s in _dense(moving, hessian_products)])

        diagonal, beside, basis = lanczos(product, first, min(self._lanczos, len(first)))
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
        turned = torch.as_tensor(vectors * vectors[0], dtype=basis.dtype, device=basis.device).T @ basis
        return np.stack([values, vectors[0] ** 2]), size, turned

    def _kept(self, tensors: list[Tensor]) -> Tensor:
        return torch.cat([t.reshape(-1)[at] for t, (_, at) in zip(tensors, self._places, strict=True)])

    # ------------------------------------------------------------------------------------------------- what it comes to

    def record(self) -> Steps | Gram:
        """Return what ``ln.infer`` reads a rule from: the entries that were kept, else inner products of the steps.

        Random entries cannot see a rule that couples all of them: one that normalises or orthogonalises.

        Raises:
            ValueError: no step was seen, or with entries that were kept fewer than five.
        """
        table = self._table()
        single = not any(p.dtype == torch.float64 for group in self.optimizer.param_groups for p in group["params"])
        if self._entries:
            entries = torch.stack(self._entries).double().cpu().numpy()
            return Steps(entries[::2], entries[1::2])
        after = np.append(math.nan, table[:-1, 3])
        return Gram(table[:, 0], table[:, 4], table[:, 2], after, table[:, 5], single)

    def _table(self) -> NDArray[np.float64]:
        if not self._rows:
            raise ValueError("the optimizer made no step while it was watched")
        return torch.stack(self._rows).cpu().numpy()

    @property
    def lengths(self) -> NDArray[np.float64]:
        """|δ_n|, shape (N,)."""
        return np.sqrt(self._table()[:, 0])

    @property
    def losses(self) -> NDArray[np.float64]:
        """L(θ_n), shape (N,); NaN where it was not said."""
        return self._table()[:, 1]

    def _facts(self) -> dict[str, int]:
        return {"steps": self.steps}

    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {"length": self.lengths, "loss": self.losses} if self.steps else {}

    def _path(self, lowest: float) -> tuple[float, float]:
        """Return √(Σ|δ|²·Σ∫L) and Σ|δ|∫√L, with L in excess of ``lowest`` along each step but the last."""
        lowest, table = _checks.finite("lowest", lowest), self._table()
        if np.any(np.isnan(table[:, 1])):
            raise ValueError("loss was not said for every step: give a closure to step(), or call note(loss) before it")
        if len(table) < 2:
            raise ValueError("one step was seen, but at least 2 are needed: a step ends where the next begins")
        size, height, derivative, after = table[:-1, 0], table[:, 1] - lowest, table[:-1, 2], table[:-1, 3]
        if np.any(height < 0):
            raise ValueError(f"lowest = {lowest:g}, but a loss of {height.min() + lowest:g} was seen")
        s = (1 + _GAUSS[0]) / 2
        start, stop = height[:-1, None], height[1:, None]
        cubic = start * (1 + 2 * s) * (1 - s) ** 2 + stop * s**2 * (3 - 2 * s)
        cubic += derivative[:, None] * s * (1 - s) ** 2 - after[:, None] * s**2 * (1 - s)
        straight = start + s * (stop - start)
        along = np.where(np.isfinite(cubic), np.maximum(cubic, 0.0), straight)
        mean, root = along @ _GAUSS[1] / 2, np.sqrt(along) @ _GAUSS[1] / 2
        return math.sqrt(float(np.sum(size)) * float(np.sum(mean))), float(np.sum(np.sqrt(size) * root))

    def timing(self, lowest: float = 0.0) -> float:
        r"""Return the timing factor :math:`2\sqrt{AB}/\ell\ge1`: what the path costs at γ = 0, over what it must cost.

        A = Σ|δ|²/2η and B = kΣ∫L along the steps, with the best time Δt = √(A/B) of a step; ℓ is the length
        ∫√(2kL/η)|dθ|, which no timing can undercut. It needs neither η nor k. L between the ends of a step is the cubic
        through losses and slopes there. 1 means that steps are as long as √L wants them.

        Args:
            lowest: infimum of the loss; 0 for a cross-entropy or a mean square. With another one it is no bound.

        Raises:
            ValueError: if a loss is missing, or lies below ``lowest``.

        References:
            book: L23.
        """
        timed, length = self._path(lowest)
        if length == 0:
            raise ValueError("the steps have no length, so that there is nothing to time")
        return timed / length

    def regret(self, lowest: float = 0.0, *, eta: float = 1.0, k: float = 1.0) -> float:
        """Return a lower bound on the regret at γ = 0 under the best Δt: J_T minus the length (book: L23), unit ℓ.

        Rigorous as far as ``lowest`` is the infimum, the losses are those of the whole training set, and L between the
        ends of a step is the cubic.
        """
        scale = math.sqrt(2 * _checks.positive("k", k) / _checks.positive("eta", eta))
        timed, length = self._path(lowest)
        return scale * (timed - length)

    def alignment(self, gamma: ArrayLike) -> NDArray[np.float64]:
        r"""Return C, the cosine between the steps and those that are optimal for discounts γ/√(ηk), shape (M,).

        The optimal direction is :math:`-[(\tfrac{\gamma^2}4+|H|)^{1/2}+\tfrac\gamma2]^{-1}g` with the Hessian at the
        start of a step, by Lanczos' method from g. Where C peaks is the discount that the optimizer looks as if it had.
        Negative curvature counts by its size: not rigorous.

        Args:
            gamma: γ/√(ηk) in [0, inf], unit √curvature, shape (M,); inf is gradient descent.

        Raises:
            ValueError: naming the argument; also if ``watch`` was not given a ``loss``.

        References:
            book: L26, L27.
        """
        rates = _checks.reals("gamma", gamma)
        if rates.ndim != 1 or not np.all(rates >= 0):
            raise ValueError(f"gamma = {_checks.shown(gamma)}, but it must be numbers in [0, inf], shape (M,)")
        if not self._spaces:
            raise ValueError("no step was compared with an optimal one: give watch a loss")
        inner_products = np.zeros(len(rates))
        own, wanted = 0.0, np.zeros(len(rates))
        for values, size, share, moved in self._spaces:
            curvature = np.abs(values[0])
            scale = np.where(np.isinf(rates), 0.0, rates)[:, None]
            below = np.sqrt(scale**2 / 4 + curvature) + scale / 2
            factor = np.where(np.isinf(rates)[:, None], 1.0, 1 / np.maximum(below, 1e-300))
            factor[:, curvature == 0] = np.minimum(factor[:, curvature == 0], 1e150)
            inner_products -= size * (factor @ share)
            wanted += size**2 * (factor**2 @ values[1])
            own += moved
        with np.errstate(invalid="ignore", divide="ignore"):
            return inner_products / np.sqrt(own * wanted)


@contextmanager
def watch(
    optimizer: torch.optim.Optimizer,
    loss: Callable[[], Tensor] | None = None,
    *,
    every: int = 10,
    lanczos: int = 16,
    keep: int | None = None,
) -> Iterator[Watch]:
    """Record the steps of any torch optimizer while the block runs; the optimizer and its state are left as they are.

    What is kept stays on the device: two copies of the weights, and six numbers a step. Processes that have parts of
    the parameters (FSDP2) must all watch; each step is seen whole, and the loss is what each of them notes.

    Args:
        optimizer: of torch.
        loss: returns the loss at the current weights, without ``backward()``: for ``Watch.alignment`` alone. It should
            be that of fixed examples; each comparison costs ``lanczos`` products with its Hessian.
        every: how many steps apart comparisons are.
        lanczos: size of the Krylov space of a comparison.
        keep: of how many random entries weights and gradients are kept, two numbers each a step, from which
            ``ln.infer(seen, family="rule")`` reads the rule, schedules included, where all groups have one rate and
            one decay; None keeps none, which does for SGD and the heavy ball.

    Yields:
        What is seen.

    Example:
        >>> weights = torch.nn.Parameter(torch.tensor([1.0, 1.0], dtype=torch.float64))
        >>> descent = torch.optim.SGD([weights], lr=0.1)
        >>> with watch(descent) as seen:
        ...     for _ in range(40):
        ...         descent.zero_grad()
        ...         value = (weights**2 * torch.tensor([0.5, 5.0])).sum()
        ...         value.backward()
        ...         seen.note(value)
        ...         descent.step()
        >>> seen.steps, round(seen.timing(), 2)
        (40, 1.25)

    Raises:
        ValueError: naming the argument; of sharded parameters there is neither ``loss`` nor ``keep``.

    References:
        book: L23, L26, L27.
    """
    _checks.instance("optimizer", optimizer, torch.optim.Optimizer, "a torch.optim.Optimizer")
    closure = None if loss is None else _checks.function("loss", loss)
    entry_count = None if keep is None else _checks.whole("keep", keep, low=1)
    apart, size = _checks.whole("every", every, low=1), _checks.whole("lanczos", lanczos, low=1)
    several = {_shards.sharers(p) for group in optimizer.param_groups for p in group["params"]} or {()}
    if len(several) > 1:
        raise ValueError("optimizer holds parameters that lie on different processes, but all must be sharded alike")
    (sharers,) = several
    for name, given in (("loss", loss), ("keep", keep)):
        if sharers and given is not None:
            raise ValueError(f"{name} = {_checks.shown(given)}, but it must be None: the parameters are sharded")
    seen = Watch(optimizer, closure, apart, size, entry_count, sharers)
    try:
        before = optimizer.register_step_pre_hook(seen._enter)
    except AttributeError:  # it was never initialised, as accelerate's
        raise ValueError(
            f"optimizer = {type(optimizer).__name__} wraps another, but it must be the one that it wraps: "
            "of accelerate and Hugging Face's Trainer optimizer.optimizer"
        ) from None
    after = optimizer.register_step_post_hook(seen._leave)
    try:
        yield seen
    finally:
        before.remove()
        after.remove()
        seen._before, seen._last, seen._moved, seen._moving = [], [], [], []


def _places(parameters: list[Tensor], count: int) -> list[tuple[Tensor, Tensor]]:
    """Return parameters with random entries of each, ``count`` in all or as many as there are."""
    sizes = [p.numel() for p in parameters]
    total = sum(sizes)
    drawn = np.sort(np.random.default_rng(0).choice(total, min(count, total), replace=False))
    ends = np.cumsum([0, *sizes])
    parts = [drawn[(drawn >= low) & (drawn < high)] - low for low, high in itertools.pairwise(ends)]
    return [(p, torch.as_tensor(part, device=p.device)) for p, part in zip(parameters, parts, strict=True)]


def _alike(some: Tensor, other: Tensor) -> bool:
    """Whether one tensor can hold what the other does."""
    return (some.shape, some.dtype, some.device) == (other.shape, other.dtype, other.device)


def _inner(left: Any, right: list[Tensor]) -> Tensor:
    """Return Σ⟨left, right⟩ as a number on the device, of complex tensors that of both their parts."""
    if left is right:
        return torch.stack(torch._foreach_norm([_row(x) for x in right])).to(torch.float64).square().sum()
    pairs = ((_row(x), _row(y)) for x, y in zip(left, right, strict=True))
    return torch.stack([torch.dot(x, y.to(x.dtype)) for x, y in pairs]).to(torch.float64).sum()


def _gradients(parameters: list[Tensor]) -> list[Any]:
    """Return the parts that lie here of gradients, laid out as their parameters are."""
    gradients = [(p, p.grad.to_dense() if p.grad.is_sparse else p.grad) for p in parameters if p.grad is not None]
    return [_shards.local(_shards.laid_out_as(p, gradient, "the gradient")) for p, gradient in gradients]


def _dense(parameters: list[Tensor], derivatives: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Return derivatives by the parameters, zeros for those on which nothing depends."""
    pairs = zip(parameters, derivatives, strict=True)
    return tuple(torch.zeros_like(p) if s is None else s.to_dense() for p, s in pairs)


def _row(x: Tensor) -> Tensor:
    """Return the entries in a row, of complex tensors both parts; half precision in float32, whose sums have digits."""
    x = torch.view_as_real(x) if x.is_complex() else x
    return (x.float() if x.dtype.itemsize < 4 else x).reshape(-1)


def _split(vector: Tensor, like: list[Tensor]) -> list[Tensor]:
    parts = torch.split(vector, [p.numel() for p in like])
    return [part.view_as(p) for part, p in zip(parts, like, strict=True)]
