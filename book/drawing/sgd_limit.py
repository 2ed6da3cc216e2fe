"""Figures of the chapter on the limit of SGD."""

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS, LANDSCAPE, halo, label, letter, readable

_SEEN, _SAID = "sgd", "ink"  # what was measured, and what was predicted
_PLANE = {"xlabel": r"position $\langle\theta-\mu,q\rangle$", "ylabel": r"velocity $\langle v,q\rangle$"}


def walks(*, paths, n, far):
    """Draw kinds of walks in a plane, and how far they get."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.0))
    hues = ("potential", _SEEN, "optimal") * len(paths)
    for (name, path), hue in zip(paths.items(), hues, strict=False):
        axes[0].plot(*np.asarray(path).T, color=COLOURS[hue], lw=0.9)
        axes[1].loglog(n, far[name], color=COLOURS[hue], lw=1.8)
        label(axes[1], 1.3 * float(n[-1]), float(far[name][-1]), name, hue, va="center")
    axes[0].plot(0, 0, "o", mfc="white", mec=COLOURS["ink"], ms=6)
    reach = 1.1 * sorted(float(np.max(np.abs(path))) for path in paths.values())[-2]  # the farthest leaves the frame
    axes[0].set_aspect("equal")
    axes[0].set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    axes[1].set(xlabel="number of steps $n$", ylabel=r"mean of $|\Delta_n|^2$")
    axes[1].margins(y=0.15)
    axes[1].set_xlim(right=30 * float(n[-1]))  # room for the names
    letter(axes, ("three walks", "how far"))
    return figure


def regimes(*, curves):
    """Draw one mode without noise in the phase plane, one panel a regime of damping."""
    figure, axes = plt.subplots(1, len(curves), figsize=(5.8, 2.7), sharey=True, squeeze=False)
    for ax, curve in zip(axes[0], curves.values(), strict=True):
        smooth, steps = curve["smooth"], curve["steps"]
        ax.axhline(0, color=COLOURS["grid"], lw=1)
        ax.axvline(0, color=COLOURS["grid"], lw=1)
        ax.plot(*smooth, color=COLOURS[_SAID], lw=1.6)
        ax.plot(*steps, ".", color=COLOURS[_SEEN], ms=5)
        ax.plot(*smooth[:, 0], "o", mfc="white", mec=COLOURS["ink"], ms=6)
        ax.set_xlabel("position $a$")
    axes[0, 0].set_ylabel("velocity $b$")
    letter(axes[0], list(curves))
    return figure


def correlations(*, times, curves):
    """Draw how a velocity is remembered, one line a regime of damping."""
    figure, ax = plt.subplots(figsize=(5.8, 2.9))
    ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
    styles = [("kinetic", "-"), ("ink", "--"), ("potential", "-.")]
    for (text, values), (colour, dash) in zip(curves.items(), styles * len(curves), strict=False):
        ax.plot(times, values, color=COLOURS[colour], ls=dash, label=text)
    legend = ax.legend(loc="upper right")
    for handle in legend.get_texts():
        handle.set_path_effects(halo())
    ax.set(xlabel=r"time, in units of $1/\gamma$", ylabel=r"$C(t)$", xlim=(times[0], times[-1]))
    return figure


def spirals(*, runs):
    """Draw runs of SGD along one eigenvector: in the phase plane, and over steps with the band of the prediction."""
    figure, axes = plt.subplots(
        len(runs), 2, figsize=(5.8, 2.6 * len(runs)), squeeze=False, gridspec_kw={"width_ratios": [1, 1.5]}
    )
    for (plane, course), run in zip(axes, runs.values(), strict=True):
        theta, mean, spread = run["theta"], run["mean"], run["spread"]
        plane.plot(theta, run["v"], color=COLOURS[_SEEN], lw=0.8, alpha=0.8)
        plane.plot(mean, run["speed"], color=COLOURS[_SAID], lw=1.5)
        steps = np.arange(len(theta))
        course.fill_between(steps, mean - 2 * spread, mean + 2 * spread, color=COLOURS["quiet"], alpha=0.35, lw=0)
        course.plot(steps, theta, color=COLOURS[_SEEN], lw=1.1)
        course.plot(steps, mean, color=COLOURS[_SAID], lw=1.0, ls=(0, (3, 2)))
        plane.set(xlabel=r"$\langle\theta-\mu,q_1\rangle$", ylabel=r"$\langle v,q_1\rangle$")
        course.set(xlabel="step", xlim=(0, len(theta) - 1))
        plane.ticklabel_format(axis="y", scilimits=(-2, 3))
    letter([row[0] for row in axes], list(runs))
    return figure


def clouds(*, planes):
    """Draw where SGD is in phase space once it has arrived, the predicted ellipses, and which way it goes round."""
    figure, axes = plt.subplots(1, len(planes), figsize=(5.8, 3.1), squeeze=False)
    for ax, plane in zip(axes[0], planes.values(), strict=True):
        covariance = plane["covariance"]
        ax.plot(*plane["points"].T, ".", color=COLOURS[_SEEN], ms=2.2, alpha=0.35, mew=0, rasterized=True)
        for size in (1, 2):
            ax.plot(*(size * _ellipse(covariance)), color=COLOURS[_SAID], lw=1.4)
        _arrows(ax, 2 * _ellipse(covariance, 9)[:, :-1], plane["flow"], np.sqrt(np.diag(covariance)))
        reach = 3.6 * np.sqrt(np.diag(covariance))
        ax.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), xlabel=_PLANE["xlabel"])
        ax.ticklabel_format(scilimits=(-2, 3))
    axes[0, 0].set_ylabel(_PLANE["ylabel"])
    letter(axes[0], list(planes))
    return figure


def current(*, path, potential, modified, flow, centre):
    """Draw a process with anisotropic noise in the potential that drives it and in the one that its density shows."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.2), sharex=True, sharey=True)
    spread = np.linalg.inv(modified)
    scale = float(np.sqrt(np.mean(np.sum((path[len(path) // 5 :] - centre) ** 2, axis=1)) / np.trace(spread)))
    for ax, matrix, colour in ((axes[0], potential, "loss"), (axes[1], modified, "kinetic")):
        ax.plot(*path.T, color=COLOURS[_SEEN], lw=0.5, alpha=0.75, rasterized=True)
        shape = np.linalg.inv(matrix)
        shape = shape * np.sqrt(np.linalg.det(spread) / np.linalg.det(shape))  # ellipses of one area
        for size in (1, 2, 3):
            ax.plot(*(centre[:, None] + size * scale * _ellipse(shape)), color=COLOURS[colour], lw=1.6)
        ax.plot(*path[0], "o", mfc="white", mec=COLOURS["ink"], ms=5)
        ax.set(aspect="equal", xlabel="$x_1$")
        ax.locator_params(nbins=4)
    away = 2 * scale * _ellipse(spread, 9)[:, :-1]
    _arrows(axes[1], centre[:, None] + away, flow, scale * np.sqrt(np.diag(spread)), away)
    axes[0].set_ylabel("$x_2$")
    letter(axes, [r"the potential $\Phi$", r"the modified one, $\Psi$"])
    return figure


def slices(*, x, y, slices, cloud):
    """Draw landscapes over the plane of two eigenvectors, and where SGD is in it."""
    figure, axes = plt.subplots(1, len(slices), figsize=(5.8, 2.6), sharex=True, sharey=True, squeeze=False)
    for ax, values in zip(axes[0], slices.values(), strict=True):
        ax.contourf(x, y, values, levels=14, cmap=LANDSCAPE)
        ax.contour(x, y, values, levels=14, colors="white", linewidths=0.5)
        ax.plot(*cloud.T, ".", color=COLOURS[_SEEN], ms=2.4, mew=0, rasterized=True)
        ax.plot(0, 0, "+", color="white", ms=9, mew=1.8)
        ax.set(aspect="equal", xlabel="steep direction")
        ax.set(xticks=[-3, 0, 3], yticks=[-3, 0, 3])
    axes[0, 0].set_ylabel("flat direction")
    letter(axes[0], list(slices))
    return figure


def variances(*, curvature, position, velocity, said_position, said_velocity, gibbs):
    """Draw variances of position and velocity along eigenvectors against their curvature."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.0))
    order = np.argsort(curvature)
    for ax, measured, predicted in ((left, position, said_position), (right, velocity, said_velocity)):
        ax.plot(curvature[order], predicted[order], color=COLOURS[_SAID], lw=1.5)
        ax.plot(curvature, measured, "o", color=COLOURS[_SEEN], ms=5, mec="white", mew=0.6)
        ax.set(xscale="log", yscale="log", xlabel=r"eigenvalue $\rho$")
    left.plot(curvature[order], gibbs[order], color=COLOURS["quiet"], ls=":", lw=1.8)
    middle = order[len(order) // 2]
    label(left, curvature[middle], gibbs[middle] * 0.8, r"$\propto 1/\rho$ ", "loss", ha="right", va="top")
    low, high = min(position.min(), gibbs.min()), max(position.max(), gibbs.max())
    left.set_ylim(low / 2, high * 2)
    letter((left, right), ["variance of positions", "variance of velocities"])
    return figure


def speeds(*, said, seen, names):
    """Draw measured mean squared steps over predicted ones, one row a setting."""
    figure, ax = plt.subplots(figsize=(5.8, 0.36 * len(names) + 1.1))
    places = np.arange(len(names))[::-1]
    ax.axvspan(0.95, 1.05, color=COLOURS["grid"], lw=0)
    ax.axvline(1, color=COLOURS[_SAID], lw=1.2)
    ax.plot(seen / said, places, "o", color=COLOURS[_SEEN], ms=7, mec="white")
    ax.set(yticks=places, yticklabels=list(names), xlabel="measured / predicted")
    reach = max(0.12, 1.2 * float(np.max(np.abs(seen / said - 1))))
    ax.set(xlim=(1 - reach, 1 + reach), ylim=(-0.6, len(names) - 0.4))
    return figure


def displacement(*, n, curves, seen=None):
    """Draw mean squared displacements against the number of steps, both on logarithmic axes."""
    figure, ax = plt.subplots(figsize=(5.8, 3.4))
    styles = [("kinetic", "-", 3.4), ("ink", "--", 1.5), ("potential", "-.", 1.5), ("loss", ":", 1.8)]
    for (text, values), (colour, dash, width) in zip(curves.items(), styles * len(curves), strict=False):
        ax.plot(n, values, color=COLOURS[colour], ls=dash, lw=width, label=text)
    if seen is not None:
        ax.plot(*seen, "o", color=COLOURS[_SEEN], ms=5, mec="white", mew=0.6, label="simulated")
    first = next(iter(curves.values()))
    for power, text in ((2, "$n^2$"), (1, "$n$")):
        start = n[0] if power == 2 else n[len(n) // 3]
        size = first[0] * 1.7 if power == 2 else first[len(n) // 3] * 2.2
        guide = np.array([start, start * (12 if power == 2 else 60)])
        ax.plot(guide, size * (guide / start) ** power, color=COLOURS["quiet"], lw=0.9)
        label(ax, guide[-1], size * (guide[-1] / start) ** power, " " + text, "quiet", va="center")
    ax.legend(loc="lower right")
    ax.set(xscale="log", yscale="log", xlabel="steps $n$", ylabel=r"mean $|\Delta_n|^2$")
    return figure


def _ellipse(covariance, count=181):
    """Return the ellipse of one standard deviation, shape (2, count)."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, count)
    return vectors * np.sqrt(np.maximum(values, 0)) @ np.stack([np.cos(angle), np.sin(angle)])


def _arrows(ax, places, flow, size, away=None):
    """Draw the current at places, shape (2, M), as arrows of one length in the units ``size`` of both axes."""
    speed = flow @ (places if away is None else away)
    speed = speed / np.linalg.norm(speed / size[:, None], axis=0)
    style = {"arrowstyle": "-|>", "color": readable(COLOURS["kinetic"]), "lw": 2.0, "mutation_scale": 13, "shrinkA": 0}
    style["shrinkB"] = 0
    for (x, y), (dx, dy) in zip(places.T, 0.75 * speed.T, strict=True):
        ax.annotate("", (x + dx / 2, y + dy / 2), (x - dx / 2, y - dy / 2), arrowprops=style, zorder=7)
