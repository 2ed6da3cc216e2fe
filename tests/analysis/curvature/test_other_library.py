"""Products against those of curvlinops, which were written by others: the Hessian, and gradients' second moment.

Transformers are left out: of ours its Hessian is not symmetric (by a tenth of the largest entry), of torch's it has
none, while ours is that of differences (``test_hessian_products``). Of squared errors with several outputs it takes
another second moment.
"""

from __future__ import annotations

import pytest
import torch
from curvature_cases import CASES, Case
from torch import nn
from torch.nn.functional import cross_entropy

from lossnav.analysis.curvature import GradientCovariance, Hessian

COMPARED = [case for case in CASES if "transformer" not in case.name]


def theirs(kind: str, case: Case) -> torch.Tensor:
    """Return curvlinops' matrix of that name."""
    import curvlinops

    model = case.model()
    loss = nn.CrossEntropyLoss() if case.loss is cross_entropy else nn.MSELoss()
    once = {"check_deterministic": False}  # else it multiplies twice
    operator = getattr(curvlinops, kind)(model, loss, list(model.parameters()), case.batches, **once)
    return operator @ torch.eye(operator.shape[1], dtype=torch.float64)


@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.name)
def test_the_hessian(case):
    ours = Hessian(case.model(), case.loss, case.batches).dense()
    torch.testing.assert_close(ours, theirs("HessianLinearOperator", case), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", [case for case in COMPARED if case.loss is cross_entropy], ids=lambda case: case.name)
def test_the_second_moment_of_gradients(case):
    ours = GradientCovariance(case.model(), case.loss, case.batches, centred=False).dense()
    torch.testing.assert_close(ours, theirs("EFLinearOperator", case), rtol=1e-12, atol=1e-14)
