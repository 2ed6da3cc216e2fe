"""Figures of the chapter on CIFAR-10: what the network sees, curves, basins of good rates, transfer, discounts.

Every function takes pixels, histories or a record and returns a figure; nothing is trained here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures._cifar_rates import basins, choices, lengths, transfer
from lossnav.figures._runs import ENDS, KNOWN, NAMES, accuracy, histories_by, ordered, title
from lossnav.figures.style import COLOURS, LINES, letter
from lossnav.figures.style import line as style
from lossnav.lab.records import Record
from lossnav.lab.training import History

__all__ = ["basins", "choices", "curves", "discounts", "gains", "lengths", "race", "transfer", "views"]

_GAP = 2  # pixels between pictures


def _gamma(name: str, value: Any, _: of.Lengths) -> float:
    """Check a discount; a record spells infinity "inf"."""
    return math.inf if isinstance(value, str) and value == "inf" else _checks.duration(name, value, zero=True)


@of.takes(stored=of.reals("N", "C", "H", "W"), drawn=of.reals(None, "N", "C", "H", "W"))
def views(stored: ArrayLike, drawn: ArrayLike) -> Figure:
    """Draw a row of images as they are stored, and below it a row for each time that they were changed at random.

    Args:
        stored: pixels, (N, C, H, W), with C = 1 or 3; any scale.
        drawn: pixels, (K, N, C, H, W).

    Returns:
        The figure.
    """
    rows = [np.asarray(stored), *np.asarray(drawn)]
    highest = float(rows[0].max())
    count, channels, height, width = rows[0].shape
    mosaic = np.ones((len(rows) * (height + _GAP) - _GAP, count * (width + _GAP) - _GAP, channels))
    for i, row in enumerate(rows):
        for j, image in enumerate(row):
            top, left = i * (height + _GAP), j * (width + _GAP)
            mosaic[top : top + height, left : left + width] = np.moveaxis(image, 0, -1) / highest
    figure, ax = plt.subplots(figsize=(5.8, 5.0 * mosaic.shape[0] / mosaic.shape[1] + 0.2))
    ax.imshow(mosaic.repeat(3, axis=2) if channels == 1 else mosaic, interpolation="nearest")
    names = ["stored", *(f"epoch {k}" for k in range(1, len(rows)))]
    ax.set_yticks([i * (height + _GAP) + height / 2 for i in range(len(rows))], names)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return figure


@of.takes(
    record=of.record(
        data=of.LABEL,
        seeds=of.SEEDS,
        results=of.many(of.table(rule=KNOWN, train_loss=of.reals("E"), test_accuracy=of.reals("E"))),
    )
)
def curves(record: Record) -> Figure:
    """Draw training loss and test accuracy by epoch: the mean over seeds, and a band from the worst to the best seed.

    Args:
        record: of the study ``paper`` of ``studies/cifar10.py``.

    Returns:
        The figure: two panels.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.3))
    for rule in ordered(run["rule"] for run in record.results):
        runs = [run for run in record.results if run["rule"] == rule]
        _band(left, rule, np.array([run["train_loss"] for run in runs]))
        _band(right, rule, 100 * np.array([run["test_accuracy"] for run in runs]))
    left.set(xlabel="epoch", ylabel="training loss")
    right.set(xlabel="epoch", ylabel="test accuracy (%)")
    for ax in (left, right):
        ax.grid(axis="y")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(left=0.5)
    letter((left, right), ("training", "test"))
    title(figure, record.data["label"], record.seeds)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@of.takes(
    runs=histories_by(KNOWN, step_loss=of.gapped("S"), test_accuracy=of.reals(None)), data=of.TEXT, window=of.COUNT
)
def race(runs: Mapping[str, Sequence[History]], data: str, window: int = 5) -> Figure:
    """Draw the loss of the batches as a short training goes on, and the test accuracy that it ends with.

    Args:
        runs: rule → one history a seed.
        data: what the runs were trained on, for the title.
        window: number of steps that a point of the left panel averages.

    Returns:
        The figure: on the left means over seeds, on the right a dot a seed and a marker for the mean.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.1), width_ratios=(1.6, 1.0))
    for place, (rule, histories) in enumerate(runs.items()):
        losses = np.mean([history.step_loss for history in histories], axis=0)
        count = len(losses) // window
        means = losses[: count * window].reshape(count, window).mean(axis=1)
        left.plot((np.arange(count) + 0.5) * window, means, label=NAMES[rule], **style(rule, lw=2.0))
        _dots(right, rule, place, 100 * np.array([history.test_accuracy[-1] for history in histories]))
    left.set(xlabel="step", ylabel="loss of the batch")
    left.grid(axis="y")
    right.set_xticks(range(len(runs)), [NAMES[rule] for rule in runs])
    right.set(ylabel="test accuracy (%)", xlim=(-0.6, len(runs) - 0.4))
    right.grid(axis="y")
    letter((left, right), ("training", "at the end"))
    title(figure, data, next(iter(runs.values())))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(runs))
    return figure


@of.takes(
    gammas=of.many(_gamma),
    rates=of.row(of.POSITIVE, of.POSITIVE),
    roots=of.mapping(of.TEXT, of.nonnegatives()),
    eps=of.NONNEGATIVE,
)
def gains(gammas: Sequence[float], rates: tuple[float, float], roots: Mapping[str, ArrayLike], eps: float) -> Figure:
    """Draw the length of the step in units of the gradient against √v, and how √v is distributed in a network.

    Args:
        gammas: discounts, from 0 (ballistic) to infinity (SGD).
        rates: of the ballistic rule and of SGD: lr_b and lr_s in Δt = lr_b + γ lr_s.
        roots: name → values of √v, one a weight; zeros are left out of the histogram and named in the legend.
        eps: what is added to v.

    Returns:
        The figure: two panels over the same axis.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True, height_ratios=(1.5, 1.0))
    root = np.geomspace(1e-6, 1.0, 241)
    for gamma in gammas:
        gain = np.full_like(root, rates[1])
        if math.isfinite(gamma):
            gain = (rates[0] + gamma * rates[1]) / (gamma / 2 + np.sqrt(gamma**2 / 4 + root**2 + eps))
        above.plot(root, gain, **_discount_line(gamma, gammas), label=_discount(gamma))
    above.set(xscale="log", yscale="log", ylabel=r"step / |$g$|")
    bins = np.linspace(-6, 0, 73)
    looks: tuple[dict[str, Any], ...] = ({"color": COLOURS["loss"], "ls": "--"}, {"color": COLOURS["ink"]})
    for look, (name, values) in zip(looks, roots.items(), strict=False):
        found = np.asarray(values, dtype=np.float64).ravel()
        with np.errstate(divide="ignore"):
            counts, _ = np.histogram(np.log10(found), bins)
        below.stairs(100 * counts / len(found), 10**bins, lw=1.8, label=f"{name} ({_none(found)})", **look)
    below.axvline(math.sqrt(eps), color=COLOURS["quiet"], lw=0.8, ls=":")
    below.set(xlabel=r"$\sqrt{v}$", ylabel="weights (%)", xscale="log")
    for ax in (above, below):
        ax.grid(axis="y")
    letter((above, below), ("the rule", "the network"))
    below.legend(loc="upper right")
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


