"""From curvature and noise to what a run will do: speed, displacement, and what each mode does, with nothing fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav._checks import instance, nonnegatives
from lossnav.analysis import sgd
from lossnav.lab.moving.basin import Basin
from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Numbers


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the theory says of a stationary run, from a measured basin.

    Attributes:
        setting: η, β, S, λ.
        speed: E|δ|² of a step (K16, of the recursion itself).
        speed_sde: the same in continuous time, η² tr Σ/(S(1−β²)).
        excess: loss above the bottom that the fluctuations cost, λ|θ|²/2 included: T tr Σ/4 (equipartition).
        position_variances, velocity_variances: of each resolved mode, (L,); of the recursion.
        circulations: of each resolved mode, (L,).
    """

    setting: Setting
    speed: float
    speed_sde: float
    excess: float
    position_variances: Numbers
    velocity_variances: Numbers
    circulations: Numbers
    _basin: Basin = field(repr=False)

    def displacement(self, lags: ArrayLike, *, form: str = "discrete") -> Numbers:
        """Return E|θ_{k+n} − θ_k|² for each number n of steps, over the whole spectrum (K17; ``ln.sgd.displacement``).

        A direction in which loss and decay together curve downwards is outside the theory; it counts as flat.

        Raises:
            ValueError: a lag is no number >= 0, or the basin has no curvatures.
        """
        steps = nonnegatives("lags", lags)
        if not self._basin.has_curvature:
            raise ValueError("the basin has no curvatures, but a displacement needs them: see moving.measure_batches")
        common = _common(self._basin, self.setting)
        node_curvatures = np.maximum(self._basin.nodes + self.setting.decay, 0.0)
        return sgd.displacement(node_curvatures, steps, form=form, gradient_variance=self._basin.weights, **common)

    def exponent(self, lags: ArrayLike) -> float:
        """Return c of E|θ_{k+n} − θ_k|² ∝ n^c over the given lags."""
        return sgd.exponent(lags, self.displacement(lags))


def forecast(basin: Basin, setting: Setting) -> Forecast:
    """Predict a stationary run.

    Args:
        basin: what ``measure`` returned.
        setting: of the run.

    Raises:
        ValueError: η(ρ_1+λ) >= 2(1+β): the mean of SGD itself grows without bound, and nothing is stationary.
    """
    instance("basin", basin, Basin, "what moving.measure returns")
    instance("setting", setting, Setting, "a moving.Setting")
    if setting.noise_factor(basin.examples) == 0:
        raise ValueError(f"setting = {setting!r} takes all {basin.examples} examples in each batch: no noise moves it")
    common = _common(basin, setting)
    total: dict[str, Any] = {"gradient_variance": basin.trace, **common}
    smooth = sgd.speed(0.0, form="sde", **total)
    if not basin.has_curvature:
        empty = np.zeros(0)
        return Forecast(setting, smooth, smooth, np.nan, empty, empty, empty, basin)
    node_curvatures = np.maximum(basin.nodes + setting.decay, 0.0)
    speed = sgd.speed(node_curvatures, form="discrete", gradient_variance=basin.weights, **common)
    factor = setting.noise_factor(basin.examples)
    excess = setting.eta * factor * basin.trace / (4 * (1 - setting.momentum))
    confined = basin.values + setting.decay > 0
    modes: dict[str, Any] = {"gradient_variance": basin.noises[confined], "decay": 0.0, "form": "discrete", **common}
    variances, turns = np.full((2, len(confined)), np.nan), np.full(len(confined), np.nan)
    if confined.any():
        curvatures = basin.values[confined] + setting.decay
        covariance = sgd.stationary(curvatures, **modes)
        variances[:, confined] = covariance[:, 0, 0], covariance[:, 1, 1]
        turns[confined] = sgd.circulation(curvatures, **modes)
    return Forecast(setting, speed, smooth, excess, variances[0], variances[1], turns, basin)


def _common(basin: Basin, setting: Setting) -> dict[str, Any]:
    return {
        "eta": setting.eta, "beta": setting.momentum, "batch": setting.batch,
        "population": setting.population(basin.examples),
    }  # fmt: skip
