"""Figures of the chapter on momentum."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba

from lossnav.figures import COLOURS, LANDSCAPE, halo, label, label_end, letter, line, mark
from lossnav.figures.landscape import ground


def future_average(*, trajectory, loss, times, momentum, now, discount):
    """Draw the force along a one-parameter path, the window that momentum at time ``now`` averages, and momentum."""
    t = np.asarray(times, dtype=np.float64)
    theta = trajectory(t)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True)
    force = -loss.gradient(theta)[:, 0]
    above.plot(t, force, **line("loss"))
    ahead = t >= now
    window = np.where(ahead, np.exp(-discount * (t - now)), 0.0)
    above.fill_between(t[ahead], 0.0, (force * window)[ahead], color=COLOURS["optimal"], alpha=0.35, lw=0)
    peak = int(np.argmax(force))
    later = peak + int(np.argmax(force[peak:] < 0.7 * force[peak]))
    label(above, t[later] + 0.02 * t[-1], force[later], r"$-\nabla L(\theta_s)$", "loss", va="center")
    label(
        above,
        t[later] + 0.14 * t[-1],
        0.35 * force[peak],
        "shaded: faded by $e^{-\\gamma(s-t)}$,\nwhat $p_t$ adds up",
        "optimal",
        va="center",
    )
    below.plot(t, trajectory.velocity(t)[:, 0], **line("optimal", lw=3.5, alpha=0.55))
    sparse = slice(None, None, max(1, len(t) // 24))
    below.plot(t[sparse], np.asarray(momentum)[sparse], **mark("optimal", ms=5.5))
    label(
        below,
        0.35 * t[-1],
        0.72 * float(np.max(momentum)),
        "line: $\\dot\\theta$ of the path\nmarkers: the integral",
        "optimal",
        va="center",
    )
    for ax in (above, below):
        ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        ax.axvline(now, color=COLOURS["ink"], lw=0.8, ls=":")
        ax.set_xlim(t[0], t[-1])
    above.set_ylabel("force")
    below.set(ylabel=r"momentum $p_t$", xlabel="time")
    letter((above, below), ("force along the path", "momentum"))
    return figure


def phase_planes(*, panels, rate):
    """Draw two linear flows in the plane of position and momentum, side by side."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.8, 3.3), sharey=True)
    grid = np.linspace(-2.0, 2.0, 41)
    x, p = np.meshgrid(grid, grid)
    for ax, panel in zip(axes, panels.values(), strict=True):
        flow = np.einsum("ij,jab->iab", panel["matrix"], np.stack([x, p]))
        ax.streamplot(x, p, *flow, color="#B8C1CA", density=0.38, linewidth=0.8, arrowsize=0.8, zorder=1)
        ax.plot(*panel["path"].T, **line(panel["rule"], lw=2.6), path_effects=halo(4))
        ax.plot(*panel["path"][0], "o", color=COLOURS["ink"], ms=6, zorder=5)
        ax.plot(0.0, 0.0, "*", color=COLOURS["ink"], ms=12, mec="white", zorder=5)
        ax.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xticks=[-2, 0, 2], yticks=[-2, 0, 2])
        ax.set_xlabel(r"$\theta-\theta^*$")
    axes[0].plot(grid, -rate * grid, **line("optimal", lw=1.0))
    label(axes[0], 0.25, -rate * 1.85, "$p=-r(\\theta-\\theta^*)$", "optimal", va="top")
    axes[0].set_ylabel("momentum $p$")
    letter(axes, list(panels))
    return figure


