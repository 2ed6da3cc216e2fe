"""A trained network, its data and a setting: predict what SGD will do, let it run, and put the two side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lossnav._checks import NotConverged, flag, function, instance, whole
from lossnav._checks import seed as check_seed
from lossnav._tensors import module
from lossnav.analysis import sgd
from lossnav.analysis.acceleration import Method
from lossnav.analysis.curvature import Hessian, eigenpairs
from lossnav.analysis.noether import limiting_angular_speed
from lossnav.analysis.noether.networks import Family, find_symmetries
from lossnav.analysis.series import drift
from lossnav.lab.moving.basin import Basin, at, batches, measure, measure_batches, per_example
from lossnav.lab.moving.coordinates import plainly, scaled
from lossnav.lab.moving.forecast import Forecast, forecast
from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Loss, Pair, Walk, check_data, walk

_POINTS = 4  # where noise is measured
_FURTHER = 2.0  # times the predicted distance: one run of a settled network scatters by half of that
_BENT = 1.25  # times the curvature at the mean: more than a few points scatter
_LEAST = 64  # steps: drifts are told from the scatter of 16 blocks


class NotStationary(NotConverged):
    """The network is still on its way: what a stationary theory says of it means nothing yet."""


@dataclass(frozen=True)
class Row:
    """One quantity, predicted before the run and measured on it.

    Attributes:
        name: what it is.
        predicted, measured: the two values, in the same unit.
    """

    name: str
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted if self.predicted else float("nan")


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was measured, predicted, and measured again.

    Attributes:
        rows: prediction beside measurement.
        basin: what the predictions are made of.
        forecast: the predictions.
        run: the run that they are compared with.
        notes: what a reader of the rows has to know.
    """

    rows: tuple[Row, ...]
    basin: Basin = field(repr=False)
    forecast: Forecast = field(repr=False)
    run: Walk = field(repr=False)
    notes: tuple[str, ...]


