"""Pictures of results: what ``plot()`` draws and notebooks show. A result names its drawing; ``DRAWINGS`` has them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lossnav import _checks
from lossnav._checks import Array
from lossnav.figures.landscape import ground
from lossnav.figures.style import COLOURS, STYLE, halo, line
from lossnav.problem.functions.batched import SINGLE

if TYPE_CHECKING:  # a picture needs what a result has, and not what made it: torch for one
    from lossnav.analysis.inference.result import Inference
    from lossnav.optim.fingerprint import Fingerprint
    from lossnav.optim.watch import Watch
    from lossnav.rules.derive.published import Reading
    from lossnav.rules.derive.rule import LearningRule
    from lossnav.trajectory.compare import Comparison
    from lossnav.trajectory.regret import Regret
    from lossnav.trajectory.result import Trajectory

_MOST_LINES = 6  # components with a name of their own; of more, thin lines show the bundle
_BEATS = 13  # dots along a path, equally far apart in time: where they are dense it is slow
_CURVATURES = (1e-4, 1e4)  # at which a rule is drawn
_CYCLE = (  # no two look the same
    "optimal", "gradient descent", "newton", "ballistic", "natural gradient", "adam",
    "belief", "l2", "levenberg-marquardt", "uncertain", "continual backprop", "shrink and perturb",
)  # fmt: skip


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result in the given axes, or in a new figure of the book's style; return the axes."""
    if ax is not None:
        _checks.instance("ax", ax, Axes, "matplotlib Axes, or None")
        draw(result, ax)
        return ax
    with plt.style.context(STYLE):
        _, new = plt.subplots()
        try:
            draw(result, new)
        except BaseException:
            plt.close(new.figure)  # type: ignore[arg-type]
            raise
    return new


def small(result: Any) -> bytes | None:
    """Return a small picture as PNG, for a notebook; None for a result that has nothing to draw."""
    with plt.style.context(STYLE):
        figure = Figure(figsize=(4.4, 2.8), dpi=110)
        try:
            draw(result, figure.subplots())
        except ValueError:
            return None
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def draw(result: Any, ax: Axes) -> None:
    """Draw one result.

    Raises:
        ValueError: this one has nothing to draw, with the reason.
    """
    DRAWINGS[result._drawing](result, ax)


def _path(path: Trajectory, ax: Axes) -> None:
    """Draw a path on its landscape, or over time where there are more than two parameters."""
    _paths({"": path}, ax, _said(path))


def _comparison(comparison: Comparison, ax: Axes) -> None:
    """Draw the paths of several assumptions from one start, each under its name."""
    _paths(dict(comparison), ax)


def _regret(regret: Regret, ax: Axes) -> None:
    """Draw the parts of a regret as bars, and say what of it is due to the length of the steps alone."""
    parts = {"speed": regret.speed, "direction": regret.direction, "total": regret.total}
    known = {name: value for name, value in parts.items() if np.isfinite(value)}
    if not known:
        raise ValueError("this regret has no finite part, so that there is nothing to draw")
    shades = [COLOURS["ink" if name == "total" else "kinetic"] for name in known]
    bars = ax.barh(list(known), list(known.values()), color=shades, height=0.6)
    ax.bar_label(bars, [f" {value:.3g}" for value in known.values()])
    ax.margins(x=0.15)
    middle = (len(known) - 1) / 2
    ax.set_ylim(middle + 1.5, middle - 1.5)  # room for three, from above
    ax.axvline(0, color=COLOURS["quiet"], lw=0.8)
    share, floor = (f"{100 * part:.3g} %" for part in (regret.relative, regret.floor))
    ax.set(xlabel=f"cost beyond the optimum: {share} of the least\nin such steps {floor} are inevitable")


def _watch(watch: Watch, ax: Axes) -> None:
    """Draw the loss over the distance travelled, a dot a step, or the lengths of the steps where no loss was said."""
    if not watch.steps:
        raise ValueError("the optimizer made no step while it was watched, so that there is nothing to draw")
    lengths, losses = watch.lengths, watch.losses
    if np.all(np.isnan(losses)):
        ax.plot(np.arange(1, len(lengths) + 1), lengths, ".-", color=COLOURS["ink"], lw=0.8)
        ax.set(xlabel="step", ylabel="length of the step", yscale="log" if np.any(lengths > 0) else "linear")
        return
    travelled = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    ax.plot(travelled, losses, **line("loss", lw=1.2))
    ax.plot(travelled, losses, "o", color=COLOURS["ink"], ms=3, mec="white", mew=0.4)
    ax.set(xlabel=f"distance travelled\n{watch.steps} steps, a dot each", ylabel="$L$")


