"""Figures of the chapter on a trained network that keeps moving."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from lossnav.figures import COLOURS, letter

_MEASURED = {"color": COLOURS["sgd"]}
_PREDICTED = {"color": COLOURS["ink"], "ls": "--", "lw": 1.6}
_CROSS = {"color": COLOURS["ink"], "ls": "none", "marker": "x", "ms": 6, "mew": 1.4}
_DOTS = {"color": COLOURS["sgd"], "ls": "none", "marker": "o", "ms": 4, "alpha": 0.75}
_FITTED = {"color": COLOURS["momentum"], "ls": "-.", "lw": 1.6}
_NAMES = {"eta": r"learning rate $\eta$", "batch": "batch $S$", "beta": r"momentum $\beta$"}


def motion(*, loss, speed, expected_speed, lags, far, expected_far):
    """Draw that the loss stands still and the weights do not."""
    figure, axes = plt.subplots(1, 3, figsize=(5.8, 2.9))
    steps = np.arange(1, len(np.asarray(loss)) + 1)
    _smooth(axes[0], steps, np.asarray(loss))
    axes[0].set(xlabel="step", ylabel="loss of the batch", ylim=(0, None))
    _smooth(axes[1], steps, np.asarray(speed))
    axes[1].axhline(expected_speed, **_PREDICTED, label="predicted")
    axes[1].set(xlabel="step", ylabel=r"$|\delta_k|^2$", ylim=(0, None))
    axes[1].ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes[2].loglog(lags, far, **_DOTS, label="measured")
    axes[2].loglog(lags, expected_far, **_PREDICTED)
    axes[2].set(xlabel="steps $n$", ylabel=r"$|\Delta_n|^2$")
    letter(axes, ("loss", "speed", "distance"))
    handles = [axes[2].lines[0], axes[1].lines[-1]]
    figure.legend(handles, ["measured", "predicted"], loc="outside lower center", ncols=2)
    return figure


def spectrum(*, nodes, weights, decay, eta, beta):
    """Draw how the noise of a batch is spread over the curvatures of the loss."""
    curvature, share = np.asarray(nodes) + decay, np.asarray(weights) / np.sum(np.asarray(weights))
    edges = 2.0 ** np.arange(np.floor(np.log2(decay)) - 1, np.ceil(np.log2(max(curvature.max(), 2 * decay))) + 1)
    clipped = np.clip(curvature, edges[0] * 1.001, edges[-1] * 0.999)
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    counts, _ = np.histogram(clipped, edges, weights=100 * share)
    ax.bar(np.sqrt(edges[1:] * edges[:-1]), counts, width=0.9 * np.diff(edges), color=COLOURS["sgd"], alpha=0.8)
    ax.set(xscale="log", xlabel=r"curvature $h=\rho+\lambda$", ylabel=r"share of tr$\,\Sigma$ (%)")
    ax.axvline(decay, color=COLOURS["quiet"], ls=":", lw=1.0)
    ax.text(decay * 1.06, ax.get_ylim()[1] * 0.96, r"$\lambda$", color=COLOURS["ink"], va="top")
    steps = ax.secondary_xaxis("top", functions=(lambda h: _inverse(h, eta, beta), lambda n: _inverse(n, eta, beta)))
    steps.set_xlabel(r"steps that it remembers, $(1-\beta)/(\eta h)$")
    ax.grid(axis="y")
    return figure


def diffusion(*, lags, measured, predicted, shuffled):
    """Draw mean squared distances against the number of steps, and the exponent of each decade."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.3))
    n = np.asarray(lags, dtype=np.float64)
    looks = (
        ("measured", measured, {**_MEASURED, "lw": 1.8}), ("predicted", predicted, _PREDICTED),
        ("shuffled epochs", shuffled, {"color": COLOURS["adam"], "lw": 1.4, "ls": "-."}),
    )  # fmt: skip
    for name, rows, look in looks:
        mean = np.exp(np.log(np.asarray(rows)).mean(axis=0))
        left.loglog(n, mean, label=name, **look)
        for row in np.asarray(rows) if name != "predicted" else ():
            left.loglog(n, row, color=look["color"], lw=0.6, alpha=0.5)
        at, slopes = _slopes(n, mean)
        right.semilogx(at, slopes, **look)
    right.axhline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":")
    right.text(
        0.99, 1.03, "Brownian", color=COLOURS["ink"], fontsize=10, ha="right", transform=right.get_yaxis_transform()
    )
    left.set(xlabel="steps $n$", ylabel=r"$\mathrm{E}\,|\Delta_n|^2$")
    right.set(xlabel="steps $n$", ylabel="exponent", ylim=(None, 2.05))
    right.grid(axis="y")
    letter((left, right), ("how far", "how it grows"))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def sweeps(*, sweeps):
    """Draw speed and exponent against learning rate, batch and momentum, with two predictions of the speed."""
    figure, axes = plt.subplots(2, len(sweeps), figsize=(5.8, 4.9), sharex="col", squeeze=False)
    for column, (name, table) in zip(axes.T, sweeps.items(), strict=True):
        x = np.asarray(table["values"], dtype=np.float64)
        shown = 1 - x if name == "beta" else x
        for row in np.asarray(table["speed"]):
            column[0].plot(shown, row, **_DOTS, label="measured, a dot a seed")
        column[0].plot(shown, _middle(table["absolute"]), **_CROSS, label="predicted, nothing fitted")
        column[0].plot(shown, _middle(table["calibrated"]), **_FITTED, label="one constant from the base")
        for row in np.asarray(table["exponent"]):
            column[1].plot(shown, row, **_DOTS)
        column[1].plot(shown, np.mean(np.asarray(table["expected"]), axis=0), **_CROSS)
        column[0].set(xscale="log", yscale="log")
        column[1].set(xlabel=r"$1-\beta$" if name == "beta" else _NAMES[name])
        for ax in column:
            ax.grid(axis="y")
            ax.minorticks_off()
    axes[0, 0].set_ylabel(r"$\mathrm{E}\,|\delta|^2$")
    axes[1, 0].set_ylabel("exponent $c$")
    letter(axes, [*("speed",) * len(sweeps), *("exponent",) * len(sweeps)])
    _legend(figure, axes[:1, 0])
    return figure