@of.takes(
    record=of.record(
        data=of.LABEL,
        seeds=of.SEEDS,
        results=of.many(of.table(gamma=_gamma, seed=of.SEED, test_accuracy=ENDS, train_loss=ENDS)),
    ),
    tells=of.optional(of.POSITIVE),
)
def discounts(record: Record, tells: float | None = None) -> Figure:
    """Draw test accuracy and training loss against the discount, from the ballistic rule's to SGD's.

    Args:
        record: of the study ``gammas`` of ``studies/cifar10.py``.
        tells: the least difference of two mean accuracies, in points, that can be told from none; a band of that width
            on both sides of the mean at the lowest discount is shaded.

    Returns:
        The figure: two panels; a dot for each seed, a marker for their mean, a thin line through the runs of one seed.
    """
    found = sorted({float(run["gamma"]) for run in record.results})
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 4.8), sharex=True)
    for seed in record.seeds:
        ends = [accuracy(run) for run in _by_discount(record, found) if run["seed"] == seed]
        above.plot(range(len(ends)), ends, color=COLOURS["quiet"], lw=0.6, zorder=0)
    for place, gamma in enumerate(found):
        runs = [run for run in record.results if float(run["gamma"]) == gamma]
        rule = "ballistic" if gamma == 0 else "sgd" if math.isinf(gamma) else "navigator"
        _dots(above, rule, place, np.array([accuracy(run) for run in runs]))
        _dots(below, rule, place, np.array([run["train_loss"][-1] for run in runs if run["train_loss"]]))
    if tells is not None:
        first = np.mean([accuracy(run) for run in record.results if float(run["gamma"]) == found[0]])
        above.axhspan(first - tells, first + tells, color=COLOURS["quiet"], alpha=0.2, lw=0, zorder=0)
    above.set_ylabel("test accuracy (%)")
    below.set_ylabel("training loss")
    below.set_xlabel(r"discount $\gamma$")
    below.set_xticks(range(len(found)), [_tick(gamma) for gamma in found])
    for ax in (above, below):
        ax.grid(axis="y")
    letter((above, below), ("test", "training"))
    title(figure, record.data["label"], record.seeds)
    return figure


