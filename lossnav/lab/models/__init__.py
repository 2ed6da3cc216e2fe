"""Networks whose initial weights depend on an explicit seed and on nothing else: the paper's two, and two more kinds.

Each of them is a function of its parameters and of one example: no running statistics, no dropout, nothing that one
image tells another. So the loss of a batch is the mean of its examples' losses, ``train()`` and ``eval()`` are the same
function, and gradients per example, Hessian-vector products, ensembles and shared batches mean what they say.
"""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.models.attention import vit
from lossnav.lab.models.paper import cnn, mlp
from lossnav.lab.models.residual import resnet

__all__ = ["cnn", "mlp", "resnet", "vit"]
