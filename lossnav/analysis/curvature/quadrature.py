"""How a vector is spread over the spectrum of a symmetric operator, without its eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from lossnav._checks import instance, whole
from lossnav._tensors import tensor
from lossnav.analysis.curvature.operator import Operator


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Points on the spectrum and what weighs on them: zᵀf(H)z ≈ Σ weights · f(nodes), averaged over the vectors z.

    Attributes:
        nodes: (V, K), Ritz values of each vector's Krylov space, rising.
        weights: (V, K), >= 0; those of a vector add up to |z|².
        products: number of vectors that were multiplied.
    """

    nodes: NDArray[np.float64]
    weights: NDArray[np.float64]
    products: int


def quadrature(operator: Operator, vectors: Tensor, *, steps: int = 30) -> Quadrature:
    r"""Return Gauss's quadrature for the measure that a vector has on the spectrum of H.

    .. math:: z^\top f(H)\,z = \sum_l (q_l\cdot z)^2 f(\rho_l) \approx \sum_k w_k\,f(x_k)

    exact for polynomials f of degree 2·steps − 1. With random signs as vectors, the mean estimates tr f(H), the
    spectral density; with ``GradientCovariance.sample``, tr Σf(H): what the noise of a batch does in all modes at once.

    Args:
        operator: the operator H.
        vectors: z, (D,) or (V, D), not zero.
        steps: K, products for each vector; less if the Krylov space is exhausted (the rest then has weight 0).

    Returns:
        Nodes and weights.

    Raises:
        ValueError: an argument is out of range, or the operator gives products that are not finite.

    Example:
        >>> from lossnav.analysis.curvature import Matrix
        >>> found = quadrature(Matrix(torch.diag(torch.tensor([1.0, 4.0]))), torch.tensor([3.0, 1.0]), steps=2)
        >>> found.nodes.round(3).tolist(), found.weights.round(3).tolist()
        ([[1.0, 4.0]], [[9.0, 1.0]])

    References:
        Golub, Welsch (1969); Ubaru, Chen, Saad (2017), stochastic Lanczos quadrature. All vectors of the basis are kept
        and orthogonalised twice, so that no eigenvalue is counted again.
    """
    instance("operator", operator, Operator, "an Operator, such as Hessian or Matrix")
    tensor("vectors", vectors, "a tensor (D,) or (V, D) of numbers", floating=True)
    steps = min(whole("steps", steps, low=1), operator.dim)
    if vectors.ndim not in (1, 2) or vectors.shape[-1] != operator.dim:
        raise ValueError(f"vectors has shape {tuple(vectors.shape)}, but it must be (D,) or (V, D), D = {operator.dim}")
    if not torch.isfinite(vectors).all() or not vectors.any(dim=-1).all():
        raise ValueError("vectors holds a vector that is zero or not finite, but each must have a direction")
    rows = vectors.to(operator.device, operator.dtype).view(-1, operator.dim)
    nodes, weights = np.zeros((len(rows), steps)), np.zeros((len(rows), steps))
    before = operator.products
    for index, row in enumerate(rows):
        row_nodes, row_weights = _gauss(operator, row, steps)
        nodes[index, : len(row_nodes)], weights[index, : len(row_nodes)] = row_nodes, row_weights
        nodes[index, len(row_nodes) :] = row_nodes[-1]
    return Quadrature(nodes, weights, operator.products - before)


def _gauss(operator: Operator, vector: Tensor, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights of one vector, by Lanczos."""
    diagonal, beside, _ = lanczos(operator.matvec, vector, steps)
    nodes, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
    return nodes, vector.double().norm().item() ** 2 * vectors[0] ** 2


def lanczos(
    product: Callable[[Tensor], Tensor], vector: Tensor, steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], Tensor]:
    """Return the tridiagonal matrix (its diagonal, and what is beside it) of H in the Krylov space of a vector.

    Args:
        product: maps a vector, shape (D,), to H times it.
        vector: not zero, shape (D,).
        steps: most products; fewer if the space is exhausted.

    Returns:
        Shapes (K,) and (K − 1,), and the orthonormal basis, shape (K, D).

    Raises:
        ValueError: a product is not finite.
    """
    basis = vector.new_zeros(steps, len(vector))
    basis[0] = vector / vector.double().norm().item()
    diagonal: list[float] = []
    beside: list[float] = []
    for k in range(steps):
        image = product(basis[k])
        diagonal.append(float(image @ basis[k]))
        if not np.isfinite(diagonal[-1]):
            raise ValueError("operator gives products that are not finite, but all their entries must be")
        for _ in range(2):
            image = image - (basis[: k + 1] @ image) @ basis[: k + 1]
        size = float(image.norm())
        scale = max(map(abs, [*diagonal, *beside]))
        if k + 1 == steps or size <= 8 * torch.finfo(vector.dtype).eps * scale * len(vector) ** 0.5:
            break
        beside.append(size)
        basis[k + 1] = image / size
    return np.array(diagonal), np.array(beside), basis[: len(diagonal)]
