"""Beliefs about the rows and columns of a weight matrix: how they are kept, and in which bases they are diagonal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, get_args

from lossnav import _checks
from lossnav.rules import bases
from lossnav.rules.assumption import Curvature, Look, Metric, root

Fit = Literal["moments", "likelihood", "bound"]
Kept = Mapping[str, Any]


class Matrices(Curvature, Metric):
    """A belief about rows and columns, as a curvature H = cC or as a metric G = (cC)^½.

    In bases of rows and columns C is diagonal, and each entry goes its own way. ``look.gradient`` and all averages
    stand in the bases that are kept; numpy's arrays and torch's tensors, matrices or stacks of them, go through these
    lines.
    """

    matrices = True
    h = "averaged"
    beta: Any
    fit: Any
    scale: Any
    floor: Any
    averages: ClassVar[bool] = True
    """Whether it remembers more than m."""

    def start(self, rows: int, columns: int, block: int | None = None) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what is remembered of a matrix, by name; ``block`` is the longest of a basis' blocks."""
        return {}

    def first(self, kept: Kept, g: Any) -> dict[str, Any]:
        """Return what changes with the first gradient, which finds the bases and is not followed."""
        return {}

    def after(self, kept: Kept, g: Any, n: int) -> dict[str, Any]:
        """Return what changes after the n-th gradient was followed."""
        return {}

    def term(self, believed: Any) -> Any:
        return self.scale * believed

    def price(self, believed: Any) -> Any:
        return root(self.term(believed))

    def words(self) -> str:
        return f"{type(self).__name__}, with {self.scale:g}·C; a plug-in"

    def _floored(self, variance: Any) -> Any:
        variance += self.floor * bases.average(variance)  # a new array, as corrected averages are
        return variance


class Followed(Matrices):
    """One whose bases are the eigenvectors of the averages ``left`` of ggᵀ and ``right`` of gᵀg."""

    every: Any
    watch: Any
    max_dim: Any
    sided: ClassVar[bool]
    """Whether V is made of means of rows and of columns, and no average of its own."""

    def __post_init__(self) -> None:
        count = partial(_checks.whole, low=1)
        _checks.check(self, beta=_checks.weight, scale=_checks.positive, floor=_checks.nonnegative)
        _checks.check(self, every=count, watch=count, max_dim=count)

    def start(self, rows: int, columns: int, block: int | None = None) -> dict[str, tuple[int, ...]]:
        """Return the shapes of averages and bases; without any basis V is an average of g²."""
        shapes: dict[str, tuple[int, ...]] = {}
        for size, factor, basis, means, shape in (
            (rows, "left", "ql", "rows", (rows, 1)), (columns, "right", "qr", "columns", (1, columns)),
        ):  # fmt: skip
            if self.has_basis(size, block):
                shapes[factor] = shapes[basis] = bases.form(size, block)
                if self.sided:
                    shapes[means] = shape
        return shapes if shapes and self.sided else {**shapes, "v": (rows, columns)}

    def has_basis(self, size: int, block: int | None) -> bool:
        """Whether a side has one: its largest block is neither one direction nor longer than ``max_dim``."""
        return 1 < bases.largest(size, block) <= self.max_dim

    def first(self, kept: Kept, g: Any) -> dict[str, Any]:
        """Return the bases of one gradient, of which V knows nothing."""
        seen = self._seen(kept, g, 0, 1)
        return {**seen, **bases.refreshed({**kept, **seen}, g.shape[-2:], True)}

    def after(self, kept: Kept, g: Any, n: int) -> dict[str, Any]:
        """Take the gradient into the averages behind the bases, and turn these, where the step is one for it."""
        changed: dict[str, Any] = {}
        if self.is_watched(n):
            since = next(k for k in range(1, n) if self.is_watched(n - k))
            changed = self._seen(kept, g, n - 1, since)
        if self._is_due(n):
            changed |= bases.refreshed({**kept, **changed}, g.shape[-2:], n <= self.every)
        return changed

    def is_watched(self, n: int) -> bool:
        """Whether the averages behind the bases see the n-th gradient."""
        return n == 1 or n % self.watch == 0 or self._is_due(n)

    def _is_due(self, n: int) -> bool:
        """Whether the bases turn after step n: often at first, when the averages are young."""
        return n % self.every == 0 or (n < self.every and n & (n - 1) == 0)

    def _seen(self, kept: Kept, g: Any, age: int, since: int) -> dict[str, Any]:
        """Return averages with ggᵀ and gᵀg in them, with the weight of ``since`` gradients.

        Args:
            kept: what is remembered.
            g: the gradient, in the coordinates of the weights.
            age: how many gradients the variances have seen.
            since: steps since the last one that was taken, whose weights this one has, too.
        """
        seen = {"left": g, "right": g.mT}
        whitened = self.fit == "likelihood" and "ql" in kept and "qr" in kept
        if whitened and age == 0:  # rows have the unit of g², columns none
            seen["right"] = g.mT / root(bases.positive(bases.average(g * g)))
        elif whitened:
            past = 1 - self.beta**age
            seen["left"] = bases.turn(g, None, kept["qr"]) / root(bases.level(kept["columns"], past, 1.0))
            seen["right"] = (bases.turn(g, kept["ql"], None) / root(bases.level(kept["rows"], past, 1.0))).mT
        share = 1 - self.beta**since
        return {
            name: bases.blended(kept[name], bases.squares(x, kept[name]), share)
            for name, x in seen.items()
            if name in kept
        }


