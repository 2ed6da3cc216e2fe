"""What every figure's labels must be."""

from matplotlib.figure import Figure


def assert_readable(figure: Figure) -> None:
    """Every label lies inside the picture, and no two labels of a panel cover each other."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for ax in figure.axes:
        boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in ax.texts if t.get_text()]
        for n, (text, box) in enumerate(boxes):
            assert box.x0 >= -1 and box.y0 >= -1, f"{text!r} leaves the picture"
            assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, f"{text!r} leaves the picture"
            assert not any(box.overlaps(other) for _, other in boxes[n + 1 :]), f"{text!r} covers another label"
