"""Some eigenpairs of a symmetric operator, by block Lanczos with thick restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm import tqdm

from lossnav._checks import NotConverged, flag, instance, one_of, positive, shown, whole
from lossnav._checks import seed as check_seed
from lossnav.analysis.curvature.krylov import Krylov, order_of
from lossnav.analysis.curvature.operator import Operator, check_dtype

WHICH = ("largest", "magnitude", "smallest")
KEPT = 3  # a restart keeps the wanted vectors and one in three of the others
FLOOR = 8  # times eps·|H|: residuals below are rounding errors of the products


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Approximate eigenpairs of a symmetric operator, in the order that was asked for.

    Attributes:
        values: eigenvalues, float64 on the CPU, (K,).
        vectors: orthonormal eigenvectors, one a *row*, on the operator's device and in its dtype, (K, D). The entry of
            largest magnitude is positive.
        residuals: |Hq − λq| of each, float64 on the CPU, (K,). They come from products that were made anyway, with
            their rounding errors.
        converged: whether each residual is as small as was asked for.
        products: number of vectors that were multiplied by H.
        restarts: number of times that the basis was shrunk.
    """

    values: Tensor
    vectors: Tensor
    residuals: Tensor
    converged: bool
    products: int
    restarts: int


def eigenpairs(
    operator: Operator,
    count: int,
    *,
    which: str = "largest",
    seed: int = 0,
    tolerance: float = 1e-4,
    basis: int | None = None,
    block: int = 1,
    copies: int = 0,
    max_products: int | None = None,
    throw: bool = True,
    progress: bool = False,
) -> Eigenpairs:
    r"""Return ``count`` eigenvalues at an end of the spectrum and their eigenvectors.

    A pair has converged when

    .. math:: |Hq-\lambda q| \le \max(\text{tolerance}\cdot|\lambda|,\ 8\,\epsilon\,|H|),

    ε the rounding error of the operator's dtype: no algorithm that multiplies in it sees much more, and it is how zero
    eigenvalues converge. (It is ε^⅔|H| where a Krylov space is exhausted, see below.) An eigenvalue then lies within
    that distance of λ; one that stands apart lies much closer, within residual²/gap.

    **Multiple eigenvalues.** With ``block=b`` an eigenvalue of multiplicity m is found at least min(m, b) times; the
    others are for rounding to bring. So where multiplicities are expected, for instance H = I ⊗ XᵀX/N of a linear model
    with C outputs and squared error (each C times), let ``block`` be at least the multiplicity. Where none is expected
    but the answer must be sure, ``copies=s`` looks for what was missed: when all has converged, a fresh random block
    takes s steps in the complement, and if that brings anything better, all is repeated; s = 10 finds what stands apart
    from the rest by a third of the rest's width. Eigenvalues closer together than the tolerance count as one. Where
    there are few distinct eigenvalues (low rank, say) the Krylov space is exhausted, mostly before the wanted pairs
    have converged; that is seen, and further blocks follow until they add nothing. Where D is no larger than the
    default basis, this is always so.

    Args:
        operator: the operator H.
        count: number of pairs, from 1 to D.
        which: "largest", "smallest" (the most negative first), or "magnitude" (the largest |λ| first).
        seed: of the random start.
        tolerance: of the residuals, relative to each |λ|, > 0.
        basis: number of vectors that are kept at most (D numbers each), at least count + 2·block. A larger basis saves
            products. By default 3·count + 20 or what suffices.
        block: number of vectors that are multiplied at a time.
        copies: number of steps in which a random block looks for copies that were missed. 0 looks for none.
        max_products: number of products after which it gives up, by default 20 times the basis.
        throw: raise if a pair has not converged; else return what was reached.
        progress: show a bar of converged pairs.

    Returns:
        The pairs.

    Raises:
        ValueError: an argument is out of range; the operator is not symmetric, or gives products that are not finite.
        NotConverged: with what was reached and what to try.

    Example:
        >>> from lossnav.analysis.curvature import Matrix
        >>> found = eigenpairs(Matrix(torch.diag(torch.arange(100.0))), 3)
        >>> found.values.round(decimals=3).tolist()
        [99.0, 98.0, 97.0]

    References:
        Wu, Simon (2000), thick restarts; Stewart (2002), for the form of the recurrence; Daniel, Gragg, Kaufman,
        Stewart (1976), on when to orthogonalise twice. The end of exhausted runs is ours.
    """
    instance("operator", operator, Operator, "an Operator, such as Hessian or Matrix")
    check_dtype("operator", operator.dtype)
    count = whole("count", count, low=1)
    if count > operator.dim:
        raise ValueError(f"count = {shown(count)}, but it must be at most D = {operator.dim}")
    one_of("which", which, WHICH)
    positive("tolerance", tolerance)
    whole("block", block, low=1)
    whole("copies", copies, low=0)
    check_seed("seed", seed, low=0)
    flag("throw", throw)
    flag("progress", progress)
    basis_size = _default(count, block) if basis is None else whole("basis", basis, low=count + 2 * block)
    capacity = min(operator.dim, basis_size)
    limit = 20 * capacity if max_products is None else whole("max_products", max_products, low=1)
    search = _Search(Krylov(operator, capacity, min(block, operator.dim), seed), count, which, tolerance, copies)
    with tqdm(total=count, disable=not progress, unit="pair") as bar:
        while not search.step(limit):
            bar.update(search.settled - bar.n)
            bar.set_postfix(products=search.products)
        bar.update(search.settled - bar.n)
    pairs = search.pairs()
    if throw and not pairs.converged:
        raise NotConverged(
            f"{search.settled} of {count} eigenpairs have residuals within {tolerance:g} of their eigenvalues after "
            f"{pairs.products} products and {pairs.restarts} restarts (the largest residual is "
            f"{pairs.residuals.max():.3g}): allow more products or a larger basis, ask for a larger tolerance, "
            "or take what was reached with throw=False"
        )
    return pairs