@dataclass(frozen=True)
class Eigenbasis(Followed):
    r"""C = E[vec g vec gᵀ] of a weight matrix is believed to be diagonal in bases Q_L ⊗ Q_R of its rows and columns.

    The bases are eigenvectors of averages of ggᵀ and gᵀg, and V is an average of (Q_Lᵀ g Q_R)². As a curvature it is
    H = cC, as a metric G = (cC)^½, at c(V + floor · mean V). The first gradient finds the bases and is not followed;
    they turn after steps 2, 4, 8, … and then every ``every``, by one step of orthogonal iteration, and V with them.
    A tensor of more axes is the matrix of its first with all others.

    Args:
        beta: β in [0, 1), the weight of the past in V and in the averages behind the bases.
        scale: c > 0.
        floor: >= 0, in units of the mean of V.
        every: steps between turns of the bases, >= 1.
        watch: steps between gradients that the averages of ggᵀ and gᵀg see, >= 1.
        max_dim: the longest side that gets a basis, >= 1; a longer one, or one of length 1, has the identity. Without
            any basis V is an average of g², from the first step and without a floor.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Vyas et al. (2025) for SOAP, which is this belief with a ballistic plan; transport of V is ours.
    """

    beta: float
    scale: float = 1.0
    floor: float = 1e-8
    every: int = 20
    watch: int = 4
    max_dim: int = 1024
    fit: ClassVar[str] = "eigenbasis"  # type: ignore[misc]
    sided: ClassVar[bool] = False

    def believed(self, look: Look) -> Any:
        variance = look.average("v", look.square(), self.beta)
        based = look.kept("ql") is not None or look.kept("qr") is not None
        return self._floored(variance) if based else variance


