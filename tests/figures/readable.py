"""What every figure's labels must be, and what a figure has drawn."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from lossnav.figures import COLOURS

WIDTH, POINTS = 5.8, 10.0  # inches at most and points at least: 9.3 px on a phone, where a picture is 390 px wide


def assert_large_enough(figure: Figure) -> None:
    """No letter is smaller than nine pixels where the picture fills the width of a phone."""
    width = float(figure.get_figwidth())
    assert width <= WIDTH, f"{width} in wide: {POINTS} pt would be {POINTS * 390 / (72 * width):.1f} px on a phone"
    small = {(t.get_text(), t.get_fontsize()) for t in figure.findobj(Text) if t.get_text() and t.get_visible()}
    small = {(text, size) for text, size in small if size < POINTS}
    assert not small, f"text of less than {POINTS} pt: {sorted(small)}"


def assert_readable(figure: Figure) -> None:
    """Every label lies inside the picture, and no two labels of a panel cover each other."""
    figure.draw_without_rendering()  # places all, and spends no time on pixels
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for ax in figure.axes:
        boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in ax.texts if t.get_text()]
        for n, (text, box) in enumerate(boxes):
            assert box.x0 >= -1 and box.y0 >= -1, f"{text!r} leaves the picture"
            assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, f"{text!r} leaves the picture"
            assert not any(box.overlaps(other) for _, other in boxes[n + 1 :]), f"{text!r} covers another label"


def assert_inside(figure: Figure) -> None:
    """Titles, names of axes and legends lie inside the picture, and no axis' name is longer than its axis."""
    figure.draw_without_rendering()  # places all, and spends no time on pixels
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    page = figure.bbox
    artists = [*figure.legends, *figure.texts]
    for ax in figure.axes:
        if ax.axison and ax.get_visible():
            artists += [ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
            name, up = ax.yaxis.label.get_text(), ax.yaxis.label.get_window_extent(renderer).height
            assert up <= 1.05 * ax.bbox.height, f"{name!r} is longer than its axis"
    for artist in artists:
        box = artist.get_window_extent(renderer)
        words = artist.get_text() if isinstance(artist, Text) else [t.get_text() for t in artist.get_texts()]
        if words and artist.get_visible():
            assert page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1, f"{words!r} leaves the picture sideways"
            assert page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1, f"{words!r} leaves the picture"


def data(ax: Axes, index: int = 0) -> np.ndarray:
    """The points of a line, (N, 2)."""
    return np.stack([ax.lines[index].get_xdata(), ax.lines[index].get_ydata()], axis=1)


def drawn(ax: Axes, rule: str) -> Line2D:
    """The longest line in a rule's colour."""
    lines = [artist for artist in ax.lines if artist.get_color() == COLOURS[rule]]
    assert lines, f"no line in the colour of {rule}"
    return max(lines, key=lambda artist: len(artist.get_xdata()))
