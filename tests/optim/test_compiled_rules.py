"""``torch.compile`` of a generated step, which moves weights as the plain one; the others are in the contract."""

from __future__ import annotations

import pytest
import torch
from resources import need_torchs_compiler

import lossnav as ln
from lossnav import assume

DECAYING = ln.Objective(gamma=0.1, drift=ln.drifts.weight_decay(1e-3))
AVERAGED = {"curvature": assume.SecondMoment(0.99), "dt": 1e-2}
DERIVED = {
    "derived Adam": ln.derive(ln.Objective(), belief=assume.Filter(0.9, fading=1e-8), **AVERAGED),
    "derived, finite step": ln.derive(DECAYING, belief=assume.Filter(0.9, fading=0.1), **AVERAGED, exact=True),
    "derived, trend": ln.derive(DECAYING, belief=assume.Filter(0.9, trend=0.9), **AVERAGED),
}


def walked(make, backend=None, steps=10):
    """Return parameters after some steps, those after the second compiled, and how many graphs there were after each.

    The first parameter gets a gradient from the third step on, so that the two stand in different steps; the rate
    falls after the sixth.
    """
    generator = torch.Generator().manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(s, generator=generator, dtype=torch.float64)) for s in ((4, 3), (3,))]
    optimizer = make(params)
    step, graphs = optimizer.step, []
    if backend is not None:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        step = torch.compile(optimizer.step, backend=backend)
    for n in range(steps):
        for i, p in enumerate(params):
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64)
            if n < 2 and i == 0:
                p.grad = None
        (step if n >= 3 else optimizer.step)()
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
        if n == 5:
            optimizer.param_groups[0]["lr"] *= 0.5
    return torch.cat([p.detach().flatten() for p in params]), graphs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["derived, finite step", "derived, trend"])
def test_a_generated_step_is_traced_once_for_all_steps_and_once_for_rates(name):
    compiled, graphs = walked(DERIVED[name].optimizer, "aot_eager")
    torch.testing.assert_close(compiled, walked(DERIVED[name].optimizer)[0], rtol=1e-12, atol=1e-12)
    assert graphs[3] == graphs[5] >= 1 and graphs[7] == graphs[9] <= graphs[3] + 1, graphs


@pytest.mark.slow
def test_the_compiled_step_is_the_step():
    """Through the compiler of the machine."""
    need_torchs_compiler()
    make = DERIVED["derived Adam"].optimizer
    torch.testing.assert_close(walked(make, "inductor", 5)[0], walked(make, steps=5)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("error:Dynamo detected a call to a `functools.lru_cache`")
def test_the_first_step_of_matrices_may_be_compiled_without_a_word():
    torch._dynamo.reset()
    weights = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = ln.optim.BallisticMatrix([weights])
    weights.grad = torch.eye(4, 3)
    torch.compile(optimizer.step, backend="eager")()
    assert bool((weights != 1).any())
