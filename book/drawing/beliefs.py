"""Figures of the chapter on beliefs."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from lossnav.figures import COLOURS, LINES, label, letter, line, readable
from lossnav.lab import registry

SHADES = ("gradient descent", "newton", "ballistic", "kinetic")


def noise(*, curvature, windows, smooth, flat):
    """Draw the variance of an observed gradient against curvature, for several lengths of averaging."""
    h, x = np.asarray(curvature, dtype=np.float64), np.asarray(smooth, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for (text, window), rule in zip(windows.items(), SHADES, strict=False):
        y = window["formula"]
        ax.plot(x, y, **line(rule))
        ax.plot(
            h,
            window["found"],
            marker=LINES[rule][1],
            color=COLOURS[rule],
            ls="none",
            ms=6.5,
            mec="white",
            clip_on=False,
            zorder=5,
        )
        label(ax, x[-1] * 1.3, y[-1], text, rule, va="center", clip_on=False)
    first, *_, last = (window["formula"] for window in windows.values())
    at = int(0.3 * len(x))
    label(ax, x[at], first[at] * 1.7, "∝ curvature", SHADES[0], ha="right", va="bottom")
    label(
        ax,
        x[int(0.72 * len(x))],
        last[int(0.72 * len(x))] * 0.72,
        flat,
        SHADES[len(windows) - 1],
        ha="center",
        va="top",
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        xlabel="curvature $h$ of the direction",
        ylabel="variance of the gradient",
    )
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.5, high)
    ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


def smoother(*, lags, kernels, average, shares, marks):
    """Draw the two-sided weights of a belief beside those of a moving average, and the share that lies on the past."""
    t = -np.asarray(lags, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), height_ratios=(1.25, 1.0))
    above.axvspan(0.0, float(np.max(t)), color=COLOURS["grid"], alpha=0.55, lw=0)
    held = np.where(t > 0, np.nan, np.asarray(average, dtype=np.float64))
    above.plot(t, held, color=COLOURS["belief"], ls="--", lw=2.4, zorder=4)
    for (text, w), rule, height in zip(kernels.items(), SHADES, (0.62, 0.66, 0.8, 0.9), strict=False):
        above.plot(t, w, color=COLOURS[rule], ls=LINES[rule][0], lw=2.0)
        later = t > 0
        at = int(np.argmax(np.where(later, w, -1.0)))
        place = int(np.argmin(np.where(later, np.abs(w - height * w[at]), np.inf)))
        label(above, t[place] + 0.07, w[place], text, rule, va="bottom")
    at = int(np.argmin(np.abs(t + 1.0)))
    label(above, t[at] - 0.18, float(held[at]), "moving average", "belief", ha="right", va="bottom")
    top = float(np.nanmax(held)) * 1.12
    label(above, 0.06, top * 0.985, "the future", "quiet", va="top")
    label(above, -0.06, top * 0.985, "the past", "quiet", va="top", ha="right")
    above.set(
        xlim=(float(np.min(t)), float(np.max(t))),
        ylim=(0, top),
        ylabel="weight of a datum",
        xlabel="when it is seen, in memories $1/\\rho$ from now",
    )
    x, y = (np.asarray(part, dtype=np.float64) for part in shares)
    below.plot(x, y, color=COLOURS["optimal"], lw=2.2)
    below.axhline(1.0, color=COLOURS["belief"], ls="--", lw=1.6)
    for (place_x, place_y), rule in zip(marks, SHADES, strict=False):
        below.plot(
            place_x, place_y, marker=LINES[rule][1], ms=8, color=COLOURS[rule], mec="white", clip_on=False, zorder=5
        )
    below.set(
        xlim=(x[0], x[-1]),
        ylim=(0.45, 1.03),
        ylabel="share of the past",
        xlabel=r"discount over forgetting, $\gamma/\rho$",
        yticks=[0.5, 0.75, 1.0],
    )
    letter((above, below), ("weights, all with the same memory", "how much of the weight lies on the past"))
    return figure


def following(*, times, panels):
    """Draw a weight and the minimum that it believes in, over time, in plans of slow and of hasty beliefs."""
    t = np.asarray(times, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 2.55 * len(panels)), sharex=True, sharey=True)
    for at, (ax, lines) in enumerate(zip(axes, panels.values(), strict=True)):
        ax.plot(t, lines["aim"], color=COLOURS["belief"], ls="--", lw=2.0)
        ax.plot(t, lines["rule"], color=COLOURS["ballistic"], ls=":", lw=2.0)
        ax.plot(t, lines["weight"], **line("optimal", lw=2.4))
        ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
        if at == 0:
            early, late = int(0.1 * len(t)), int(0.87 * len(t))
            label(ax, t[early], lines["aim"][early] - 0.06, "believed minimum, $-m/cV$", "belief", va="top")
            label(ax, t[late], lines["rule"][late] + 0.05, "beliefs held fixed", "ballistic", ha="right", va="bottom")
            half = int(np.argmin(np.abs(lines["weight"] - 0.5 * lines["rule"][-1])))
            label(ax, t[half] * 0.72, lines["weight"][half], "weight $\\delta$", "optimal", ha="right", va="center")
        ax.set_ylabel(r"$\delta$")
    axes[-1].set(xscale="log", xlim=(t[0], t[-1]), xlabel=r"time, in units of $1/\sqrt{\eta kcV}$")
    letter(axes, list(panels))
    return figure


def root(*, variance, some, lines):
    """Draw how the speed of the weight falls with the believed variance, for several discount rates."""
    x = np.asarray(variance, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.9))
    for text, curve in lines.items():
        rule, y = curve["rule"], curve["speed"]
        ax.plot(x, y, **line(rule))
        style = {"color": COLOURS[rule], "mfc": "white", "mew": 1.5, "ms": 6.5, "ls": "none"}
        ax.plot(some, curve["planned"], marker=LINES[rule][1], **style)
        steep = y[0] > 1.5 * y[len(y) // 4]
        at = len(y) // 8 if steep else 1
        label(ax, x[at], y[at] * (1.25 if steep else 0.8), text, rule, va="bottom" if steep else "top")
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        xlabel="believed variance $V$",
        ylabel=r"speed $|\dot\theta|$ at the start, per $|m|$",
    )
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.6, high)
    ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


def gains(*, count, curves):
    """Draw the weight of the newest datum by the exact filter and by Adam's bias correction, and their ratio."""
    n = np.asarray(count, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True, height_ratios=(1.4, 1.0))
    first = next(iter(curves.values()))
    for (text, curve), rule in zip(curves.items(), SHADES, strict=False):
        exact, adam = curve["exact"], curve["adam"]
        above.plot(n, exact, color=COLOURS[rule], lw=2.0)
        above.plot(n, adam, color=COLOURS["adam"], ls=LINES["adam"][0], lw=1.8)
        label(above, n[-1] * 1.12, exact[-1], text, rule, va="center", clip_on=False)
        below.plot(n, adam / exact, color=COLOURS[rule], ls=LINES[rule][0])
    at = int(np.searchsorted(n, 2))
    label(above, n[at] * 1.35, first["exact"][at] * 1.25, "solid: exact filter", "ink", va="bottom")
    late = int(np.searchsorted(n, 12))
    above.text(
        n[late] * 1.3,
        first["adam"][late] * 1.5,
        "dashed: Adam's correction",
        color=readable(COLOURS["adam"]),
        fontsize=10,
        va="bottom",
    )
    above.set(yscale="log", ylabel="weight of the newest datum")
    below.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    below.set(xscale="log", xlim=(n[0], n[-1]), xlabel="number of data $n$", ylabel="Adam / exact")
    letter((above, below), ("gain", "ratio of the two"))
    return figure


