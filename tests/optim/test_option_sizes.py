"""Numbers too large or too small for a step: refused by name, or right; never a NaN without a word."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from optim_table import steepness

from lossnav import optim

NUMBERS = {
    optim.Ballistic: ("lr", "eps", "weight_decay"),
    optim.Belief: ("lr", "lr_overdamped", "discount", "eps", "eps_inside", "curvature_scale", "weight_decay"),
    optim.Navigator: ("lr", "gamma", "eta_k", "curvature_scale", "eps", "weight_decay"),
    optim.Uncertain: (
        "lr", "forgetting", "temperature", "prior_variance", "clip", "prior_mean", "curvature_scale", "speed",
    ),
}  # fmt: skip
VALUES = (1e300, 1e200, 1e39, 1e31, 1e20, 1e10, 1e-20, 1e-31, 1e-39, 1e-46, 1e-200, 1e-300)
CASES = [
    pytest.param(rule, option, impl, id=f"{rule.__name__}-{option}-{impl}")
    for rule, options in NUMBERS.items()
    for option in options
    for impl in ("foreach", "one by one", "fused")
    if impl != "fused" or rule is not optim.Uncertain
]


def moved(rule, dtype, **options):
    """The displacement after three steps, of coordinates with a gradient of 1, none, a small and a large one."""
    start = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=dtype)
    p = torch.nn.Parameter(start.clone())
    optimizer = rule([p], **options)
    for _ in range(3):
        p.grad = torch.tensor([1.0, 0.0, -1e-3, 1e3], dtype=dtype)
        optimizer.step()
    return (p.detach() - start).double()


@pytest.mark.parametrize(("rule", "option", "impl"), CASES)
def test_a_size_is_refused_or_its_step_is_right(rule, option, impl):
    """float64 is the oracle of float32, as far as a float32 number is what comes out."""
    how = {"foreach": {"foreach": True}, "one by one": {"foreach": False}, "fused": {"fused": True}}[impl]
    refused = 0
    for value in VALUES:
        if rule is optim.Ballistic and option == "eps" and value < 1e-38:  # said in its docstring
            continue
        try:
            found = moved(rule, torch.float32, **{option: value}, **how)
        except ValueError as error:
            assert str(error).startswith(f"{option} = {value}, but it must be")
            refused += 1
            continue
        expected = moved(rule, torch.float64, **{option: value}, **how)
        known = expected.abs() < 1e30
        assert torch.isfinite(expected).all() and torch.isfinite(found[known]).all(), value
        torch.testing.assert_close(found[known], expected[known], rtol=2e-3, atol=2e-6)
    assert refused >= 2  # 1e300 and 1e39, whatever the option


@pytest.mark.parametrize("impl", [{"foreach": True}, {"foreach": False}, {"fused": True}], ids=str)
def test_a_large_discount_of_a_signed_curvature_overflows_nowhere(impl):
    """ε² beyond float64 was an OverflowError of Python, in the kernel's options and in the bound of the curvature."""
    p = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    rule = optim.Navigator([p], lr=1.0, gamma=1e140, eta_k=1e140, negative="signed", curvature=steepness, **impl)
    p.grad = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)
    rule.step()
    h = 0.1 + p.grad + 1e-8  # γ = ηk: S = lr·ηk/γ = 1
    torch.testing.assert_close(p.detach(), 1 + torch.expm1(-h) * p.grad / h, rtol=1e-12, atol=0)
    unmoved = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    rule = optim.Navigator([unmoved], gamma=1e10, eta_k=1e-300, negative="signed", curvature=steepness, **impl)
    unmoved.grad = p.grad.clone()
    rule.step()
    assert torch.equal(unmoved.detach(), torch.ones(3, dtype=torch.float64))


def test_a_list_of_options_that_is_changed_where_it_lies_is_looked_at():
    p = torch.nn.Parameter(torch.ones(3))
    rule = optim.Belief([p], betas=[0.9, 0.999])
    p.grad = torch.ones(3)
    rule.step()
    rule.param_groups[0]["betas"][0], before = 1.5, p.detach().clone()
    with pytest.raises(ValueError, match=r"^betas\[0\] = 1\.5, but it must be"):
        rule.step()
    assert torch.equal(p.detach(), before)


@pytest.mark.parametrize(("dtype", "largest"), [(torch.float32, 1e30), (torch.float64, 1e150), (torch.bfloat16, 1e30)])
def test_the_bound_is_that_of_the_arithmetic_of_the_step(dtype, largest):
    p = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    optim.Ballistic([p], lr=largest)
    with pytest.raises(ValueError, match=r"^lr = .*, but it must be <= 1e\+\d+ where a step is made in float"):
        optim.Ballistic([p], lr=math.nextafter(largest, math.inf))
    rule = optim.Ballistic([torch.nn.Parameter(torch.ones(2, dtype=torch.float64))], lr=1e100)
    with pytest.raises(ValueError, match="lr = 1e"):  # the default is too large for this group, which is not added
        rule.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    assert len(rule.param_groups) == 1


@pytest.mark.parametrize("kind", [optim.Navigator, optim.Ballistic, optim.BallisticMatrix, optim.Uncertain])
def test_a_number_of_numpy_is_a_number_and_stays_none_in_a_checkpoint(kind, tmp_path):
    weight = torch.nn.Parameter(torch.ones(2, 2))
    weight.grad = torch.ones(2, 2)
    for rate in (np.array(0.1), np.geomspace(0.01, 1.0, 3)[1]):
        optimizer = kind([weight], lr=rate)
        optimizer.step()
        torch.save(optimizer.state_dict(), tmp_path / "state.pt")
        assert torch.load(tmp_path / "state.pt", weights_only=True)["param_groups"][0]["lr"] == pytest.approx(0.1)
    pair = optim.Belief([weight], betas=(np.float64(0.9), np.float32(0.5)))
    torch.save(pair.state_dict(), tmp_path / "state.pt")
    assert torch.load(tmp_path / "state.pt", weights_only=True)["param_groups"][0]["betas"] == (0.9, 0.5)
