"""Recipes of the figures that several pages share."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from bad_values import Argument, array, file, function, nest, number, text, thing, word
from walk import Recipe

import lossnav as ln
from lossnav import records
from lossnav.figures import example, landscape, rows, style, tables

FIGURE, AXES = plt.subplots()
plt.close("all")
POINTS = np.stack([np.linspace(0.0, 1.0, 5), np.linspace(0.0, 0.5, 5)], axis=1)
WELL, LINE = ln.losses.DoubleWell(), ln.losses.Quadratic([[1.0]], minimum=[0.0])
FLAT = ln.losses.Function(lambda x: (x**2).sum(-1), dim=2)  # without a minimum that is known
AX, LOSS = thing(AXES), thing(WELL)


def recipes() -> dict[str, Recipe]:
    """Return the recipes by name."""
    span = nest((number(-1.0), number(2.0)))
    values = array([1.0, 2.0], any_shape=True, bad=[[], [[1.0]]])
    share = number(0.5, low=0.0, high=1.0)
    way = {"rule": word("newton"), "points": array(POINTS), "at": share, "side": word("above")}
    result = {
        "columns": ["way", "ms", "1st quartile", "3rd"], "formats": [".2f"] * 3, "rows": [["one", 2.0, 1.0, 3.0]],
        "checks": {}, "notes": [],
    }  # fmt: skip
    stored = records.Record("x", {"load": "quiet"}, [0], {"label": "x"}, result, 1.0, "cpu", "unknown", {})
    path = Path(mkdtemp()) / "stored.json"
    records.save(path, stored)
    table = tables.load(path)
    return {
        "figures.example.bent": Recipe(example.bent, {
            "first": array(POINTS), "ways": nest({"x": nest(way)}, empty=True),
            "clouds": array([[0.1, 0.2, 0.3, 0.4]], none=True),
        }),
        "figures.landscape.contours": Recipe(landscape.contours, {
            "ax": AX, "loss": Argument(LOSS.good, [*LOSS.bad, LINE]), "x": span, "y": span,
            "levels": array([0.0, 1.0], none=True),
        }),
        "figures.landscape.ground": Recipe(landscape.ground, {
            "ax": AX, "height": Argument(WELL, [*function(WELL).bad, LINE]),
            "span": nest((number(-1.0), number(2.0), number(-1.0), number(2.0))), "scale": function(np.log, none=True),
        }),
        "figures.landscape.known_minimum": Recipe(landscape.known_minimum, {
            "loss": Argument(WELL, [*LOSS.bad, FLAT]),
        }),
        "figures.rows.compared": Recipe(rows.compared, {
            "panels": nest({"a": nest({"x": values, "y": values})}), "rules": word("newton"),
            "said": nest({"a": nest({"x": number(1.0)}, empty=True)}, empty=True),
            "lines": nest({"a": number(1.0)}, empty=True), "shared": text("error"),
        }),
        "figures.title": Recipe(style.title, {
            "figure": thing(FIGURE), "data": text("x"),
            "seeds": Argument([0], [0, 1.5, None, len]),
        }),
        "figures.tables.Interval": Recipe(tables.Interval, {
            "low": number(0.0), "median": number(1.0), "high": number(2.0),
        }),
        "figures.tables.Table": Recipe(tables.Table, {"record": thing(stored)}),
        "figures.tables.load": Recipe(tables.load, {"path": file(path, none=False)}),
        **{f"figures.tables.Table.{method}": Recipe(getattr(table, method), {"row": word("one"), "column": word("ms")})
           for method in ("value", "interval", "text", "spread")},
    }  # fmt: skip