def curvature(*, stages):
    """Draw the curvature of each weight of a network against the variance of its gradient, at stages of training."""
    figure, axes = plt.subplots(1, len(stages), figsize=(5.8, 2.9), sharex=True, sharey=True)
    for ax, stage, rule in zip(axes, stages.values(), SHADES, strict=False):
        v, h = stage["variance"], stage["curvature"]
        ax.plot(v, h, ".", ms=2.2, alpha=0.35, color=COLOURS[rule], mec="none", rasterized=True)
        ends, c = np.array([np.min(v), np.max(v)]), float(np.median(h / v))
        ax.plot(ends, c * ends, color=COLOURS["ink"], lw=1.2)
        label(ax, 0.06, 0.93, f"$c={c:.2g}$", transform=ax.transAxes, va="top")
        ax.set(xscale="log", yscale="log", xlabel="variance $V$")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("curvature $h$")
    letter(axes, list(stages))
    return figure


_VARIANCES = {  # rule that lends its look, line style
    "uncentred": ("belief", "-"),
    "centred": ("newton", "--"),
    "innovation": ("belief, innovation", ":"),
}


def discounts(*, record):
    """Draw test error against the discount, and held-out loss against the rate for each discount."""
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


def _errors(ax, record, epsilons):
    for rule in ("sgd", "rmsprop"):
        values = 100 * (1 - _last(record, rule, "test_accuracy"))
        ax.axhline(values.mean(), **line(rule, lw=1.8), label=registry.label(rule), zorder=1)
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


def _sensitivity(ax, record, epsilons):
    ramp = plt.get_cmap("viridis")(np.linspace(0.0, 0.8, len(epsilons)))
    shapes = ("o", "s", "^", "D")
    for place, epsilon in enumerate(epsilons):
        rates, losses = _tuning(record, f"uncentred, ε = {epsilon:g}")
        ax.plot(
            rates, losses, color=ramp[place], marker=shapes[place % 4], ms=4.5, lw=1.6, label=f"ε = {_named(epsilon)}"
        )
    for rule in ("sgd", "rmsprop"):
        rates, losses = _tuning(record, rule)
        ax.plot(rates, losses, **line(rule, marker=True, ms=4.5, lw=1.6), label=registry.label(rule))
    ax.set(xscale="log", yscale="log", xlabel="rate / the rule's usual rate", ylabel="held-out loss")
    low = min(y.min() for y in (np.asarray(drawn.get_ydata(), dtype=np.float64) for drawn in ax.lines))
    ax.set_ylim(0.9 * low, 14 * low)
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1.0) if 0.9 * low <= t <= 14 * low]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.grid(axis="y", which="major")


def _last(record, rule, key):
    """Return the final value of every fresh seed."""
    return np.array([run[key][-1] for run in record.results["tested"] if run["rule"] == rule and key in run])


def _tuning(record, rule):
    """Return rates in units of the rule's usual one and mean held-out losses, where no run diverged."""
    table = {}
    for run in record.results["tuned"]:
        if run["rule"] == rule:
            table.setdefault(run["lr"], []).append(run.get("test_loss", [np.nan])[-1])
    points = sorted((lr, float(np.mean(losses))) for lr, losses in table.items() if not np.isnan(losses).any())
    usual = record.config["rules"][rule]["usual"]
    return np.array([lr / usual for lr, _ in points]), np.array([loss for _, loss in points])


def _named(epsilon):
    return "0" if epsilon == 0 else f"$10^{{{round(np.log10(epsilon))}}}$"
