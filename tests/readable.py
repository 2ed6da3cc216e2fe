"""Whether a figure can be read: what the figures of the tests are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

WIDTH, POINTS = 5.8, 10.0  # inches at most and points at least: 9.3 px on a phone, where a picture is 390 px wide


def problems(figure: Figure) -> Iterator[str]:
    """Say what is wrong: letters too small, words that leave the picture, labels that cover each other."""
    if figure.get_figwidth() > WIDTH:
        yield f"it is {figure.get_figwidth()} inches wide, at most {WIDTH} are read on a phone"
    for artist in figure.findobj(Text):
        text: Any = artist
        if text.get_text() and text.get_visible() and text.get_fontsize() < POINTS:
            yield f"{text.get_text()!r} has {text.get_fontsize()} points, at least {POINTS} are read on a phone"
    figure.draw_without_rendering()  # places all, and spends no time on pixels
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for words, artist in _named(figure):
        if words and artist.get_visible() and not _inside(figure.bbox, artist.get_window_extent(renderer)):
            yield f"{words!r} leaves the picture"
    for ax in figure.axes:
        name = ax.yaxis.label
        if ax.axison and name.get_window_extent(renderer).height > 1.05 * ax.bbox.height:
            yield f"{name.get_text()!r} is longer than its axis"
        labels = [(text.get_text(), text.get_window_extent(renderer)) for text in ax.texts if text.get_text()]
        for (label, box), (other_label, other_box) in combinations(labels, 2):
            if box.overlaps(other_box):
                yield f"{label!r} covers {other_label!r}"


def _named(figure: Figure) -> Iterator[tuple[str, Any]]:
    """All that has words outside of the drawing itself, and the labels in it."""
    for legend in figure.legends:
        yield ", ".join(text.get_text() for text in legend.get_texts()), legend
    for text in figure.texts:
        yield text.get_text(), text
    for ax in figure.axes:
        for text in (*ax.texts, *(_titles(ax) if ax.axison and ax.get_visible() else ())):
            yield text.get_text(), text


def _titles(ax: Axes) -> tuple[Text, ...]:
    return ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title  # type: ignore[attr-defined]


def _inside(page: BboxBase, box: BboxBase) -> bool:
    return page.x0 - 1 <= box.x0 and page.y0 - 1 <= box.y0 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