def blow_up(*, times, optimal, forward, rate):
    """Draw forward integrations of the Euler–Lagrange equation beside the path they should follow, and their error."""
    t, best = times, optimal
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.2), sharex=True)
    low, high = best.min(), best.max()
    room = 0.9 * (high - low)
    dashes = ["--", "-.", ":"]
    for place, (text, theta) in enumerate(forward.items()):
        shown = np.where((theta > low - room) & (theta < high + room), theta, np.nan)
        above.plot(t, shown, color=COLOURS["ink"], ls=dashes[place % 3], lw=1.5)
        error = np.abs(theta - best)
        later = error > 1e-13
        below.plot(t[later], error[later], color=COLOURS["ink"], ls=dashes[place % 3], lw=1.5)
        inside = np.flatnonzero(np.isfinite(shown))[-1]
        up = shown[inside] > best[inside]
        label(above, t[inside] - 0.015 * t[-1], shown[inside], text, "ink", ha="right", va="top" if up else "bottom")
        when, error = t[later], error[later]
    above.plot(t, best, **line("optimal", lw=2.8))
    label(above, t[-1], best[-1] - 0.1 * (high - low), "optimal branch", "optimal", ha="right", va="top")
    anchor = int(0.75 * len(when))
    guide = error[anchor] * np.exp(rate * (when - when[anchor])) * 30
    below.plot(when, guide, color=COLOURS["quiet"], lw=4.5, alpha=0.35)
    label(below, when[anchor], guide[anchor] * 12, "grows as $e^{s_+t}$", "quiet", ha="right")
    above.set(ylabel=r"$\theta(t)$", ylim=(low - room, high + room), xlim=(t[0], t[-1]))
    below.set(ylabel="distance from it", xlabel="time $t$", yscale="log")
    letter((above, below), ("integrated forward", "the error"))
    return figure


def walks(*, loss, paths, extent):
    """Draw walks of learning rules over a curved landscape, one small panel a rule."""
    figure, axes = plt.subplots(2, 2, figsize=(5.8, 5.0), sharex=True, sharey=True)
    left, right, bottom, top = extent
    x, y = np.linspace(left, right, 220), np.linspace(bottom, top, 220)
    heights = np.log10(loss.value(np.stack(np.meshgrid(x, y), axis=-1)) + 0.02)
    for ax, (rule, walk) in zip(np.ravel(axes), paths.items(), strict=True):
        points = walk["points"]
        ax.contourf(x, y, heights, levels=10, cmap=LANDSCAPE)
        ax.plot(*points.T, **line(rule, lw=1.8), path_effects=halo(3.4))
        if len(points) <= 60:
            ax.plot(*points.T, **mark(rule, ms=4.5, markeredgewidth=0.5))
        ax.plot(*points[0], "o", color=COLOURS["ink"], ms=5.5, zorder=5)
        ax.plot(*loss.stationary_points()[0], "*", color=COLOURS["ink"], ms=11, mec="white", zorder=5)
        label(ax, left + 0.04 * (right - left), bottom + 0.05 * (top - bottom), walk["note"], "ink")
        ax.set(xlim=(left, right), ylim=(bottom, top))
    letter(axes, [walk["title"] for walk in paths.values()])
    for ax in axes[-1]:
        ax.set_xlabel(r"$\theta_1$")
    for ax in axes[:, 0]:
        ax.set_ylabel(r"$\theta_2$")
    return figure


def rivals(*, steps, costs, least):
    """Draw the cost J of rules that all stay finite against their step."""
    dt = np.asarray(steps, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    highest = max(float(curve["cost"].max()) for curve in costs.values())
    ax.set(xscale="log", yscale="log", xlim=(0.85 * dt[0], 1.18 * dt[-1]), ylim=(0.9 * least, 1.15 * highest))
    ax.set(xlabel=r"step  $\Delta t$", ylabel="cost  $J$")
    ticks = [tick for tick in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50) if 0.9 * least <= tick <= 1.15 * highest]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    for rule, curve in costs.items():
        ax.plot(dt, curve["cost"], label=curve["label"], **line(rule, marker=True, ms=5))
    ax.legend(loc="upper left", handlelength=3.2)  # the lines cross: no place beside one is its own
    ax.axhline(least, color=COLOURS["ink"], lw=1.0)
    label(ax, dt[-1], least * 0.98, "least possible", "ink", va="top", ha="right")
    return figure


