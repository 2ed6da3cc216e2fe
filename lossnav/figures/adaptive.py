"""Figures of the experiment with beliefs on MNIST, recorded and live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lossnav.figures import _takes as of
from lossnav.figures._runs import histories_by
from lossnav.figures.style import COLOURS, LINES, letter
from lossnav.figures.style import line as style
from lossnav.lab.records import Record
from lossnav.lab.registry import label
from lossnav.lab.training import History

_VARIANCES = {  # rule that lends its look, line style
    "uncentred": ("adam", "-"),
    "centred": ("belief", "--"),
    "innovation": ("navigator", ":"),
}


def _rules(name: str, value: Any, lengths: of.Lengths) -> Any:
    """Check the rules of the record: all that the figure draws have to be there."""
    rules = of.mapping(of.TEXT, of.table(usual=of.POSITIVE, epsilon=of.optional(of.NONNEGATIVE)))(name, value, lengths)
    epsilons = {options["epsilon"] for options in rules.values() if "epsilon" in options}
    drawn = ["sgd", "rmsprop", *(f"{variance}, ε = {e:g}" for variance in _VARIANCES for e in sorted(epsilons))]
    for rule in drawn:
        of.table(**{rule: of.table()})(name, value, lengths)
    return rules


@of.takes(
    record=of.record(
        config=of.table(epochs=of.COUNT, rules=_rules),
        data=of.LABEL,
        results=of.table(
            tuned=of.many(of.table(rule=of.TEXT, lr=of.POSITIVE, test_loss=of.optional(of.gapped(None)))),
            tested=of.many(of.table(rule=of.TEXT, test_accuracy=of.optional(of.reals(None)))),
        ),
    )
)
def discounts(record: Record) -> Figure:
    """Draw test error against the discount, and held-out loss against the rate for each discount.

    Args:
        record: of ``studies/beliefs_mnist.py``.

    Returns:
        The figure: on the left, at each rule's tuned rate, Belief with three variances (one small mark a seed, a large
        one for the mean), SGD and RMSprop as lines with bands from the best seed to the worst; on the right, means over
        the tuning seeds, from which the rates were chosen.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.7), width_ratios=(1.05, 1.0))
    epsilons = sorted({o["epsilon"] for o in record.config["rules"].values() if "epsilon" in o})
    _errors(left, record, epsilons)
    _sensitivity(right, record, epsilons)
    letter((left, right), ("at tuned rates", "by rate"))
    title = f"{record.data['label']}, {record.config['epochs']} epochs"
    figure.suptitle(title, x=0.01, ha="left")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2, columnspacing=1.0)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2, columnspacing=1.0)
    return figure