def deeper(*, sweeps):
    """Draw speed and angle of a residual network over what was predicted, against learning rate, batch and momentum."""
    figure, axes = plt.subplots(2, len(sweeps), figsize=(5.8, 4.4), sharex="col", sharey="row", squeeze=False)
    for column, (name, table) in zip(axes.T, sweeps.items(), strict=True):
        x = np.asarray(table["values"], dtype=np.float64)
        shown = 1 - x if name == "beta" else x
        for row, stationary in zip(np.asarray(table["speed"]), np.asarray(table["still"], dtype=bool), strict=True):
            column[0].plot(shown[stationary], row[stationary], **_DOTS, label="measured, the loss stands still")
            column[0].plot(shown[~stationary], row[~stationary], **_DOTS, mfc="white", label="the loss falls")
        column[0].axhspan(0.85, 1.15, color=COLOURS["grid"], zorder=0)
        for row in np.asarray(table["angle"]):
            column[1].plot(shown, row, **_DOTS)
        column[1].plot(shown, np.mean(np.asarray(table["expected"]), axis=0), **_CROSS, label="predicted on the way")
        for ax in column:
            ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8, zorder=1)
            ax.set_xscale("log")
            ax.minorticks_off()
        column[1].set_xlabel(r"$1-\beta$" if name == "beta" else _NAMES[name])
    axes[1, 0].margins(y=0.1)
    axes[1, 0].set_ylim(bottom=0.0)  # once all panels have drawn: it ends their common scaling
    axes[0, 0].set_ylabel("speed / predicted")
    axes[1, 0].set_ylabel("angle / limit")
    letter(axes, [*("speed",) * len(sweeps), *("angle",) * len(sweeps)])
    _legend(figure, axes[:, 0])
    return figure