def cost_of_steps(*, steps, costs, least):
    """Draw the cost J of each rule against its step, with the least cost possible."""
    dt = np.asarray(steps, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.0))
    finite = np.concatenate([curve["cost"][np.isfinite(curve["cost"])] for curve in costs.values()])
    ceiling = min(3.0 * float(finite.max()), 1e3 * least)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(0.85 * dt[0], 1.18 * dt[-1]),
        ylim=(0.5 * least, ceiling),
        xlabel=r"step  $\Delta t$",
        ylabel="cost  $J$",
    )
    for rule, curve in costs.items():
        text, cost = curve["label"], curve["cost"]
        alive = np.isfinite(cost)
        drawn = ax.plot(dt[alive], cost[alive], **line(rule, marker=True, ms=5))[0]
        if alive[-1]:
            label_end(ax, drawn, text, rule)
            continue
        end = np.flatnonzero(alive)[-1]
        ax.annotate(
            "",
            (dt[end], 4.0 * cost[end]),
            (dt[end], cost[end]),
            arrowprops={"arrowstyle": "->", "color": COLOURS[rule], "lw": 1.2},
        )
        label(ax, dt[end] * 1.15, 1.35 * cost[end], f"{text}\ndiverges", rule, va="center")
    ax.axhline(least, color=COLOURS["ink"], lw=1.0)
    label(ax, dt[0], least * 0.93, "least possible", "ink", va="top")
    return figure


def traces(*, curves, times, loss):
    """Draw θ(t) above the loss along it, L(θ(t)), for one parameter (the paper's Fig. 2a and 2b)."""
    times = np.asarray(times, dtype=np.float64)
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True)
    minimum = float(loss.stationary_points()[0, 0])
    above.axhline(minimum, color=COLOURS["quiet"], lw=0.8, ls=":")
    label(above, times[-1], minimum, "minimum", "quiet", va="bottom", ha="right")
    above.set(ylabel=r"$\theta(t)$", xlim=(times[0], times[-1]))
    below.set(ylabel=r"$L(\theta(t))$", xlabel="time $t$")
    for at, (rule, curve) in enumerate(curves.items()):
        theta = curve["path"](times)
        above.plot(times, theta[:, 0], **line(rule))
        below.plot(times, loss.value(theta), **line(rule))
        place = int((0.12, 0.22, 0.36)[at % 3] * len(times))
        # the first curve is the fastest: its own side is the left, the others' the right
        shift, ha, va = (-0.015, "right", "bottom") if at == 0 else (0.02, "left", "top")
        label(above, times[place] + shift * times[-1], theta[place, 0], curve["label"], rule, ha=ha, va=va)
    below.set_ylim(0.0, None)
    letter((above, below), ("the parameter", "the loss"))
    return figure


def paths(*, curves, times, loss, marks):
    """Draw paths over the contours of a landscape of two parameters (the paper's Fig. 2c)."""
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    drawn = {rule: curve["path"](times) for rule, curve in curves.items()}
    everything = np.concatenate(list(drawn.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.16 * (high - low)
    span = (low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1])
    ground(ax, loss, span)
    from_left = sorted(drawn, key=lambda rule: float(np.mean(drawn[rule][:, 0])))
    for rule, curve in curves.items():
        theta = drawn[rule]
        ax.plot(*theta.T, **line(rule, lw=2.4), path_effects=halo(4))
        ax.plot(*curve["path"](marks).T, **mark(rule))
        _along(ax, theta, curve["label"], rule, from_left.index(rule))
    ax.plot(*everything[0], "o", color=COLOURS["ink"], ms=7)
    label(ax, everything[0, 0] + 0.3 * margin[0], everything[0, 1] - 0.48 * margin[1], "start", "ink")
    ax.plot(*loss.stationary_points()[0], "*", color=COLOURS["ink"], ms=13, mec="white")
    ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=span[:2], ylim=span[2:], aspect="equal")
    return figure


