"""Figures of the chapter on geometry."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from lossnav.figures import COLOURS, halo, label, letter, line, mark, readable
from lossnav.figures.landscape import ground, known_minimum

_SCORES = {"log": "log score", "brier": "Brier score"}
_NAMES = {"newton": "Newton", "ballistic": "ballistic with metric"}
_STAR = {"marker": "*", "color": COLOURS["ink"], "ms": 13, "mec": "white", "ls": "none", "zorder": 5}


def bowls(*, loss, panels, names, metrics, times):
    """Draw paths in one bowl under several metrics (the paper's Fig. 3a and 3b)."""
    share = np.asarray(times, dtype=np.float64)
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 3.9), sharex=True, sharey=True, squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        drawn = {rule: path(share * float(path.times[-1])) for rule, path in curves.items()}
        start = next(iter(drawn.values()))[0]
        ground(ax, loss, (-0.5, 1.9, -0.9, 1.9))
        _price(ax, np.asarray(metrics[title], dtype=np.float64), (1.35, -0.4), 0.42)
        for rule, theta in drawn.items():
            ax.plot(*theta.T, **line(rule, lw=2.2), path_effects=halo(3.2))
        ax.plot(*start, "o", color=COLOURS["ink"], ms=6, zorder=5)
        ax.plot(*known_minimum(loss), **_STAR)
        ax.set(xlabel=r"$\theta_1$", aspect="equal", xlim=(-0.5, 1.9), ylim=(-0.9, 1.9))
    axes[0, 0].set_ylabel(r"$\theta_2$")
    label(axes[0, 0], start[0] - 0.1, start[1], "start", ha="right")
    _key(figure, names)
    letter(axes, list(panels))
    return figure


def preconditioners(*, curve, gradient):
    """Draw preconditioners P_t as ellipses P_t·(unit circle), and the directions in which they step."""
    rules = {0.0: "natural gradient", 0.5: "ballistic", 1.0: "newton"}
    g = np.asarray(gradient, dtype=np.float64)
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.7))
    circle = _circle()
    for t, matrix in curve.items():
        style = line(rules[t], lw=2.2) if t in rules else {"color": COLOURS["quiet"], "lw": 1.0}
        left.plot(*(matrix @ circle), **style)
        step = -matrix @ g / np.linalg.norm(matrix @ g)
        right.plot([0, step[0]], [0, step[1]], **style)
        if t in rules:
            right.plot(*step, **mark(rules[t], ms=8))
    uphill = g / np.linalg.norm(g)
    right.plot([0, uphill[0]], [0, uphill[1]], color=COLOURS["ink"], lw=1.4, ls=":")
    label(right, 0.5 * uphill[0], 0.5 * uphill[1] + 0.12, "$g$", ha="right")
    reach = 1.1 * max(np.max(np.abs(matrix @ circle)) for matrix in curve.values())
    left.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
    right.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[])
    _key(figure, dict(zip(rules.values(), ("natural", "ballistic", "Newton"), strict=True)))
    letter((left, right), ("$P_t$ of unit gradients", "direction of the step"))
    return figure


def turning(*, angles, rates, turns):
    """Draw rates, and how far preconditioners turn a gradient, against the angle between the axes of G and H."""
    x, pace = np.asarray(angles, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), sharex=True)
    at = int(0.6 * len(x))
    for values, text, side in ((pace[:, 1], "fast mode", "bottom"), (pace[:, 0], "slow mode", "top")):
        above.plot(x, values, **line("optimal"))
        shift = 1.15 if side == "bottom" else 0.87
        label(above, x[at], values[at] * shift, text, "optimal", ha="right" if side == "bottom" else "center", va=side)
    above.set(yscale="log", ylabel="rate $r$")
    top = max(max(curve["turn"]) for curve in turns.values())
    below.axhspan(90, 1.2 * top, color=COLOURS["grid"], lw=0)
    for rule, curve in turns.items():
        below.plot(x, curve["turn"], **line(rule))
    label(below, 89, 1.17 * top, "uphill", "loss", ha="right", va="top")
    below.legend(
        [Line2D([], [], **line(rule)) for rule in turns],
        [curve["label"] for curve in turns.values()],
        loc="upper left",
        frameon=False,
    )
    below.set(
        xlabel="angle between the axes of $G$ and $H$, degrees",
        ylabel="largest turn, degrees",
        xlim=(x[0], x[-1]),
        ylim=(0, 1.2 * top),
    )
    letter((above, below), ("the rates of the optimal path", "how far a step is turned"))
    return figure


def detour(*, loss, metric, theta, times, falls):
    """Draw a path that moves away from the minimum first, and how far off it is by several measures."""
    path, t = np.asarray(theta, dtype=np.float64), np.asarray(times, dtype=np.float64)
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.5))
    reach = 1.25 * float(np.abs(path).max())
    ground(left, loss, (-reach, reach, -reach, reach))
    _price(left, np.asarray(metric, dtype=np.float64), (0.0, 0.0), 0.6 * reach)
    left.plot(*path.T, **line("optimal", lw=2.4), path_effects=halo(4))
    left.plot(*path[0], "o", color=COLOURS["ink"], ms=6, zorder=5)
    left.plot(*known_minimum(loss), **_STAR)
    left.set(aspect="equal", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=(-reach, reach), ylim=(-reach, reach))
    rules = {"ruler": "ballistic", "metric": "kinetic", "loss": "loss"}
    for name, values in falls.items():
        right.plot(t, np.asarray(values) / np.asarray(values)[0], **line(rules[name]))
    right.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    right.set(xlabel="time $t$", xlim=(t[0], t[-1]), ylim=(0, None))
    _key(figure, {rules[name]: name for name in falls})
    letter((left, right), ("the path", "relative to the start"))
    return figure


