"""Recipes of prices and of what is known of them. ``tests/priced.py`` has an example of each."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from bad_values import INF, NAN, Argument, array, flag, number, positive, rate, thing, whole, word
from priced import EXAMPLES, example
from walk import Recipe

import lossnav as ln

KINDS = {  # what a field of a price must be, by its name
    "eta": positive(0.7),
    "m": positive(0.3),
    "speed": rate(1.2),
    "lam": positive(0.4),
    "p": number(3.0, low=1.0, open_low=True),
    "norm": word("l2"),
    "limit": positive(0.8),
}
OTHERS: dict[str, dict[str, Argument]] = {  # where a price takes more
    "Box": {
        "limit": array(0.8, any_shape=True, scalars=True, bad=[0.0, -1.0, [1.0, 0.0], [], [[1.0]], INF]),
        "eta": array(
            0.7,
            any_shape=True,
            scalars=True,
            finite=False,
            bad=[
                0.0,
                -1.0,
                [1.0, 0.0],
                [],
                [[1.0]],
                -INF,
                NAN,
            ],
        ),
    },
    "Norm": {
        "norm": Argument("linf", [None, 1.0, "l3", "", [], [1.0], [("l2", slice(2))], [(slice(2),)], object()]),
        "eta": Argument(0.7, [0.0, -1.0, "1", NAN, INF, [1.0], [[1.0]], None, object()]),
    },
    "Toll": {"lam": rate(0.4)},
}
BOWL = ln.losses.Quadratic([[2.0, 0.3], [0.3, 1.0]], minimum=[1.0, 0.0])
CHARGED = ln.Objective(gamma=0.5, price=ln.prices.Acceleration(m=0.3, speed=1.0))
SEEN = array([0.1, -0.2], finite=False, any_shape=True, bad=[1.0, []])  # points of any D


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    by_name: dict[str, Recipe] = {}
    for name in EXAMPLES:
        kind, price = getattr(ln.prices, name), example(name)
        known = {**KINDS, **OTHERS.get(name, {})}
        rest = frozenset({"limit"} if name == "Norm" else ())  # one of the two is given
        by_name[f"prices.{name}"] = Recipe(
            kind, {f.name: known[f.name] for f in fields(kind) if f.init and f.name not in rest}, rest=rest
        )
        for method, letter in (("value", "v"), ("conjugate", "p"), ("velocity", "p")):
            by_name[f"prices.{name}.{method}"] = Recipe(getattr(price, method), {letter: SEEN})
        by_name[f"prices.{name}.bregman"] = Recipe(price.bregman, {"v": SEEN, "p": SEEN})
    gains = Argument(CHARGED, [*thing(CHARGED).bad, ln.Objective(), ln.Objective(price=example("Box"))])
    curvature = array([1.0, 0.0], any_shape=True, scalars=True)
    return by_name | {
        "rules.acceleration_gains": Recipe(ln.rules.acceleration_gains, {"objective": gains, "h": curvature}),
        "rules.acceleration_step": Recipe(
            ln.rules.acceleration_step, {"objective": gains, "h": curvature, "dt": rate(0.1)}
        ),
        "rules.patience": Recipe(
            ln.rules.patience,
            {
                "q": Argument([1.0, 2.0], ["1", None, [NAN], [1.0, INF], object(), {}]),
                "gamma": rate(1.0, infinite=True),
            },
        ),
        "trajectory.optimal_acceleration": Recipe(
            ln.optimal_acceleration,
            {
                "objective": Argument(gains.good, gains.bad, ("velocity0",)),
                "loss": thing(BOWL, but=(type(len),)),
                "theta0": array([0.3, -0.2]),
                "velocity0": array([0.1, 0.0], none=True, bad=["rest"]),
                "max_seconds": positive(None, none=True, infinite=True),
                "max_calls": whole(None, none=True),
            },
        ),
        "trajectory.Trajectory.acceleration": Recipe(
            ln.solve(CHARGED, BOWL, [0.3, -0.2]).acceleration,
            {"t": array([0.1, 1.0], any_shape=True, below=0.0, bad=[np.zeros((2, 2))])},
        ),
        "looking.interval": Recipe(
            ln.looking.interval,
            {
                "c0": positive(0.1),
                "kh": positive(1.0),
                "D": positive(1.0),
                "gamma": rate(0.5),
                "eta": positive(1.0),
            },
        ),
        "looking.batch": Recipe(
            ln.looking.batch,
            {
                "c0": rate(0.1),
                "c1": positive(0.1),
                "kh": positive(1.0),
                "D": positive(1.0),
                "sigma": positive(1.0),
                "h": positive(1.0),
            },
        ),
        "looking.descent_batch": Recipe(
            ln.looking.descent_batch, {"c0": rate(0.1), "c1": positive(0.1), "noise": positive(1.0)}
        ),
        "looking.step": Recipe(
            ln.looking.step,
            {
                "c": positive(0.1),
                "eta": positive(1.0),
                "dv": array([0.1, 0.2], any_shape=True, scalars=True, bad=[[[1.0]], []]),
                "dt": positive(1.0),
                "chord": flag(False),
            },
        ),
    }


HOOKS = (
    "formula",
    "zone",
    "refuses",
    "settle",
    "travel",
    "pace",
    "costate",
    "cost",
    "softened",
    "softened_velocity",
    "ease",
    "in_units",
)
EXEMPT = {
    **{
        f"prices.{name}.{hook}": "solvers ask it, with what they have checked"
        for name in (*EXAMPLES, "Price")
        for hook in HOOKS
    },
    "prices.Price.bregman": "every price has it",
    "prices.Price.conjugate": "every price has it",
    "looking.Looks": "a result, which the library makes",
    "uncertainty.Plan.acceleration": "a trajectory's, which plans of speed refuse",
}