def analyse(
    model: nn.Module,
    data: Pair,
    setting: Setting,
    *,
    loss: Loss = cross_entropy,
    steps: int = 3000,
    burn: int = 2000,
    modes: int = 20,
    examples: int | None = 5000,
    seed: int = 0,
    anyway: bool = False,
) -> Analysis:
    """Predict speed, displacement, exponent and angles of a trained network that goes on by SGD, and measure them.

    A pilot of ``burn`` steps settles the network; its second half gives the points at which curvature and noise are
    measured. From these alone, with nothing fitted, comes the forecast. Then follows the run that it is compared with,
    on other batches.

    Of AdamW all that is predicted and measured, angles and |δ|² among it, is in the coordinates φ = (√V + ε)^{1/2}θ in
    which it is SGD with momentum, V being what it is after the first half of the pilot: where V moves much during the
    run, the forecast is of another rule.

    Args:
        model: trained, in the mode (train or eval) that it is to run in; it is not changed.
        data: inputs (N, …) and targets (N, …), all that batches are drawn from.
        setting: η, β, S, λ, and how batches are drawn; ``Setting.adamw`` of AdamW.
        loss: (outputs, targets) → scalar, the mean over the batch.
        steps: of the run, >= 64.
        burn: of the pilot, >= 64.
        modes: eigenpairs whose equipartition is tested.
        examples: how many, chosen at random, curvature and noise are measured on; None for all.
        seed: of all batches and draws.
        anyway: compare even what is not stationary, and say so in ``notes``.

    Raises:
        ValueError: an argument is out of range; or η(ρ_1+λ) >= 2(1+β), where SGD cannot stay.
        NotStationary: loss or speed drift during the run, by more than their noise and by more than matters.
        Unstable: the weights stopped being finite.
        NotConverged: the eigenpairs.
    """
    module("model", model)
    instance("setting", setting, Setting, "a moving.Setting")
    check_data(data, setting)
    function("loss", loss)
    whole("steps", steps, low=_LEAST)
    whole("burn", burn, low=_LEAST)
    whole("modes", modes, low=1)
    check_seed("seed", seed)
    flag("anyway", anyway)
    count = len(data[0]) if examples is None else min(whole("examples", examples, low=2), len(data[0]))
    if setting.second is not None:
        model = _adapted(model, data, setting, loss, burn, seed)
    why = per_example(model, data, loss)
    if not why:
        _check_stable(model, data, setting, loss, count, seed)
    how = {"loss": loss, "starts": _POINTS, "longest": 1}
    pilot = walk(model, data, setting, steps=burn - burn // 2, burn=burn // 2, seed=seed, **how)  # type: ignore[arg-type]
    if why:
        basin = measure_batches(model, data, pilot.points, setting, loss=loss, seed=seed)
    else:
        basin = measure(
            model, data, pilot.points, mean=pilot.mean, loss=loss, modes=modes, examples=count, seed=seed
        )  # fmt: skip
    expected = forecast(basin, setting)
    families = _invariant(model, data, loss, seed) if setting.decay else ()
    settled, burn_in = at(model, pilot.final), round(10 / (1 - setting.beta))
    run = walk(
        settled, data, setting, steps=steps, burn=burn_in, seed=seed + 1, loss=loss,
        directions=basin.vectors if basin.has_curvature else None, families=families,
    )  # fmt: skip
    drifts = _drifts(run, expected)
    if drifts and not anyway:
        raise NotStationary(f"the network is not at rest yet: {drifts}; train it longer at this setting, or raise burn")
    notes = [f"not stationary: {drifts}"] if drifts else []
    return Analysis(
        _rows(basin, expected, run), basin, expected, run, (*notes, *_notes(basin, setting, expected, run, why))
    )


def _adapted(model: nn.Module, data: Pair, setting: Setting, loss: Loss, burn: int, seed: int) -> nn.Module:
    """Return the model after ``burn`` steps of AdamW, in the coordinates that its V then gives."""
    run = walk(model, data, setting, steps=2, burn=burn, seed=seed + 2, loss=loss, starts=1, longest=1)
    assert run.square is not None
    least = float(run.square.max()) * 1e-30  # a weight that nothing moves
    return scaled(at(model, run.final), run.square.clamp(min=least), setting.eps)


def _check_stable(model: nn.Module, data: Pair, setting: Setting, loss: Loss, count: int, seed: int) -> None:
    """Raise if the steepest direction at the given weights throws SGD out."""
    chosen = torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(seed))[:count].to(data[0].device)
    hessian = Hessian(model, loss, batches((data[0][chosen], data[1][chosen])))
    steepest = max(float(eigenpairs(hessian, 1, tolerance=1e-2).values[0]), 0.0)
    sgd.speed(steepest, eta=setting.eta, beta=setting.momentum, batch=setting.batch, noise=0.0, decay=setting.decay)


def _invariant(model: nn.Module, data: Pair, loss: Loss, seed: int) -> tuple[Family, ...]:
    """Return the scale-invariant families whose weights are all moved; none where the finder finds no footing."""
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    try:
        families = find_symmetries(model, loss, (data[0][:64], data[1][:64]), training=model.training, seed=seed)
    except ValueError:  # fewer than four examples, a model that does not go into float64
        return ()
    return tuple(family for family in families if family.kind == "scale" and trained.issuperset(family.names))


def _drifts(run: Walk, expected: Forecast) -> str:
    """Return in words what drifts, by more than its noise and by more than matters; "" if nothing does."""
    loss, speed = drift(run.loss), drift(run.velocity_squared)
    words = []
    matters = 0.5 * expected.excess if np.isfinite(expected.excess) else 0.02 * abs(loss.mean)
    if loss.exceeds(matters):
        words.append(
            f"its loss went from {loss.mean - loss.change / 2:.4g} to {loss.mean + loss.change / 2:.4g} between the "
            f"halves of {run.steps} steps, which is {abs(loss.change / loss.error):.0f} standard errors"
        )
    if speed.exceeds(0.2 * speed.mean):
        words.append(f"|v|² changed by {100 * speed.change / speed.mean:+.0f} % between them")
    return ", and ".join(words)


