"""Compute the picture of the README and of links to the book: book/_static/cover.png.

    python book/_tools/cover.py

The paper's double well from many starts: every step of gradient descent is optimal for one step; the other paths are
optimal as a whole, for a learner that discounts the future slowly.
"""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from paths import BOOK
from PIL import Image
from scipy.integrate import solve_ivp

import lossnav as ln
from lossnav import figures
from lossnav.figures import landscape

TARGET = BOOK / "_static"
DPI = 120
GAMMA = 0.1
SPAN = ((-1.75, 1.75), (-1.15, 1.15))
END = 14.0  # long enough for every path to arrive within the width of a line

Path2D = NDArray[np.float64]


def starts() -> Path2D:
    """Points around the edge of the window."""
    across, up = np.linspace(-1.6, 1.6, 9), np.linspace(-1.0, 1.0, 6)[1:-1]
    edge = [(x, y) for x in across for y in (-1.0, 1.0)] + [(x, y) for y in up for x in (-1.6, 1.6)]
    return np.array(edge)


def descent(loss: ln.losses.DoubleWell, start: Path2D) -> Path2D:
    """The path of steepest descent, θ̇ = −∇L."""
    times = np.linspace(0, END, 1500)
    flow = solve_ivp(lambda _, x: -loss.gradient(x), (0, END), start, t_eval=times, rtol=1e-9, atol=1e-11)
    return np.asarray(flow.y.T)


def optimal(loss: ln.losses.DoubleWell, start: Path2D) -> Path2D:
    """The best path of the whole journey, Eq. 2."""
    return np.asarray(ln.solve(ln.Objective(gamma=GAMMA), loss, start)(np.linspace(0, END, 1500)))


def panel(ax: Axes, rule: str, title: str, paths: list[Path2D]) -> None:
    """All paths of one rule on the landscape, and how many end where."""
    landscape.contours(ax, ln.losses.DoubleWell(), *SPAN)
    ends = np.array([points[-1] for points in paths])
    for points in paths:
        ax.plot(*points.T, **figures.line(rule, linestyle="-", lw=1.8, path_effects=figures.halo(3.2), zorder=3))
        ax.plot(*points[0], "o", color="white", ms=5, mec=figures.COLOURS["ink"], mew=1.1, zorder=4)
    for place in np.unique(np.round(ends, 1), axis=0):
        nearest = ends[int(np.argmin(np.linalg.norm(ends - place, axis=1)))]
        ax.plot(*nearest, **figures.mark(rule, ms=13, zorder=5))
    left = int((ends[:, 0] < 0).sum())
    caught = f"{left} of {len(ends)} end in the shallow well" if left else f"all {len(ends)} reach the deep well"
    ax.set_title(f"{title}: {caught}", loc="center", fontsize=13)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="equal")


def save(fig: Figure, name: str) -> None:
    """Write the picture with a palette of its own, a third of the size."""
    buffer = io.BytesIO()
    fig.savefig(buffer, dpi=DPI, bbox_inches="tight", pad_inches=0.06)
    picture = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    temporary = TARGET / f".{name}.tmp"
    picture.save(temporary, "PNG", optimize=True)
    temporary.replace(TARGET / name)
    print(f"{(TARGET / name).relative_to(BOOK)}: {(TARGET / name).stat().st_size / 2**10:.0f} KiB")


def main() -> None:
    """Draw both panels side by side."""
    figures.use_style()
    loss = ln.losses.DoubleWell()
    rules = (("gradient descent", "best next step", descent), ("optimal", "best whole path", optimal))
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.95), layout="constrained")
    for ax, (rule, title, follow) in zip(axes, rules, strict=True):
        panel(ax, rule, title, [follow(loss, start) for start in starts()])
    save(figure, "cover.png")


if __name__ == "__main__":
    main()
