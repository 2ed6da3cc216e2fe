r"""Curvature of torch models without forming matrices: products, eigenpairs, traces, the covariance of gradients.

An ``Operator`` is a symmetric matrix that is known by its products with vectors. ``Hessian`` is that of a model's loss,
``GradientCovariance`` that of its gradients, example by example; ``Matrix`` is a tensor. ``eigenpairs`` and ``trace``
take any of them.

The algorithms work where the model is, on a CPU or a GPU, in float32 or float64; only small matrices go to the host.
"""

from .. import _torch  # noqa: F401  says how to get torch
from .covariance import GradientCovariance
from .eigen import Eigenpairs, eigenpairs
from .hessian import Hessian
from .operator import Matrix, Operator
from .trace import Trace, trace

__all__ = ["Eigenpairs", "GradientCovariance", "Hessian", "Matrix", "Operator", "Trace", "eigenpairs", "trace"]
