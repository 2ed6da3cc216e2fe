"""Figures of learning rates on CIFAR-10: basins of good ones, what a choice does, step lengths, and their transfer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav.figures import _takes as of
from lossnav.figures._runs import ENDS, KNOWN, NAMES, accuracy, ordered, title
from lossnav.figures.style import COLOURS, LINES, letter
from lossnav.figures.style import line as style
from lossnav.lab.records import Record

_NETWORKS = {"cnn": ("o", -0.18), "resnet": ("s", 0.0), "vit": ("D", 0.18)}  # marker, place in a row
_NETWORK = of.one_of(*_NETWORKS)


@of.takes(
    record=of.record(
        data=of.LABEL,
        seeds=of.SEEDS,
        results=of.many(of.table(model=_NETWORK, rule=KNOWN, lr=of.POSITIVE, test_accuracy=ENDS)),
    ),
    rates=of.by_rule(of.POSITIVE),
)
def basins(record: Record, rates: Mapping[str, float]) -> Figure:
    """Draw test accuracy against the learning rate, a panel for each network.

    Args:
        record: of the study ``rates`` of ``studies/cifar10.py``.
        rates: rule → the rate that counts as 1 on the horizontal axis.

    Returns:
        The figure: lines are means over seeds, dots are seeds; a run that diverged guesses one class in ten.
    """
    networks = ordered(run["model"] for run in record.results)
    for run in record.results:
        _checks.one_of("a rule of record", run["rule"], tuple(rates))
    figure, axes = plt.subplots(1, len(networks), figsize=(5.8, 3.2), sharey=True, squeeze=False)
    for ax, network in zip(axes[0], networks, strict=True):
        for rule in ordered(run["rule"] for run in record.results):
            runs = [run for run in record.results if (run["model"], run["rule"]) == (network, rule)]
            by_rate = {lr: [accuracy(run) for run in runs if run["lr"] == lr] for lr in {run["lr"] for run in runs}}
            places = [lr / rates[rule] for lr in sorted(by_rate)]
            means = [float(np.mean(by_rate[lr])) for lr in sorted(by_rate)]
            ax.plot(places, means, **style(rule, marker=True, lw=1.8, ms=5, mec="white", mew=0.6), label=NAMES[rule])
            for place, lr in zip(places, sorted(by_rate), strict=True):
                ax.plot([place] * len(by_rate[lr]), by_rate[lr], ".", color=COLOURS[rule], ms=3, alpha=0.6)
        ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":", zorder=0)
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        ax.minorticks_off()
        ax.grid(axis="y")
    axes[0, 0].set_ylabel("test accuracy (%)")
    axes[0, len(networks) // 2].set_xlabel("rate / the paper's rate")
    letter(axes[0], [NAMES[network] for network in networks])
    title(figure, record.data["label"], record.seeds)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@of.takes(
    accuracies=of.mapping(_NETWORK, of.mapping(KNOWN, of.row(of.reals("S"), of.reals("S")))),
    tells=of.mapping(_NETWORK, of.POSITIVE),
)
def choices(accuracies: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]], tells: Mapping[str, float]) -> Figure:
    """Draw the accuracy at a rate that was given beside that at a rate that was chosen, a panel for each network.

    Args:
        accuracies: network → rule → (at the given rate, at the chosen rate) in per cent, (S,) each, one a seed.
        tells: network → the least difference of two means, in points, that can be told from none; a bar of that length
            stands at the left edge of the panel.

    Returns:
        The figure: dots are seeds, an open mark is the mean at the given rate, a full one that at the chosen rate.
    """
    for network in accuracies:
        _checks.one_of("a network of accuracies", network, tuple(tells))
    figure, axes = plt.subplots(1, len(accuracies), figsize=(5.8, 3.0), sharey=True, squeeze=False)
    for ax, (network, by_rule) in zip(axes[0], accuracies.items(), strict=True):
        for place, (rule, pair) in enumerate(by_rule.items()):
            seeds = [np.asarray(values) for values in pair]
            means = [float(values.mean()) for values in seeds]
            ax.plot([place - 0.16, place + 0.16], means, color=COLOURS[rule], lw=1.2)
            for x, values, mean, inside in zip((-0.16, 0.16), seeds, means, ("white", COLOURS[rule]), strict=True):
                ax.plot([place + x] * len(values), values, ".", color=COLOURS[rule], ms=4, alpha=0.6)
                ax.plot(place + x, mean, LINES[rule][1], color=COLOURS[rule], ms=7, mfc=inside)
        lowest = min(float(np.min(values)) for pair in by_rule.values() for values in pair)
        ax.errorbar(-0.7, lowest + tells[network] / 2, yerr=tells[network] / 2, color=COLOURS["ink"], capsize=3, lw=1.2)
        ax.set_xticks(range(len(by_rule)), [NAMES[rule] for rule in by_rule], rotation=30)
        ax.set_xlim(-1.0, len(by_rule) - 0.5)
        ax.grid(axis="y")
    axes[0, 0].set_ylabel("test accuracy (%)")
    letter(axes[0], [NAMES[network] for network in accuracies])
    return figure


@of.takes(ratios=of.mapping(_NETWORK, of.positives(None)), found=of.mapping(_NETWORK, of.POSITIVE, least=0))
def lengths(ratios: Mapping[str, ArrayLike], found: Mapping[str, float]) -> Figure:
    """Draw the ratio of two rules' step lengths along the first steps of training, a line for each network.

    Args:
        ratios: network → ratio after each step.
        found: network → ratio of the rates that did best, drawn as a mark to the right of the last step; a network may
            be left out.

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    end = max(len(np.asarray(values)) for values in ratios.values())
    for network in ordered(ratios):
        values, (mark, shift) = np.asarray(ratios[network], dtype=np.float64), _NETWORKS[network]
        steps = np.arange(1, len(values) + 1)
        look: dict[str, Any] = {"color": COLOURS["ink"], "marker": mark, "mec": "white", "mew": 0.6}
        ax.plot(steps, values, lw=1.4, ms=5, markevery=5, label=NAMES[network], **look)
        if network in found:
            ax.plot(end * (1.08 + 0.15 * shift), found[network], ms=8, ls="none", **look)
    ax.axvline(end * 1.03, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set(yscale="log", xlabel="step", ylabel="ratio", xlim=(0, end * 1.13))
    ax.grid(axis="y")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@of.takes(costs=of.mapping(of.TEXT, of.mapping(_NETWORK, of.NUMBER)))
def transfer(costs: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw what a borrowed learning rate costs, a row for each way to borrow it and a mark for each network.

    Args:
        costs: way → network → points of accuracy below that network's own best rate.

    Returns:
        The figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 0.42 * len(costs) + 1.3))
    for place, by_network in enumerate(costs.values()):
        ax.axhline(place, color=COLOURS["grid"], lw=0.8, zorder=0)
        for network, cost in by_network.items():
            mark, shift = _NETWORKS[network]
            ax.plot(cost, place + shift, mark, color=COLOURS["ink"], ms=6, mec="white", mew=0.6, label=NAMES[network])
    ax.axvline(0.0, color=COLOURS["quiet"], lw=1.0)
    ax.set_yticks(range(len(costs)), list(costs))
    ax.set_ylim(len(costs) - 0.5, -0.5)
    ax.set_xlabel("accuracy lost (points)")
    handles, names = ax.get_legend_handles_labels()
    kept = dict(zip(names, handles, strict=True))
    shown = [NAMES[network] for network in _NETWORKS if NAMES[network] in kept]
    figure.legend([kept[name] for name in shown], shown, loc="outside lower center", ncols=3)
    return figure
