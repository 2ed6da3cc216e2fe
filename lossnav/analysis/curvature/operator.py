"""What eigenpairs and traces need of a matrix: its products with vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lossnav._checks import whole
from lossnav._tensors import tensor

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


class Operator(ABC):
    """A symmetric D×D matrix that is known by its products.

    A subclass sets the three attributes below and writes ``_products``.

    Attributes:
        dim: D, the number of parameters.
        dtype: of vectors, float32 or float64.
        device: of vectors.
        products: number of vectors that were multiplied so far.
    """

    dim: int
    dtype: torch.dtype
    device: torch.device
    products: int = 0

    @abstractmethod
    def _products(self, block: Tensor) -> Tensor:
        """Return the products with the rows of ``block``, (B, D), as the rows of a new tensor."""

    def matvec(self, vectors: Tensor) -> Tensor:
        """Return the product with a vector (D,), or with each row of a block (B, D), in the same shape.

        Raises:
            ValueError: ``vectors`` has another shape, dtype or device.
        """
        self._check_shape("vectors", vectors)
        if vectors.dtype != self.dtype or vectors.device != self.device:
            raise ValueError(
                f"vectors has dtype {vectors.dtype} on {vectors.device}, "
                f"but it must have {self.dtype} on {self.device}, as the operator"
            )
        block = vectors.detach().contiguous().view(-1, self.dim)
        self.products += len(block)
        return self._products(block).view(vectors.shape)

    def _check_shape(self, name: str, vectors: Any) -> None:
        """Raise unless this is a vector (D,) or a block of such, (B, D)."""
        allowed = f"a tensor of shape ({self.dim},) or (B, {self.dim})"
        if tensor(name, vectors, allowed).ndim not in (1, 2) or vectors.shape[-1] != self.dim:
            raise ValueError(f"{name} has shape {tuple(vectors.shape)}, but it must be {allowed}")

    def dense(self, block: int = 1) -> Tensor:
        """Return the matrix itself, (D, D), from D products, ``block`` at a time: for small D."""
        whole("block", block, low=1)
        unit = torch.eye(self.dim, dtype=self.dtype, device=self.device)
        return torch.cat([self.matvec(rows) for rows in unit.split(block)]).T.contiguous()

    def as_scipy(self) -> LinearOperator:
        """Return it in scipy's terms, for ``scipy.sparse.linalg``; vectors go through the host's memory."""
        from scipy.sparse.linalg import LinearOperator

        def product(columns: NDArray[Any]) -> NDArray[Any]:
            rows = torch.as_tensor(columns.T.copy(), dtype=self.dtype, device=self.device).view(-1, self.dim)
            return np.asarray(self.matvec(rows).cpu().numpy().T.reshape(columns.shape))

        dtype = torch.empty(0, dtype=self.dtype).numpy().dtype
        return LinearOperator((self.dim, self.dim), matvec=product, rmatvec=product, matmat=product, dtype=dtype)


class Matrix(Operator):
    """A symmetric matrix that is given as a tensor.

    Args:
        matrix: (D, D), float32 or float64.

    Raises:
        ValueError: it is not a square matrix of finite real numbers, or it differs from its transpose.

    Example:
        >>> Matrix(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).matvec(torch.tensor([1.0, 1.0]))
        tensor([3., 3.])
    """

    dtype: torch.dtype
    device: torch.device
    dim: int
    matrix: Tensor

    def __init__(self, matrix: Tensor) -> None:
        allowed = "a tensor of shape (D, D), D >= 1"
        if tensor("matrix", matrix, allowed, ndim=2).shape[0] != matrix.shape[1] or len(matrix) == 0:
            raise ValueError(f"matrix has shape {tuple(matrix.shape)}, but it must be {allowed}")
        self.dtype, self.device, self.dim = check_dtype("matrix", matrix.dtype), matrix.device, len(matrix)
        self.matrix = matrix.detach()
        if not torch.isfinite(self.matrix).all():
            raise ValueError("matrix has entries that are not finite, but all must be")
        gap, size = (self.matrix - self.matrix.T).abs().max().item(), self.matrix.abs().max().item()
        if gap > 1e3 * torch.finfo(self.dtype).eps * size:
            raise ValueError(f"matrix differs from its transpose by {gap:.3g}, but it must be symmetric")

    def _products(self, block: Tensor) -> Tensor:
        return block @ self.matrix.T


def check_dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    """Return ``dtype``, or raise unless it is one that orthogonal vectors can be kept in."""
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} has dtype {dtype}, but it must be torch.float32 or torch.float64")
    return dtype