def _rows(basin: Basin, expected: Forecast, run: Walk) -> tuple[Row, ...]:
    rows, setting = [Row("speed |δ|² per step", expected.speed, run.speed)], run.setting
    if basin.has_curvature:
        far, near = run.displacement.mean(axis=0), expected.displacement(run.lags)
        for n in np.unique(np.searchsorted(run.lags, np.geomspace(10, run.lags[-1], 3))):
            rows.append(Row(f"|θ(k+n) − θ(k)|², n = {run.lags[n]}", float(near[n]), float(far[n])))
        window = run.lags >= min(3 / (1 - setting.beta), run.lags[-1] / 10)
        if window.sum() > 1:
            span = f"{run.lags[window][0]}…{run.lags[-1]}"
            rows.append(Row(f"exponent c, n = {span}", expected.exponent(run.lags[window]),
                            sgd.exponent(run.lags[window], far[window])))  # fmt: skip
        curvatures = basin.along + setting.decay  # E[(θ−θ̄)∂L] = Var(θ) E[H] along a walk that is Gaussian (Stein)
        confined = curvatures > 0
        if confined.any():
            shares = run.equipartition(np.maximum(curvatures, 0.0))[confined]
            rows.append(Row(f"equipartition, median of {confined.sum()} modes", 1.0, float(np.median(shares))))
    for name, angles in run.angles.items():
        angle = setting.eta * limiting_angular_speed(eta=setting.eta, beta=setting.momentum, decay=setting.decay)
        rows.append(Row(f"angle per step of {plainly(name)}", angle, float(np.sqrt(np.mean(angles**2)))))
    return tuple(rows)


def _notes(basin: Basin, setting: Setting, expected: Forecast, run: Walk, why: str) -> list[str]:
    notes = []
    if why:
        notes.append(f"no curvature, displacement or exponent is predicted: {why}")
    if (share := basin.uphill(setting.decay)) > 0.05:
        notes.append(f"{100 * share:.0f} % of the noise is along directions that curve downwards; they count as flat")
    if basin.has_curvature:
        rising = basin.values > 0
        curvature_ratio = float(np.median(basin.along[rising] / basin.values[rising])) if rising.any() else 1.0
        if not 1 / _BENT < curvature_ratio < _BENT:
            notes.append(
                f"no quadratic: along the walk its {rising.sum()} steepest directions curve {curvature_ratio:.2g} "
                "times as much as at its mean, from which speed and displacement are predicted (median)"
            )
        ratio = float(run.displacement[:, -1].mean() / expected.displacement(run.lags[-1]))
        if ratio > _FURTHER:
            notes.append(
                f"after {run.lags[-1]} steps |θ(k+n) − θ(k)|² is {ratio:.1f} times that of a settled network: it "
                "drifts along flat directions, which its loss does not show"
            )
            if setting.decay:
                settles = (1 - setting.beta) / (setting.eta * setting.decay)
                notes[-1] += f"; they need some (1−β)/(ηλ) = {settles:.0f} steps"
    if setting.sampling == "epochs":
        notes.append("batches of an epoch are not independent: the forecast takes them to be")
    for name, radii in run.radii.items():
        change = float(radii[-1] / radii[0] - 1)
        if abs(change) > 0.02:
            notes.append(
                f"|{plainly(name)}| changed by {100 * change:+.1f} %: its angle is that of the limit after several "
                f"times {_memory(setting):.0f} steps"
            )
    return notes


def _memory(setting: Setting) -> float:
    """Return the steps in which |θ|⁴ of an invariant layer forgets by 1/e: (1−β)/(4ηλ) for 4ηλ ≪ (1−β)²."""
    kept = Method(setting.eta, setting.momentum).kept([4 * setting.decay])  # v ← βv − 4λx, x ← x + ηv
    return float(-1 / np.log(kept[0]))
