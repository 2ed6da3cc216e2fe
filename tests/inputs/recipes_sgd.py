"""Recipes of the limiting dynamics of SGD."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_values import array, flag, number, positive, rate, whole, word
from walk import Recipe

from lossnav import sgd

MODE = sgd.Mode(1.0, eta=0.1, beta=0.9)
PROCESS = sgd.OrnsteinUhlenbeck([[2.5, -1.5], [-1.5, 2.5]], [[4.0, 0.0], [0.0, 1.0]])
RHO = [1.0, 0.1]
THETA = [[1.0, 0.0], [0.5, 0.1], [0.2, 0.3]]

beta = number(0.9, low=0.0, high=1.0, open_high=True)
time = array(0.5, any_shape=True, below=0.0)
modes = array(RHO, below=0.0, scalars=True, also=("gradient_variance", "curvature_variance"),
              bad=[[[1.0, 0.1]], [100.0, 0.1]])  # fmt: skip
per_mode = array(RHO, below=0.0, also=("noise",))
symmetric = [[[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]], np.ones((2, 3))]
RUN: dict[str, Any] = {
    "rho": modes, "eta": positive(0.1), "beta": beta, "batch": whole(8, also=("population",)), "decay": rate(0.0),
    "form": word("discrete"), "gradient_variance": per_mode, "population": whole(None, low=8, none=True),
}  # fmt: skip
NOISY = frozenset({"noise"})


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    by_noise = {name: value for name, value in RUN.items() if name != "gradient_variance"} | {
        "noise": rate(1.0, also=("gradient_variance",))
    }
    counts = array([1.0, 5.0], any_shape=True, below=0.0, bad=[1.5, [1.0, 2.5]])
    drift = array([[2.5, -1.5], [-1.5, 2.5]], bad=[np.ones((2, 3)), -np.eye(2)], also=("D", "diffusion"))
    unstable = array(drift.good, bad=[np.ones((2, 3))], also=("D",))  # which has a covariance for a while
    diffusion = array([[4.0, 0.0], [0.0, 1.0]], bad=symmetric)
    hessian = array([[2.0, 0.3], [0.3, 1.0]], bad=[*symmetric, 100 * np.eye(2)], also=("gradient_covariance",))
    matrix = {"hessian": hessian, **{k: RUN[k] for k in ("eta", "beta", "batch", "decay", "population")},
              "minimum": array([1.0, 0.0], none=True)}  # fmt: skip
    record = {"theta": array(THETA, also=("velocity", "gradient")), "velocity": array(THETA),
              "gradient": array(THETA[:2])}  # fmt: skip
    return {
        "sgd.Mode": Recipe(sgd.Mode, {"curvature": rate(1.0), "eta": positive(0.1), "beta": beta}),
        "sgd.Mode.mean": Recipe(MODE.mean, {"t": time, "a0": number(1.0), "b0": number(0.0)}),
        "sgd.Mode.propagator": Recipe(MODE.propagator, {"t": time}),
        "sgd.Mode.autocorrelation": Recipe(MODE.autocorrelation, {"t": time}),
        "sgd.matched_velocity": Recipe(sgd.matched_velocity, {
            "v0": array([1.0, 2.0], scalars=True), "v1": array([1.0, 2.0], scalars=True, also=("v0",)), "beta": beta
        }),
        "sgd.stationary": Recipe(sgd.stationary, {**RUN, "curvature_variance": array([0.1, 0.1], below=0.0, none=True)},
                                 rest=NOISY),
        "sgd.stationary (noise)": Recipe(sgd.stationary, by_noise,
                                         rest=frozenset({"gradient_variance", "curvature_variance"})),
        "sgd.speed": Recipe(sgd.speed, RUN, rest=NOISY),
        "sgd.circulation": Recipe(sgd.circulation, RUN, rest=NOISY),
        "sgd.displacement": Recipe(sgd.displacement, {**RUN, "n": counts}, rest=NOISY),
        "sgd.exponent": Recipe(sgd.exponent, {
            "n": array([1.0, 2.0], below=0.0, at=True, also=("displacement",), bad=[[2.0, 2.0]]),
            "displacement": array([1.0, 2.0], below=0.0, at=True),
        }),
        "sgd.simulate": Recipe(sgd.simulate, {
            **RUN, "steps": whole(5), "start": array(RHO, scalars=True, none=True, also=("velocity",)),
            "velocity": array(RHO, scalars=True, none=True), "paths": whole(2), "seed": whole(0, low=0),
        }, rest=NOISY),
        "sgd.decompose": Recipe(sgd.decompose, {"A": drift, "D": diffusion}),
        "sgd.covariance": Recipe(sgd.covariance, {
            "A": unstable, "D": diffusion, "kappa": positive(1.0), "t": rate(1.0), "s": rate(2.0),
            "stationary": flag(False),
        }),
        "sgd.OrnsteinUhlenbeck": Recipe(sgd.OrnsteinUhlenbeck, {
            "drift": drift, "diffusion": diffusion, "kappa": positive(1.0), "centre": array([1.0, 0.0], none=True),
        }),
        "sgd.OrnsteinUhlenbeck.mean": Recipe(PROCESS.mean, {"t": rate(1.0), "start": array([1.0, 0.0])}),
        **{f"sgd.OrnsteinUhlenbeck.{name}": Recipe(getattr(PROCESS, name), {"x": array([1.0, 0.0], finite=False)})
           for name in ("modified_loss", "density", "flow", "current")},
        "sgd.OrnsteinUhlenbeck.sample": Recipe(PROCESS.sample, {
            "dt": positive(0.1), "steps": whole(3), "start": array([1.0, 0.0], none=True), "paths": whole(2),
            "seed": whole(0, low=0),
        }),
        "sgd.regression": Recipe(sgd.regression, {**matrix, "gradient_covariance": array(
            [[2.0, 0.3], [0.3, 1.0]], bad=symmetric, also=("noise",))}, rest=NOISY),
        "sgd.regression (noise)": Recipe(sgd.regression, {
            **matrix, "noise": positive(1.0, also=("gradient_covariance",))
        }, rest=frozenset({"gradient_covariance"})),
        "sgd.fluctuation_dissipation": Recipe(sgd.fluctuation_dissipation, {
            **record, "eta": positive(0.1), "beta": beta, "decay": rate(0.0)
        }),
    }  # fmt: skip


EXEMPT = {"sgd.FluctuationDissipation": "a result, which the library makes"}