def _default(count: int, block: int) -> int:
    """Return a number of vectors to keep that leaves room to grow between restarts."""
    return max(3 * count + 20, count + 8 * block)


class _Search:
    """Expand, look, restart; and look for copies.

    A run that is exhausted after s steps has met s distinct eigenvalues (with one vector at a time), and a random
    vector has a part along each eigenspace: these are all there are. What is wanted can then only hide in further
    copies, and a further run sees one of each left within s steps. The end is a run that changes nothing.
    """

    def __init__(self, space: Krylov, count: int, which: str, tolerance: float, copies: int) -> None:
        self.space, self.count, self.which, self.tolerance = space, count, which, tolerance
        self.products = self.restarts = self.settled = 0
        self._steps = 0  # of this run
        self._enough = copies  # steps of a run that would have found copies; 0 if no one looks for them
        dim = space.operator.dim
        self._is_small = space.capacity == dim <= _default(count, space.block)  # few products would give all pairs
        self._known: Tensor | None = None  # wanted values when this run began, if it began to look for copies

    def step(self, limit: int) -> bool:
        """Multiply once and do what follows from it; return whether this is the end."""
        space = self.space
        self.products += space.active
        self._steps += 1
        space.expand()
        self._look()
        if space.applied == space.operator.dim or self.products >= limit:
            return True
        if space.is_exhausted:
            self._enough = max(self._steps, self._enough)
        begin = space.is_exhausted
        if self.settled == self.count and self._has_looked():
            if self._found_nothing():
                return True
            begin, self._known = True, self._values[self._order[: self.count]]
        if begin:
            self._make_room(space.active + 2 * space.block, self.count)
            space.begin()
            self._steps = 0
        self._make_room(space.active, self.count + max(0, space.capacity - self.count - 2 * space.active) // KEPT)
        return False

    def pairs(self) -> Eigenpairs:
        """Return the best pairs there are."""
        best = self._order[: self.count]
        vectors = self.space.rotated(self._vectors[:, best])
        largest = vectors.gather(1, vectors.abs().argmax(1, keepdim=True))
        vectors /= torch.linalg.vector_norm(vectors, dim=1, keepdim=True) * torch.where(largest < 0, -1, 1)
        return Eigenpairs(
            self._values[best], vectors, self._residuals[best], self.settled == self.count, self.products, self.restarts
        )

    def _look(self) -> None:
        space = self.space
        self._values, self._vectors, self._residuals = space.ritz()
        norm = max(space.scale, self._values.abs().max().item())
        skewness, allowed = space.skewness(), math.sqrt(space.eps) * norm
        if skewness > allowed:
            raise ValueError(f"operator differs from its transpose by {skewness:.3g}, but it must be symmetric")
        self._order = order_of(self._values, self.which)
        best = self._order[: self.count]
        floor = norm * (space.eps ** (2 / 3) if space.was_exhausted else FLOOR * space.eps)
        bound = (self.tolerance * self._values[best].abs()).clamp(min=floor)
        self.settled = int((self._residuals[best] <= bound).sum())

    def _has_looked(self) -> bool:
        """Whether this run has gone far enough to be believed."""
        if self.space.is_exhausted:
            return True
        if self._known is None:
            return not self._is_small
        return self._steps >= self._enough

    def _found_nothing(self) -> bool:
        """Whether no one looks for copies, or a run that looked for them changed no wanted value."""
        if self._enough == 0:
            return True
        if self._known is None:
            return False
        now = self._values[self._order[: self.count]]
        return bool((now - self._known).abs().max() <= self.tolerance * now.abs().max())

    def _make_room(self, new: int, keep: int) -> None:
        """Keep the wanted Ritz vectors and the best of the others, if the basis has no room for ``new`` vectors."""
        if not self.space.has_room(new):
            self.space.shrink(self._vectors[:, self._order[:keep]])
            self.restarts += 1
            self._look()