def _fingerprint(fingerprint: Fingerprint, ax: Axes) -> None:
    """Draw the answer to a gradient that is on for the first half of the steps."""
    if not fingerprint.response:
        raise ValueError(f"it was refused, so that there are no steps to draw. {fingerprint.refused}")
    steps = np.arange(1, len(fingerprint.response) + 1)
    ax.axvspan(0.5, len(steps) / 2 + 0.5, color=COLOURS["quiet"], alpha=0.2, lw=0)
    ax.plot(steps, fingerprint.response, ".-", color=COLOURS["ink"], lw=0.8)
    ax.axhline(0, color=COLOURS["quiet"], lw=0.8)
    ax.set(xlabel="step; the gradient is one in the shaded ones", ylabel="step along the gradient")


def _rule(rule: LearningRule, ax: Axes) -> None:
    """Draw how fast a rule goes for each unit of the gradient it believes in, by what it averages, and its limits."""
    if rule.price is not None:
        raise ValueError(f"this rule is charged {rule.price!r}, so that no gain says how fast it goes: nothing to draw")
    if not rule.coordinatewise:
        raise ValueError(
            "this rule couples its coordinates, so that no curvature says how fast it goes: nothing to draw"
        )
    grid = np.geomspace(*_CURVATURES, 161)[:, None]  # a coordinate a column

    def draw_gain(gain: Array, name: str, style: dict[str, Any]) -> None:
        first, *_ = ax.plot(grid, np.broadcast_to(gain, np.broadcast_shapes(grid.shape, np.shape(gain))), **style)
        first.set_label(name)

    limits = {} if rule.metric is not None else rule.limits(grid)
    limits.pop("Newton", None)  # a displacement, and no velocity
    for name, limit in limits.items():
        draw_gain(limit.gain, name, line(name.lower(), lw=1.4, linestyle="--"))
    gain = rule.gain(grid, None if rule.metric is None else grid)
    draw_gain(gain, "this rule", line("optimal", lw=2.4))
    averaged = {
        "curvature": rule.metric is None or rule.curvature is not None,
        "mean of $g^2$": rule.metric is not None,
    }
    believed = " and ".join(name for name, there in averaged.items() if there)
    ax.set(xscale="log", yscale="log", xlabel=f"believed {believed}", ylabel="speed per unit of $m$")
    _legend(ax)


def _reading(reading: Reading, ax: Axes) -> None:
    """Draw the rule of a reading."""
    if reading.rule is None:
        raise ValueError(f"no derived rule makes these steps, so that there is nothing to draw. {reading.why}")
    _rule(reading.rule, ax)


def _inference(inference: Inference, ax: Axes) -> None:
    """Draw h/r against r, or where no modes were seen the record and the best fit over time."""
    if inference.rates is None:
        if inference.record is None:
            raise ValueError("this inference has neither rates nor a path, so that there is nothing to draw")
        times, places, fitted = inference.record
        dots = ax.plot(times, places, "o", color=COLOURS["ink"], ms=3, mec="white", mew=0.4)
        lines = ax.plot(times, fitted, **line("optimal", lw=1.8))
        dots[0].set_label("record")
        lines[0].set_label(f"best fit: {inference.family}")
        ax.set(xlabel="time $t$", ylabel=r"$\theta$")
        _legend(ax)
        return
    h, r, error = (np.asarray(part) for part in (inference.rates.h, inference.rates.r, inference.rates.error))
    grid = np.geomspace(h.min() / 2, 2 * h.max(), 161)
    for candidate, style in zip((inference, *inference.others), _CYCLE, strict=False):
        if candidate.law is not None and candidate.members:
            rates = candidate.law.rates(grid, candidate.members[0])
            ax.plot(rates, grid / rates, **line(style, lw=1.8), label=candidate.family)
    ax.errorbar(r, h / r, xerr=error, yerr=h / r**2 * error, fmt="o", color=COLOURS["ink"], ms=4, lw=0.9, zorder=5)
    ax.set(xlabel="rate $r$ of a mode", ylabel="$h/r$", xlim=(0, 1.15 * r.max()), ylim=(0, 1.15 * np.max(h / r)))
    _legend(ax)


def _legend(ax: Axes, said: str = "") -> None:
    """Say and name what is drawn above the axes, so that nothing is covered."""
    handles, names = ax.get_legend_handles_labels()
    columns = _MOST_LINES if all(name.startswith(r"$\theta") for name in names) else 3  # in one row, or of words
    ax.legend(
        handles, names, title=said, alignment="left", loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0,
        ncols=columns, handlelength=1.6, handletextpad=0.4, columnspacing=1,
    )  # fmt: skip


