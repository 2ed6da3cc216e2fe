"""Figures of the chapter on the ballistic rule and MNIST."""

import math
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from lossnav.figures import COLOURS, LANDSCAPE, halo, label, letter, title
from lossnav.figures import line as style
from lossnav.lab import registry


def epsilon(*, sizes, inside, outside):
    """Draw the length of a step of a rule that divides by a root, with ε inside of it and outside."""
    figure, ax = plt.subplots(figsize=(5.8, 2.7))
    x = np.asarray(sizes, dtype=np.float64)
    for rule, values, text in (("ballistic", inside, "ε inside the root"), ("rmsprop", outside, "ε outside")):
        y = np.asarray(values, dtype=np.float64)
        ax.loglog(x, y, **style(rule, lw=2.4))
        place = int(np.argmin(np.abs(np.log(y / 0.1))))
        label(ax, 1.8 * x[place], y[place], text, rule, va="top", weight="bold")
    ax.set(xlabel="size of the gradient $|g|$", ylabel="step over lr", ylim=(1e-4, 3.0))
    return figure


def diagonal(*, panels):
    """Draw paths on one quadratic valley turned by several angles, side by side."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 2.6), sharey=True)
    points = np.concatenate([np.asarray(path) for panel in panels.values() for path in panel["paths"].values()])
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    half = 0.62 * float(np.max(np.ptp(points, axis=0)))
    x, y = np.meshgrid(*(np.linspace(c - half, c + half, 121) for c in centre))
    for ax, panel in zip(axes, panels.values(), strict=True):
        h, paths = panel["hessian"], panel["paths"]
        height = 0.5 * (h[0, 0] * x**2 + 2 * h[0, 1] * x * y + h[1, 1] * y**2)
        ax.contourf(x, y, np.sqrt(height), levels=14, cmap=LANDSCAPE, zorder=0)
        for width, (rule, path) in zip((4.2, 2.6, 1.8), paths.items(), strict=True):  # where two agree, both are seen
            base, comma, _ = rule.partition(",")
            look = style(base, lw=width) | ({"linestyle": (0, (1.2, 1.2))} if comma else {})
            ax.plot(*np.asarray(path).T, **look, path_effects=halo(width + 1.2), label=registry.label(rule))
        start = next(iter(paths.values()))[0]
        ax.plot(*start, "o", color=COLOURS["ink"], ms=5, zorder=5)
        ax.plot(0.0, 0.0, "*", color=COLOURS["ink"], ms=11, mec="white", zorder=5)
        ax.set(aspect="equal", xticks=[], yticks=[])
    letter(axes, [f"turned by {angle:g}°" for angle in panels])
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), columnspacing=1.2)
    return figure


def curves(*, runs, data):
    """Draw training loss and test accuracy by epoch: the mean over seeds, and a band from the worst to the best."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.5))
    for rule, histories in runs.items():
        _band(left, rule, np.array([h.train_loss for h in histories]))
        _band(right, rule, 100 * np.array([h.test_accuracy for h in histories]))
    left.set(xlabel="epoch", ylabel="training loss", yscale="log")
    right.set(xlabel="epoch", ylabel="test accuracy (%)")
    best = 100 * max(max(h.test_accuracy) for histories in runs.values() for h in histories)
    worst = 100 * min(min(h.test_accuracy) for histories in runs.values() for h in histories)
    right.set_ylim(max(worst - 0.3, best - 6.0), best + 0.3)
    for ax in (left, right):
        ax.grid(axis="y", which="major")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(left=0.5)
    letter((left, right), ("training", "test"))
    title(figure, data, next(iter(runs.values())))
    ncols = len(runs) if len(runs) < 5 else 3
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=ncols)
    return figure


def first_steps(*, beta, runs, steps):
    """Draw how long the first steps are under a constant gradient, and the training loss of these steps."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.3))
    n = np.arange(1, steps + 1)
    left.plot(n, 1 / np.sqrt(1 - beta**n), **style("ballistic", lw=2.2))
    left.plot(n, np.ones(steps), **style("ballistic, corrected", lw=2.2))
    first = 1 / math.sqrt(1 - beta)
    label(left, 1.3, first * 1.12, f"first step: {first:.1f} lr", "ballistic")
    label(left, 1.3, 1.1, "bias-corrected: lr", "ballistic, corrected")
    left.set(xscale="log", yscale="log", xlabel="step", ylabel="step length / lr", ylim=(0.7, 2 * first))
    left.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    left.minorticks_off()
    for rule, histories in runs.items():
        losses = np.array([h.step_loss[:steps] for h in histories])
        middles, windows = _windows(losses.shape[1])
        _band(right, rule, np.stack([losses[:, w].mean(axis=1) for w in windows], axis=1), x=middles, marker=False)
    right.set(xscale="log", yscale="log", xlabel="step", ylabel="training loss of the batch")
    low, high = right.get_ylim()
    ticks = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= t <= high]
    right.set_yticks(ticks, [f"{t:g}" for t in ticks])
    right.minorticks_off()
    letter((left, right), ("constant gradient", "the network"))
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=len(runs))
    return figure


def sensitivity(*, record):
    """Draw test accuracy and training loss after the last epoch against the rate, each rule's in units of its own."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    for rule in record.config["rates"]:
        runs = [run for run in record.results if run["rule"] == rule]
        factors = sorted({run["factor"] for run in runs})
        accuracy = _by_factor(runs, factors, "test_accuracy", math.nan)
        _band(above, rule, 100 * (1 - accuracy), x=10.0 ** np.array(factors))
        _band(below, rule, _by_factor(runs, factors, "train_loss", math.nan), x=10.0 ** np.array(factors))
    above.set(ylabel="test error (%)", xscale="log", yscale="log")
    above.set_yticks([2, 3, 5, 10, 20, 50], ["2", "3", "5", "10", "20", "50"])
    above.minorticks_off()
    below.set(xlabel="learning rate / the paper's rate for that rule", ylabel="training loss", yscale="log")
    for ax in (above, below):
        ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
        ax.grid(axis="y", which="major")
    letter((above, below), ("test", "training"))
    title(figure, f"{record.data['label']}, {record.config['epochs']} epochs", record.seeds)
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _windows(steps):
    """Return middles and slices of windows over 1 … steps: single steps up to ten, then a tenth of a decade wide."""
    edges = [*range(min(10, steps))]
    while edges[-1] < steps:
        edges.append(min(steps, max(edges[-1] + 1, math.ceil(edges[-1] * 10**0.1))))
    windows = [slice(a, b) for a, b in pairwise(edges)]
    return np.array([(w.start + w.stop + 1) / 2 for w in windows]), windows


def _by_factor(runs, factors, key, missing):
    """Return the last value of ``key`` by seed (rows) and rate (columns)."""
    seeds = sorted({run["seed"] for run in runs})
    table = np.full((len(seeds), len(factors)), missing)
    for run in runs:
        if key in run:
            table[seeds.index(run["seed"]), factors.index(run["factor"])] = run[key][-1]
    return table


def _band(ax, rule, values, x=None, marker=True):
    """Draw the mean over rows and shade from the lowest to the highest row."""
    where = np.arange(1, values.shape[1] + 1) if x is None else np.asarray(x)
    options = style(rule, marker, lw=2.0)
    if marker:
        options |= {"ms": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.6}
    ax.plot(where, values.mean(axis=0), label=registry.label(rule), **options)
    ax.fill_between(where, values.min(axis=0), values.max(axis=0), color=options["color"], alpha=0.18, lw=0)