def _along(ax, theta, text, rule, place):
    """Label a path beside its own part of the way: the leftmost on its left, the others on their right."""
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(theta, axis=0), axis=1))])
    at = theta[int(np.searchsorted(way, (0.42, 0.47, 0.45)[place % 3] * way[-1]))]
    side = -1 if place == 0 else 1
    label(ax, at[0] + 0.13 * side, at[1] - 0.02, text, rule, va="center", ha="right" if side < 0 else "left")


def rates(*, ratio, curves):
    """Draw how much faster the steep direction converges than the shallow one (the paper's Fig. 2d)."""
    x = np.asarray(ratio, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.5))
    drawn = {rule: ax.plot(x, curve["ratio"], **line(rule))[0] for rule, curve in curves.items()}
    ax.set(
        xlabel="ratio of curvatures  $h_2/h_1$",
        ylabel="ratio of rates  $r_2/r_1$",
        xlim=(x[0], x[-1]),
        ylim=(0.8, None),
    )
    for rule, curve in curves.items():
        label_end(ax, drawn[rule], curve["label"], rule)
    ax.grid(True)
    return figure


def preconditioner(*, curvature, values, rules, breaks):
    """Draw one preconditioner φ(h) with the rules that it turns into, from small curvature to large."""
    h, phi = np.asarray(curvature, dtype=np.float64), np.asarray(values, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.2))
    edges = [h[0], *breaks, h[-1]]
    for place, (rule, limit) in enumerate(rules.items()):
        left, right = edges[place], edges[place + 1]
        ax.axvspan(left, right, color=to_rgba(COLOURS[rule], 0.10), lw=0)
        ax.plot(h, limit["phi"], **line(rule, lw=1.6))
        middle = float(np.sqrt(left * right))
        height = float(np.exp(np.interp(np.log(middle), np.log(h), np.log(phi))))
        # below the curve, and above it where it is steep: there no other rule's line runs
        shift, side = ((0.5, "top"), (0.08, "top"), (30.0, "bottom"))[place % 3]
        label(ax, middle, height * shift, limit["label"], rule, ha="center", va=side)
    ax.plot(h, phi, **line("optimal", lw=3.2, zorder=4), path_effects=halo(5))
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(h[0], h[-1]),
        ylim=(phi.min() * 0.5, phi.max() * 8),
        xlabel="curvature $h$",
        ylabel=r"preconditioner  $\varphi(h)$",
    )
    return figure


def preconditioner_families(*, curvature, panels):
    """Draw families of preconditioners, one family a panel, one dash a member."""
    h = np.asarray(curvature, dtype=np.float64)
    figure, axes = plt.subplots(len(panels), 1, figsize=(5.8, 3.1 * len(panels)), sharex=True, squeeze=False)
    dashes = ["-", (0, (6, 1.6)), (0, (3, 1.4)), (0, (1.2, 1.2))]
    for ax, family in zip(axes[:, 0], panels.values(), strict=True):
        for place, (text, values) in enumerate(family.items()):
            shade = LANDSCAPE(0.62 * (1 - (place + 1) / len(family)))
            ax.plot(h, values, color=shade, ls=dashes[place % len(dashes)])
            x = h[0] * 1.6
            label(ax, x, 1.25 * float(np.interp(x, h, values)), text, "ink", va="bottom")
        ax.set(xscale="log", yscale="log", ylabel=r"$\varphi(h)$", xlim=(h[0], h[-1]))
        ax.set_ylim(None, ax.get_ylim()[1] * 4)
    axes[-1, 0].set_xlabel("curvature $h$")
    letter(list(axes[:, 0]), list(panels))
    return figure