@dataclass(frozen=True)
class Kronecker(Followed):
    r"""C = E[vec g vec gᵀ] of a weight matrix is believed to be a product of one matrix of rows and one of columns.

    As a curvature it is H = cC, as a metric G = (cC)^½. With L = E[ggᵀ] and R = E[gᵀg], of an m × n matrix,

    ============  ===============================================  =====================================================
    ``fit``       C                                                relatives, with a ballistic plan
    ============  ===============================================  =====================================================
    "moments"     L ⊗ R / tr L, which is C if C is a product       Shampoo with exponents (−½, −½)
    "likelihood"  L = E[gR⁻¹gᵀ]/n, R = E[gᵀL⁻¹g]/m                 KL-Shampoo
    "bound"       L^½ ⊗ R^½ >= C / rank g                          Shampoo as published, (−¼, −¼), of averages
    ============  ===============================================  =====================================================

    Their eigenvalues are averages in the bases, fresh in each step; the rest is as in ``Eigenbasis``.

    Args:
        beta: β in [0, 1), the weight of the past in the averages.
        fit: which product.
        scale: c > 0.
        floor: >= 0, in units of the mean eigenvalue of C.
        every, watch, max_dim: as in ``Eigenbasis``.

    Raises:
        ValueError: naming the argument that is out of range.

    References:
        Gupta, Koren, Singer (2018); Morwani et al. (2025) for the exponents; Lin et al. (2025) for KL-Shampoo.
    """

    beta: float
    fit: Fit = "moments"
    scale: float = 1.0
    floor: float = 1e-3
    every: int = 20
    watch: int = 4
    max_dim: int = 1024
    sided: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _checks.one_of("fit", self.fit, get_args(Fit))
        super().__post_init__()

    def believed(self, look: Look) -> Any:
        """Average rows and columns of the squares in the bases, and return the products."""
        square = look.square()
        m, n = square.shape[-2:]
        rows, columns = look.kept("rows"), look.kept("columns")
        if rows is None and columns is None:
            return look.average("v", square, self.beta)
        by_column = by_row = square
        if self.fit == "likelihood" and rows is not None and columns is not None:
            past = look.seen(self.beta, look.n - 1)
            by_column = square / bases.level(columns, past, 1.0)
            by_row = square / bases.level(rows, past, bases.positive(bases.average(square)))
        if rows is not None:
            rows = look.average("rows", by_column.mean(-1, keepdims=True), self.beta)
        if columns is not None:
            columns = look.average("columns", by_row.mean(-2, keepdims=True), self.beta)
        if rows is None or columns is None:  # L has n times the means of its rows
            means, length = (columns, m) if rows is None else (rows, n)
            return self._floored(means * length if self.fit == "bound" else means)
        if self.fit == "bound":
            return self._floored(root(rows * n) * root(columns * m))
        unit = 1.0 if self.fit == "likelihood" else bases.positive(bases.average(rows))
        return self._floored(rows * (columns / unit))


@dataclass(frozen=True)
class Polar(Matrices):
    r"""C of a weight matrix is believed to be L ⊗ I (outputs differ, inputs do not), L read off one mean m.

    As a curvature it is H = cC: the ballistic step is then −√(ηkn/c)·UVᵀ with m = UΣVᵀ, Muon's. As a metric it is
    G = (cC)^½. m is what the plan is made on, and the shorter side has the L. One mean is no estimate: there is no β.

    Args:
        scale: c > 0.
        floor: >= 0, in units of the mean eigenvalue of L.
        noise: what m is taken for. False: for the gradient itself, L = mmᵀ/n. True: for what is left of white noise,
            of whose second moment the average keeps the part Σw², ``Filter.kept``: L = mmᵀ/(n Σw²). Steps are then
            √Σw² as long, as are Adam's where gradients are noise: the whole at first, √((1 − β)/(1 + β)) in the end.

    Raises:
        ValueError: naming the argument that is out of range; or ``noise`` is True beside a belief that is no plain
            average, one with a trend or a share.

    References:
        Jordan et al. (2024) for Muon; the reading is ours.
    """

    beta: ClassVar[float] = 0.0  # type: ignore[misc]
    fit: ClassVar[str] = "polar"  # type: ignore[misc]
    averages: ClassVar[bool] = False

    scale: float = 1.0
    floor: float = 1e-6
    noise: bool = False

    def __post_init__(self) -> None:
        _checks.check(self, scale=_checks.positive, floor=_checks.nonnegative, noise=_checks.flag)

    def refuse(self, belief: Any) -> None:
        if self.noise and (belief.trend is not None or belief.share != 0):
            raise ValueError(
                f"noise = True and belief = {belief}, but the belief must be an average without trend and share"
            )

    def believed(self, look: Look) -> Any:
        """Find the basis of the shorter side in the mean, and return the mean squares along it."""
        mean = look.mean
        wide = mean.shape[-2] <= mean.shape[-1]
        basis = bases.eigenbasis(mean @ mean.mT if wide else mean.mT @ mean)
        look.bases = (basis, None) if wide else (None, basis)
        squares = (bases.turn(mean, *look.bases) ** 2).mean(-1 if wide else -2, keepdims=True)
        return self._floored(squares / look.belief.kept(look.n) if self.noise else squares)
