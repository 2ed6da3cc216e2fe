"""Recipes of accelerated methods and their actions."""

from __future__ import annotations

import numpy as np
from bad_values import Argument, array, flag, function, number, positive, whole, word
from walk import Recipe

from lossnav import acceleration

METHOD = acceleration.Method(0.1, 0.5)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    curvature = array([1.0, 0.1], also=("start",))
    return {
        "acceleration.Method": Recipe(acceleration.Method, {
            "rate": positive(0.1), "momentum": number(0.5, low=0.0, high=1.0, open_high=True), "lookahead": flag(False),
        }),
        "acceleration.Method.kept": Recipe(METHOD.kept, {"curvature": array([1.0, 0.1], any_shape=True)}),
        "acceleration.Method.walk": Recipe(METHOD.walk, {
            "curvature": curvature, "start": array([1.0, 1.0]), "steps": whole(3, low=0),
        }),
        "acceleration.tuned": Recipe(acceleration.tuned, {
            "method": word("heavy ball"), "smallest": positive(0.5, also=("largest",)), "largest": number(1.0, low=0.5),
        }),
        "acceleration.lowest_variation": Recipe(acceleration.lowest_variation, {
            "weight": Argument(np.exp, [*function(np.exp).bad, lambda t: -t, lambda t: t[1:]]),
            "curvature": number(1.0), "start": number(0.0, also=("end",)), "end": number(2.0, low=0.0, open_low=True),
            "free_start": flag(False), "nodes": whole(20, low=3),
        }),
        "acceleration.conjugate_time": Recipe(acceleration.conjugate_time, {
            "curvature": positive(1.0), "friction": number(0.5, low=0.0, none=True),
        }),
    }  # fmt: skip
