r"""Metrics G(θ): what a step costs in each direction, :math:`|\dot\theta|_G^2=\dot\theta^\top G(\theta)\dot\theta`.

Every method accepts leading batch axes: θ of shape (..., D) gives a matrix of shape (..., D, D) and a derivative of
shape (..., D, D, D), whose last axis is the coordinate that is moved.
"""

from __future__ import annotations

from lossnav.problem.metrics.base import Metric
from lossnav.problem.metrics.constant import Constant, Diagonal, Kronecker
from lossnav.problem.metrics.function import Function
from lossnav.problem.metrics.varying import Fisher, Relative

__all__ = ["Constant", "Diagonal", "Fisher", "Function", "Kronecker", "Metric", "Relative"]
__dir__ = __all__.copy