@of.takes(
    runs=histories_by(of.variant, step_loss=of.gapped("S"), test_accuracy=of.reals(None)), data=of.TEXT, window=of.COUNT
)
def race(runs: Mapping[str, Sequence[History]], data: str, window: int = 25) -> Figure:
    """Draw the loss of the batches as training goes on, and the test error that it ends with.

    Args:
        runs: rule → one history a seed. A variant, "rule, what differs", has its rule's colour and a dotted line.
        data: what the runs were trained on, for the title.
        window: number of steps that a point of the left panel averages.

    Returns:
        The figure: on the left means over seeds, on the right a dot a seed and a marker for the mean.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.3), width_ratios=(1.5, 1.0))
    for place, (rule, histories) in enumerate(runs.items()):
        base = rule.split(",")[0]
        look = style(base, lw=1.8) | ({} if rule == base else {"linestyle": (0, (1.2, 1.2))})
        losses = np.mean([history.step_loss for history in histories], axis=0)
        count = len(losses) // window
        means = losses[: count * window].reshape(count, window).mean(axis=1)
        left.plot((np.arange(count) + 0.5) * window, means, label=label(rule), **look)
        errors = 100 * (1 - np.array([history.test_accuracy[-1] for history in histories]))
        right.plot(errors, np.full(len(errors), place), ".", color=COLOURS[base], ms=5, alpha=0.6)
        right.plot(errors.mean(), place, color=COLOURS[base], marker=LINES[base][1], ms=8, mec="white", mew=0.6)
    left.set(yscale="log", xlabel="step", ylabel="training loss of the batch")
    low, high = left.get_ylim()
    ticks = [t for t in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if low <= t <= high]
    left.set_yticks(ticks, [f"{t:g}" for t in ticks])
    left.minorticks_off()
    left.grid(axis="y", which="major")
    right.set_yticks(range(len(runs)), [label(rule).replace(", ", ",\n") for rule in runs])
    right.invert_yaxis()
    right.margins(y=0.12)
    right.set_xlabel("test error (%)")
    right.grid(axis="x", which="major")
    letter((left, right), ("training", "at the end"))
    figure.suptitle(f"{data}, {len(next(iter(runs.values())))} seeds", x=0.01, ha="left")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _errors(ax: Axes, record: Record, epsilons: Sequence[float]) -> None:
    for rule in ("sgd", "rmsprop"):
        values = 100 * (1 - _last(record, rule, "test_accuracy"))
        ax.axhline(values.mean(), **style(rule, lw=1.8), label=label(rule), zorder=1)
        ax.axhspan(values.min(), values.max(), color=COLOURS[rule], alpha=0.12, lw=0, zorder=0)
    for shift, (variance, (look, dashes)) in zip((-0.16, 0.0, 0.16), _VARIANCES.items(), strict=True):
        means = []
        for place, epsilon in enumerate(epsilons):
            values = 100 * (1 - _last(record, f"{variance}, ε = {epsilon:g}", "test_accuracy"))
            ax.plot(np.full(len(values), place + shift), values, ".", color=COLOURS[look], ms=4, alpha=0.6)
            means.append(values.mean())
        ax.plot(
            np.arange(len(epsilons)) + shift, means, color=COLOURS[look], linestyle=dashes, lw=1.2,
            marker=LINES[look][1], ms=7, markeredgecolor="white", markeredgewidth=0.6, label=variance,
        )  # fmt: skip
    ax.set_xticks(range(len(epsilons)), [_named(epsilon) for epsilon in epsilons])
    ax.set(xlabel=r"discount $\varepsilon=\gamma/(2\sqrt{\eta kc})$", ylabel="test error (%)")
    ax.set_xlim(-0.5, len(epsilons) - 0.5)
    ax.grid(axis="y", which="major")


def _sensitivity(ax: Axes, record: Record, epsilons: Sequence[float]) -> None:
    ramp = plt.get_cmap("viridis")(np.linspace(0.0, 0.8, len(epsilons)))
    shapes = ("o", "s", "^", "D")
    for place, epsilon in enumerate(epsilons):
        rates, losses = _tuning(record, f"uncentred, ε = {epsilon:g}")
        ax.plot(
            rates, losses, color=ramp[place], marker=shapes[place % 4], ms=4.5, lw=1.6, label=f"ε = {_named(epsilon)}"
        )
    for rule in ("sgd", "rmsprop"):
        rates, losses = _tuning(record, rule)
        ax.plot(rates, losses, **style(rule, marker=True, ms=4.5, lw=1.6), label=label(rule))
    ax.set(xscale="log", yscale="log", xlabel="rate / the rule's usual rate", ylabel="held-out loss")
    low = min(y.min() for y in (np.asarray(drawn.get_ydata(), dtype=np.float64) for drawn in ax.lines))
    ax.set_ylim(0.9 * low, 14 * low)
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1.0) if 0.9 * low <= t <= 14 * low]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.grid(axis="y", which="major")


def _last(record: Record, rule: str, key: str) -> np.ndarray:
    """Return the final value of every fresh seed."""
    return np.array([run[key][-1] for run in record.results["tested"] if run["rule"] == rule and key in run])


def _tuning(record: Record, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rates in units of the rule's usual one and mean held-out losses, where no run diverged."""
    table: dict[float, list[Any]] = {}
    for run in record.results["tuned"]:
        if run["rule"] == rule:
            table.setdefault(run["lr"], []).append(run.get("test_loss", [np.nan])[-1])
    kept = sorted((lr, float(np.mean(losses))) for lr, losses in table.items() if not np.isnan(losses).any())
    usual = record.config["rules"][rule]["usual"]
    return np.array([lr / usual for lr, _ in kept]), np.array([loss for _, loss in kept])


def _named(epsilon: float) -> str:
    return "0" if epsilon == 0 else f"$10^{{{round(np.log10(epsilon))}}}$"