def _band(ax: Axes, rule: str, values: np.ndarray) -> None:
    """Draw the mean over rows and shade from the lowest to the highest row."""
    epochs = np.arange(1, values.shape[1] + 1)
    marks: dict[str, Any] = {"marker": LINES[rule][1], "ms": 4.5, "mec": "white", "mew": 0.6}
    every = -(-len(epochs) // 15)
    ax.plot(epochs, values.mean(axis=0), label=NAMES[rule], markevery=every, **style(rule, lw=2.0), **marks)
    ax.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=COLOURS[rule], alpha=0.18, lw=0)


def _dots(ax: Axes, rule: str, place: float, values: np.ndarray) -> None:
    """Draw one dot a seed and the rule's marker at their mean; nothing where no run has a value."""
    if len(values):
        ax.plot([place] * len(values), values, ".", color=COLOURS[rule], ms=5, alpha=0.6)
        ax.plot(place, values.mean(), LINES[rule][1], color=COLOURS[rule], ms=8, mec="white", mew=0.6)


def _by_discount(record: Record, gammas: Sequence[float]) -> list[dict[str, Any]]:
    """Return the runs in the order of the discounts."""
    return sorted(record.results, key=lambda run: gammas.index(float(run["gamma"])))


def _discount(gamma: float) -> str:
    name = {0.0: "ballistic", math.inf: "SGD"}.get(gamma)
    return f"γ = {_tick(gamma)}" + (f", {name}" if name else "")


def _tick(gamma: float) -> str:
    return "∞" if math.isinf(gamma) else f"{gamma:g}"


def _discount_line(gamma: float, gammas: Sequence[float]) -> dict[str, Any]:
    """Return the look of a discount's line: the two rules at the ends, and shades between them."""
    if gamma == 0 or math.isinf(gamma):
        return style("ballistic" if gamma == 0 else "sgd", lw=2.4)
    middle = [g for g in gammas if 0 < g < math.inf]
    shade = 0.25 + 0.6 * middle.index(gamma) / max(1, len(middle) - 1)
    return {"color": plt.get_cmap("viridis")(shade), "lw": 1.3}


def _none(values: np.ndarray) -> str:
    return f"{100 * float(np.mean(values == 0)):.0f} % are 0"
