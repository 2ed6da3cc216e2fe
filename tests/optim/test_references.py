"""Each optimizer against the literal one of ``references``: weights and state, step by step."""

from __future__ import annotations

import math

import pytest
import torch
from optim_problem import advance, network, vector
from references import BallisticReference, BeliefReference, NavigatorReference, UncertainReference

from lossnav import optim

WALKED = {
    optim.Ballistic: (BallisticReference, (
        {}, {"bias_correction": False}, {"momentum": 0.9}, {"momentum": 0.9, "bias_correction": False},
        {"weight_decay": 0.1, "maximize": True}, {"weight_decay": 0.1, "momentum": 0.5, "maximize": True},
    )),
    optim.Belief: (BeliefReference, (
        {}, {"lr_overdamped": 0.5, "weight_decay": 0.1},
        {"lr": math.inf, "lr_overdamped": 0.05, "weight_decay": 0.1},
        {"lr": math.inf, "lr_overdamped": 0.05, "curvature_scale": 2.0},
        {"variance": "centred", "eps_inside": 1e-6},
        {"variance": "centred", "bias_correction": False, "lr_overdamped": 0.3},
        {"variance": "innovation", "curvature_scale": 30.0},
        {"variance": "innovation", "betas": (0.0, 0.9), "maximize": True},
        {"variance": "innovation", "bias_correction": False, "lr_overdamped": 0.1, "curvature_scale": 5.0},
        {"lr_overdamped": 0.0},
    )),
    optim.Navigator: (NavigatorReference, (
        {}, {"gamma": 3.0, "weight_decay": 0.1}, {"gamma": 1e12, "lr": 1e10}, {"gamma": math.inf, "eta_k": 0.3},
        {"lr": 0.5, "curvature_scale": 4.0}, {"eta_k": 7.0, "gamma": 1.0, "beta": 0.5, "eps": 0.1, "maximize": True},
    )),
    optim.Uncertain: (UncertainReference, (
        {}, {"forgetting": 0.05, "clip": None, "temperature": 0.1}, {"prior_variance": 2.0, "prior_mean": 0.3},
        {"curvature_scale": 0.0, "maximize": True}, {"speed": 3.0, "temperature": 0.1, "forgetting": 0.2},
        {"reset": (0.3, 10.0, 5.0), "temperature": 1.0, "seed": 2, "speed": 1.0},
    )),
}  # fmt: skip
CASES = [(rule, literal, options) for rule, (literal, given) in WALKED.items() for options in given]


@pytest.mark.parametrize(("rule", "literal", "options"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_fast_equals_reference_step_by_step(rule, literal, options):
    fast, plain = network(), network()
    ours, theirs = (make(m.parameters(), **{"lr": 0.01, **options}) for make, m in ((rule, fast), (literal, plain)))
    for step in range(50):
        advance(fast, ours, [step])
        advance(plain, theirs, [step])
        torch.testing.assert_close(vector(fast), vector(plain), rtol=1e-11, atol=1e-12)
        with torch.no_grad():  # from one place again: long steps multiply what rounding has left
            for p, q in zip(fast.parameters(), plain.parameters(), strict=True):
                q.copy_(p)
    for p, q in zip(fast.parameters(), plain.parameters(), strict=True):
        found, expected = dict(ours.state[p]), dict(theirs.state[q])
        if options.get("maximize") and "m" in found:  # uphill ours averages −g
            expected["m"] = -expected["m"]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-13)