def _said(path: Trajectory) -> str:
    """Return what a path's picture is captioned with."""
    method = path.method.replace("_", " ")
    return f"J = {path.action:.6g} ({method}, {path.at_infinity})" + ("" if path.converged else ", not converged")


def _paths(paths: dict[str, Trajectory], ax: Axes, said: str = "") -> None:
    """Draw paths on their common landscape if it has one or two parameters and can be asked cheaply, else over time."""
    first = next(iter(paths.values()))
    loss = first.loss
    cheap = SINGLE not in getattr(loss, "batches", {}).values()
    if loss.dim > 2 or loss.timed or not cheap:
        _over_time(paths, ax)
    else:
        _on_a_landscape(paths, ax)
    if said or any(ax.get_legend_handles_labels()[1]):
        _legend(ax, said)


def _window(points: Array, share: float) -> tuple[Array, Array]:
    """Return the corners of the box that holds the points, with a margin; no side is below a third of another.

    Where the points are one but for rounding, the box is as large as they are far from zero.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    far, spread = np.max(np.abs(points)), np.max(high - low)
    least = spread / 3 if spread > 1e-9 * far else far or 1.0
    middle, side = (low + high) / 2, np.maximum(high - low, least)
    return middle - (0.5 + share) * side, middle + (0.5 + share) * side


def _style(index: int, name: str) -> dict[str, Any]:
    """Return how a path is drawn: by the rule that it is named after, or by its place."""
    rule = name if name in COLOURS else _CYCLE[index % len(_CYCLE)]
    return line(rule, lw=2.4, zorder=4)


def _ends(path: Trajectory) -> Array:
    return path.asymptote[None] if np.all(np.isfinite(path.asymptote)) else path(path.times[-1:])


def _beats(path: Trajectory) -> Array:
    """Return moments equally far apart, up to where the path has all but arrived."""
    points = path(path.times)
    distances = np.concatenate([[0.0], np.cumsum(np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1)))])
    arrived = np.searchsorted(distances, 0.98 * distances[-1])
    return np.linspace(0.0, path.times[min(arrived, len(path.times) - 1)], _BEATS)


def _on_a_landscape(paths: dict[str, Trajectory], ax: Axes) -> None:
    """Draw paths on the map of a loss of two parameters, or the curve of a loss of one, with both ends."""
    loss = next(iter(paths.values())).loss
    plane = loss.dim == 2
    ways = {name: np.concatenate([path(path.times), _ends(path)]) for name, path in paths.items()}
    low, high = _window(np.concatenate(list(ways.values())), 0.25)
    if plane:
        with contextlib.suppress(ValueError):  # flat, or not finite everywhere in the box: the paper stays white
            ground(ax, loss, (low[0], high[0], low[1], high[1]))
        ax.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    else:
        grid = np.linspace(low, high, 401)
        ax.plot(grid[:, 0], loss.value(grid), **line("loss", lw=1.6))
        ax.set(xlabel=r"$\theta$", ylabel="$L$")

    def at(points: Array) -> Array:
        return points.T if plane else np.stack([points[:, 0], loss.value(points)])

    for index, (name, points) in enumerate(ways.items()):
        style = _style(index, name)
        ax.plot(*at(points), **style, path_effects=halo(4), label=name)
        ax.plot(*at(paths[name](_beats(paths[name]))), "o", color=style["color"], ms=4, mec="white", mew=0.5, zorder=5)
        ax.plot(*at(points[-1:]), "s", color=style["color"], ms=7, mec="white", mew=1, zorder=6)
        ax.plot(*at(points[:1]), "o", color="white", ms=8, mec=COLOURS["ink"], mew=1.5, zorder=7)


def _over_time(paths: dict[str, Trajectory], ax: Axes) -> None:
    """Draw the components over time: of one path each by itself, of several in the colour of the path."""
    alone = len(paths) == 1
    for index, (name, path) in enumerate(paths.items()):
        points = path(path.times)
        few = points.shape[1] <= _MOST_LINES
        names = [rf"$\theta_{{{i + 1}}}$" for i in range(points.shape[1])] if alone and few else [name]
        for i, component in enumerate(points.T):
            own = _style(i if alone and few else index, name)
            ax.plot(path.times, component, **{**own, "lw": 2.0 if few else 0.7}, label=dict(enumerate(names)).get(i))
    ax.set(xlabel="time $t$", ylabel=r"$\theta$")


DRAWINGS: dict[str, Callable[[Any, Axes], None]] = {
    "path": _path,
    "comparison": _comparison,
    "regret": _regret,
    "watch": _watch,
    "fingerprint": _fingerprint,
    "rule": _rule,
    "reading": _reading,
    "inference": _inference,
}
"""How each kind of result is drawn, by what its ``_drawing`` says."""
