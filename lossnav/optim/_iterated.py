"""The polar factor of a matrix by Newton–Schulz, products of matrices alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

# p(x) = a x + b x³ + c x⁵, one after the other: of all five of this form the ones that bring [10⁻³, 1] nearest to 1
# (Amsel et al. 2025, Algorithm 1 with their margin of 1 % for what bfloat16 rounds)
_QUINTICS = tuple(
    (a / 1.01, b / 1.01**3, c / 1.01**5)
    for a, b, c in (
        (8.28721201814563, -23.595886519098837, 17.300387312530933),
        (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
        (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
        (3.3184196573706015, -2.488488024314874, 0.51004894012372),
        (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    )
)


def orthogonal(matrices: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Return nearly U Vᵀ of each of several matrices U S Vᵀ of one shape, a stack in ``dtype``.

    Each step puts an odd polynomial in the place of the singular values, as products of matrices in ``dtype``. Nothing
    is read back from a device, as it is for eigenvectors.
    """
    lost = math.sqrt(torch.finfo(matrices[0].dtype).tiny)  # what is less has no square
    size = torch.stack(torch._foreach_norm(list(matrices))).clamp_min(lost)
    x = torch.stack([matrix.to(dtype) for matrix in matrices]).div_(size.to(dtype)[:, None, None])
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    for a, b, c in _QUINTICS:
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