def temperature(*, temperature, absolute, calibrated, noise, threshold):
    """Draw where the theory holds: measured over predicted speed against the temperature, and what the noise does."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.7), sharex=True)
    fitted = {**_DOTS, "marker": "D", "color": COLOURS["momentum"]}
    left.plot(temperature, calibrated, **fitted, label="over one constant from the base")
    left.plot(temperature, absolute, **_DOTS, label="over the noise where the run is")
    left.axhspan(0.85, 1.15, color=COLOURS["grid"], zorder=0)
    right.plot(temperature, noise, **_DOTS)
    for ax in (left, right):
        ax.axhline(1.0, color=COLOURS["quiet"], lw=0.8)
        ax.axvline(threshold, color=COLOURS["quiet"], lw=1.0, ls=":")
        ax.set(xscale="log", xlabel=r"temperature $\eta/(S(1-\beta))$")
        ax.grid(axis="y")
    left.set(ylabel="measured / predicted speed", yscale="log")
    left.set_yticks([0.75, 1.0, 1.25, 1.5], ["0.75", "1", "1.25", "1.5"])
    left.minorticks_off()
    right.set_ylabel(r"tr$\,\Sigma$ / at the base")
    letter((left, right), ("what fits", "why"))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=1)
    return figure


def modes(
    *, curvatures, positions, velocities, expected_positions,
    expected_velocities,
):  # fmt: skip
    """Draw how wide and how fast each mode moves, against its curvature."""
    figure, axes = plt.subplots(1, 2, figsize=(5.8, 3.3))
    rho = np.asarray(curvatures, dtype=np.float64)
    ends = np.array([rho.min(), rho.max()])
    panels = (
        (positions, expected_positions, -1.0, "Gibbs: slope −1"),
        (velocities, expected_velocities, 1.0, "slope 1"),
    )
    for ax, (measured, expected, slope, words) in zip(axes, panels, strict=True):
        ax.loglog(rho, measured, **_DOTS, label="measured")
        ax.loglog(rho, expected, **_CROSS, label="predicted")
        middle = np.exp(np.mean(np.log(np.asarray(measured))) - slope * np.mean(np.log(rho)))
        ax.loglog(ends, middle * ends**slope, color=COLOURS["quiet"], lw=1.0, ls=":")
        ax.set_xlabel(r"curvature $\rho_l$")
        high = slope > 0
        ax.text(
            0.97 if high else 0.03, 0.03, words, transform=ax.transAxes, ha="right" if high else "left", fontsize=10
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
    axes[0].set_ylabel(r"Var$\,(q_l\cdot\theta)$")
    axes[1].set_ylabel(r"Var$\,(q_l\cdot v)$")
    low, top = axes[0].get_ylim()
    axes[0].set_ylim(low / 3, top * 3)
    letter(axes, ("positions", "velocities"))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def rotation(*, planes, lags, memory, expected):
    """Draw pieces of phase planes, and below each the memory of the velocity."""
    figure, axes = plt.subplots(2, len(planes), figsize=(5.8, 4.6), squeeze=False)
    measured, theory = np.asarray(memory), np.asarray(expected)
    for index, (title, plane) in enumerate(planes.items()):
        above, below = axes[:, index]
        theta, v = np.array(plane["position"]), np.array(plane["velocity"])
        colours = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(theta) - 1))
        for k, colour in enumerate(colours):
            above.plot(theta[k : k + 2], v[k : k + 2], color=colour, lw=0.9)
        above.set(xlabel=r"$q_l\cdot\theta$")
        above.set_title(f"{chr(ord('a') + index)}   {title}", loc="left")
        above.locator_params(nbins=3)
        for row in measured[index]:
            below.plot(lags, row, **{**_MEASURED, "lw": 1.4, "alpha": 0.7}, label="measured, a line a seed")
        below.plot(lags, theory[index], **_PREDICTED, label="predicted")
        below.axhline(0.0, color=COLOURS["quiet"], lw=0.8)
        below.set(xlabel="steps apart", ylim=(-1, 1.05))
    axes[0, 0].set_ylabel(r"$q_l\cdot v$")
    axes[1, 0].set_ylabel("correlation of $v$")
    _legend(figure, axes[1:, 0])
    return figure


def _legend(figure, panels):
    """Name below the figure what its panels show, each name once."""
    handles = {}
    for ax in panels:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=2)


def _smooth(ax, steps, values):
    """Draw means over fifty pieces, and faintly what varies about them."""
    length = max(1, len(values) // 50)
    count = len(values) // length
    pieces = values[: count * length].reshape(count, length)
    at = steps[: count * length].reshape(count, length).mean(axis=1)
    ax.fill_between(at, *np.quantile(pieces, [0.1, 0.9], axis=1), color=COLOURS["sgd"], alpha=0.18, lw=0)
    ax.plot(at, pieces.mean(axis=1), **_MEASURED, lw=1.6)


def _slopes(n, values):
    """Return slopes in logarithms over windows of half a decade to each side, and where they are."""
    x, y, at, slopes = np.log10(n), np.log10(values), [], []
    for middle in x:
        window = np.abs(x - middle) <= 0.35
        if window.sum() >= 3 and x[0] + 0.3 <= middle <= x[-1] - 0.3:
            at.append(10**middle)
            slopes.append(np.polyfit(x[window], y[window], 1)[0])
    return np.array(at), np.array(slopes)


def _inverse(x, eta, beta):
    """Return (1−β)/(ηx); its own inverse."""
    return np.asarray((1 - beta) / (eta * np.maximum(x, 1e-12)))


def _middle(rows):
    """Return geometric means over seeds."""
    return np.asarray(np.exp(np.log(np.asarray(rows, dtype=np.float64)).mean(axis=0)))
