"""Plans of beliefs in other units, and with arguments of any size."""

import math

import numpy as np
import pytest

import lossnav as ln
from lossnav import belief


def restated(time=1.0, length=1.0, cost=1.0, *, horizon=math.inf, feed=False):
    """A plan in other units: t → time·t, u → length·u, J → cost·J; brought back."""
    root = math.sqrt(time)
    model = belief.Beliefs(
        eta=0.5 * length**2 / (time * cost),
        k=1.3 * cost / time,
        gamma=0.7 / time,
        curvature_scale=1.2,
        weight=0.9 * cost,
        mean=belief.Prior(0.1 / time, 0.3 / length / root),
        variance=belief.Prior(0.2 / time, 0.25 / length**2 / root),
        observation=belief.Simplified(0.15 * root / length, 0.2 * root / length**2),
    )
    gradient = (lambda t: (1 + 0.3 * np.sin(np.asarray(t) / time)) / length) if feed else 1 / length
    plan = belief.plan(
        model, 0.8 / length, 1.1 / length**2, gradient=gradient, square=1.2 / length**2, horizon=horizon * time
    )
    assert plan.model is model and plan.is_minimum
    units = np.array([1 / length, length, length**2])[:, None]
    t = np.array([0.0, 0.4, 1.0, 1.9])
    late = np.array([1.0, 1.2]) * (plan.end if horizon == math.inf else horizon * time / 1.2)
    return {
        "path": plan(t * time) * units,
        "velocity": plan.velocity(t * time) * units * time,
        "rest": plan.rest * units[:, 0],
        "action": plan.action / cost,
        "late": plan.velocity(late) * units * time,
    }


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"horizon": 2.0}, {"horizon": 2.0, "feed": True}], ids=str)
def test_plans_of_beliefs_do_not_feel_the_units(options):
    """In units of 1e−20 of the time J of a deadline was 18.7 instead of .771, without a word."""
    base = restated(**options)
    sizes = (1e-20, 1e20)
    changes = [{name: size} for name in ("time", "length", "cost") for size in sizes]
    for change in [*changes, {"time": 1e9, "length": 1e-7}]:
        changed = restated(**change, **options)
        for name in ("path", "velocity", "rest", "action"):
            np.testing.assert_allclose(changed[name], base[name], rtol=1e-6, atol=1e-6, err_msg=f"{change} {name}")
        if options:
            np.testing.assert_allclose(changed["late"], base["late"], rtol=1e-5, atol=1e-6, err_msg=str(change))
        else:
            assert np.max(np.abs(changed["late"])) < 1e-4


NUMBERS = dict.fromkeys(
    ("eta", "k", "gamma", "curvature_scale", "weight", "mean_start", "variance_start", "gradient", "square"), 1.0
) | dict.fromkeys(("mean_decay", "variance_decay", "mean_noise", "variance_noise"), 0.1)
NUMBERS |= {"mean_diffusion": 0.3, "variance_diffusion": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("horizon", [math.inf, 2.0])
def test_plans_answer_or_refuse(name, horizon):
    """ZeroDivisionError and OverflowError are no answers."""
    for size in (1e-300, 1e300):
        n = NUMBERS | {name: size}
        start = n["mean_start"], n["variance_start"]
        try:
            model = belief.Beliefs(
                **{key: n[key] for key in ("eta", "k", "gamma", "curvature_scale", "weight")},
                mean=belief.Prior(n["mean_decay"], n["mean_diffusion"]),
                variance=belief.Prior(n["variance_decay"], n["variance_diffusion"]),
                observation=belief.Simplified(n["mean_noise"], n["variance_noise"]),
            )
            with np.errstate(all="ignore"):
                plan = belief.plan(model, *start, gradient=n["gradient"], square=n["square"], horizon=horizon)
        except (ValueError, ln.NotConverged):
            continue
        assert plan.converged and math.isfinite(plan.action)
        np.testing.assert_allclose(plan(0.0), [0.0, *start], rtol=1e-9, atol=1e-9)
