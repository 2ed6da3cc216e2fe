r"""Curvature of torch models without forming matrices: products, eigenpairs, traces, the covariance of gradients.

An ``Operator`` is a symmetric matrix that is known by its products with vectors. ``Hessian`` is that of a model's loss,
``GradientCovariance`` that of its gradients, example by example; ``Matrix`` is a tensor. ``eigenpairs`` and ``trace``
take any of them.

The algorithms work where the model is, on a CPU or a GPU, in float32 or float64; only small matrices go to the host.
"""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.analysis.curvature.covariance import GradientCovariance
from lossnav.analysis.curvature.eigen import Eigenpairs, eigenpairs
from lossnav.analysis.curvature.hessian import Hessian
from lossnav.analysis.curvature.noise import NoiseKernel, noise_kernel
from lossnav.analysis.curvature.operator import Matrix, Operator
from lossnav.analysis.curvature.quadrature import Quadrature, quadrature
from lossnav.analysis.curvature.trace import Trace, trace

__all__ = [
    "Eigenpairs", "GradientCovariance", "Hessian", "Matrix", "NoiseKernel", "Operator", "Quadrature", "Trace",
    "eigenpairs", "noise_kernel", "quadrature", "trace",
]  # fmt: skip