def half_plane(*, loss, metric, path, short, plain, points):
    """Draw paths in the half plane of mean and spread, with ellipses of equal price."""
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    span = (-0.45, 2.6, 0.2, 2.2)
    ground(ax, loss, span, np.log)
    for mu in (0.5, 1.2, 1.9):
        for sigma in (0.4, 0.8, 1.2, 1.7):
            _price(ax, np.asarray(metric(np.array([mu, sigma]))), (mu, sigma), None, 0.12)
    named = {"loss": "$G=I$", "ballistic": "terms dropped", "optimal": "Eq. 90"}
    for rule, curve in zip(named, (plain, short, path), strict=True):
        style = _dashed(rule, lw=2.4, dashed=curve is short)
        ax.plot(*curve(np.linspace(0, 1, 600) ** 3 * float(curve.times[-1])).T, **style, path_effects=halo(4))
    ax.plot(*np.asarray(points).T, "s", ms=4.5, mfc="white", mec=COLOURS["ink"], mew=1.0, ls="none", zorder=5)
    ax.plot(*known_minimum(loss), **_STAR)
    ax.plot(*path(0.0), "o", color=COLOURS["ink"], ms=6, zorder=6)
    label(ax, path(0.0)[0] + 0.08, path(0.0)[1], "start", va="center")
    _key(figure, named, dashed=("ballistic",))
    ax.set(xlabel=r"mean $\mu$", ylabel=r"spread $\sigma$", xlim=span[:2], ylim=span[2:])
    return figure


def spectra(*, values):
    """Draw curvatures per unit of price, h_i, at several stages of learning."""
    figure, axes = plt.subplots(1, len(values), figsize=(5.8, 3.4), sharey=True, squeeze=False)
    for ax, steps in zip(axes[0], values.values(), strict=True):
        for place, h in enumerate(steps.values()):
            across = place + np.linspace(-0.28, 0.28, len(h))
            ax.plot(across, h, "o", ms=3.2, color=COLOURS["kinetic"], mec="none", alpha=0.75)
        ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        ax.set_xticks(range(len(steps)), [str(step) for step in steps])
        ax.set_xlabel("after step")
    axes[0, 0].set_ylabel("$h_i$")
    letter(axes, [_SCORES[score] for score in values])
    return figure


def learning(*, losses, pace):
    """Draw losses of several rules against steps and against time, one row for each score."""
    scores, rules = list(losses), list(losses["log"])
    figure, axes = plt.subplots(len(scores), 2, figsize=(5.8, 2.9 * len(scores)), sharey="row", squeeze=False)
    for row, score in zip(axes, scores, strict=True):
        floor = np.min([values.min(axis=1) for values in losses[score].values()], axis=0)[:, None]
        widths = np.linspace(3.4, 1.4, len(rules))  # where rules agree, all are seen
        for width, (rule, values) in zip(widths, losses[score].items(), strict=True):
            # an excess below a ten-thousandth of the first is not told apart from none
            excess = np.maximum(values - floor, 1e-4 * (values[:, :1] - floor))
            steps = np.arange(excess.shape[1])
            look = line(coloured(rule), lw=width)
            for ax, x in zip(row, (steps, steps[1:] * pace[score][rule]), strict=True):
                shown = excess[:, -len(x) :]
                ax.plot(x, np.median(shown, axis=0), **look)
                ax.fill_between(x, shown.min(axis=0), shown.max(axis=0), color=look["color"], alpha=0.15, lw=0)
        row[0].set(yscale="log", ylabel="excess loss")
        row[1].set(xscale="log")
    axes[-1, 0].set_xlabel("steps")
    axes[-1, 1].set_xlabel("time, ms")
    handles = [Line2D([], [], **line(coloured(rule))) for rule in rules]
    figure.legend(
        handles, [_NAMES.get(rule, rule) for rule in rules], loc="outside lower center", ncols=2, frameon=False
    )
    letter(axes, [text for score in scores for text in (_SCORES[score], f"{_SCORES[score]}, per time")])
    return figure


def coloured(rule):
    """Return whose colour a rule has: that of none, if it takes every price to be one."""
    return "loss" if rule.endswith("$G=I$") else rule


def _dashed(rule, *, lw, dashed):
    """Return the style of a rule's line, or that of one which is no solution."""
    return line(rule, lw=lw) | ({"linestyle": "--"} if dashed else {})


def _key(figure, names, dashed=()):
    """Write the names of lines, by rule, below the panels, each with its line and in its colour."""
    handles = [Line2D([], [], **_dashed(rule, lw=2.2, dashed=rule in dashed)) for rule in names]
    figure.legend(
        handles,
        list(names.values()),
        loc="outside lower center",
        ncols=len(names),
        labelcolor=[readable(COLOURS[rule]) for rule in names],
        frameon=False,
    )


def _circle():
    angle = np.linspace(0, 2 * np.pi, 361)
    return np.stack([np.cos(angle), np.sin(angle)])


def _price(ax, metric, centre, size, unit=1.0):
    """Draw velocities of equal price about ``centre``; ``size`` fixes the long axis, None draws to scale ``unit``."""
    value, vector = np.linalg.eigh(metric)
    scale = unit if size is None else size * np.sqrt(value.min())
    x, y = scale * vector @ (_circle() / np.sqrt(value)[:, None])
    ax.plot(centre[0] + x, centre[1] + y, color=COLOURS["loss"], lw=1.1, zorder=2)