def regime_map(*, discounting, stretch, errors, tolerance=0.1):
    """Draw where each rule lies within ``tolerance`` of the optimal displacement."""
    x, y = np.asarray(discounting, dtype=np.float64), np.asarray(stretch, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 4.4))
    for rule, region in errors.items():
        error = region["error"]
        ax.contourf(x, y, error, levels=[0.0, tolerance], colors=[to_rgba(COLOURS[rule], 0.22)])
        ax.contour(x, y, error, levels=[tolerance], colors=[COLOURS[rule]], linewidths=1.8)
        ax.contour(x, y, error, levels=[tolerance / 10], colors=[COLOURS[rule]], linewidths=1.0, linestyles=":")
        rows, columns = np.nonzero(error < tolerance / 10)
        across, up = np.exp(np.log(x[columns]).mean()), np.exp(np.log(y[rows]).mean())
        label(ax, float(across), float(up), region["label"], rule, ha="center", va="center")
    ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x[0], x[-1]),
        ylim=(y[0], y[-1]),
        xlabel=r"discounting against curvature  $\gamma^2/(4\eta k h)$",
        ylabel=r"step against relaxation  $r\,\Delta t$",
    )
    return figure


def orders(*, gammas, errors):
    """Draw errors of the overdamped expansion against γ, with the slopes they should have."""
    x = np.asarray(gammas, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.5))
    for place, (text, curve) in enumerate(errors.items()):
        y, rule = curve["error"], curve["rule"]
        guide = y[-1] * (x / x[-1]) ** -curve["order"]
        ax.plot(x, guide, color=COLOURS["quiet"], lw=4.5, alpha=0.35, solid_capstyle="butt")
        ax.plot(x, y, **line(rule, marker=True))
        above = place == 0  # the first, largest error takes the space above, the next the space below
        shift = (1.25, 1.3, "left", "bottom") if above else (1.0, 0.45, "right", "top")
        label(
            ax, x[1] * shift[0], y[1] * shift[1], f"{text}: slope $-{curve['order']}$", rule, ha=shift[2], va=shift[3]
        )
    ax.set(xscale="log", yscale="log", xlabel=r"discount rate $\gamma$", ylabel=r"error of $\dot\theta$")
    ax.set_xticks(x, [f"{g:g}" for g in x])
    ax.minorticks_off()
    return figure


def curvature_sign(*, curvature, values, newton, edge):
    """Draw the preconditioner across zero curvature, down to the edge where no minimiser exists."""
    h, phi = np.asarray(curvature, dtype=np.float64), np.asarray(values, dtype=np.float64)
    figure, ax = plt.subplots(figsize=(5.8, 3.6))
    top = 1.7 * float(phi.max())
    span = h[-1] - edge
    left = edge - 0.28 * span
    ax.axvspan(left, edge, color=COLOURS["grid"], lw=0)
    label(ax, (left + edge) / 2, 0.55 * top, "no\nminimiser", "loss", ha="center", va="center")
    ax.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
    ax.axvline(0.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    inverse = np.asarray(newton, dtype=np.float64)
    for side in (h < 0, h > 0):
        ax.plot(h[side], inverse[side], **line("newton"))
    ax.plot(h, phi, **line("optimal", lw=2.6))
    ax.plot(0.0, float(np.interp(0.0, h, phi)), **mark("gradient descent", zorder=5))
    ax.annotate(
        "at $h=0$: gradient\ndescent, exactly",
        (0.0, float(np.interp(0.0, h, phi))),
        xytext=(0.16 * span, -0.45 * top),
        color=COLOURS["gradient descent"],
        fontsize=10,
        va="center",
        arrowprops={"arrowstyle": "-", "color": COLOURS["gradient descent"], "lw": 0.8, "shrinkB": 5},
    )
    label(ax, h[-1] * 0.98, float(phi[-1]) - 0.05 * top, "optimal", "optimal", ha="right", va="top")
    label(ax, 0.18 * span, 0.62 * top, "Newton, $1/h$", "newton", ha="left", va="center")
    ax.set(xlim=(left, h[-1]), ylim=(-top, top), xlabel="curvature $h$", ylabel=r"preconditioner  $\varphi(h)$")
    return figure
