"""Sphinx extension: the cells of a table of many columns know the names of these, for phones, where rows are lists."""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from lossnav_math import plain
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

MANY = 4  # columns, of which ``lossnav.css`` makes a list


class named_cell(nodes.entry):
    """A cell with the name of its column in ``column``."""


class NameCells(SphinxPostTransform):
    """Gives the cells but the first of each row their column's name, if anything is in them."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Go through the tables that have a head."""
        for head in list(self.document.findall(nodes.thead)):
            columns = [plain(cell) for cell in head[-1]]
            if len(columns) < MANY:
                continue
            for row in head.parent.findall(nodes.row):
                if row.parent is not head:
                    for cell, column in list(zip(row, columns, strict=False))[1:]:
                        if cell.astext().strip():
                            cell.replace_self(named_cell("", *cell.children, column=column, **cell.attributes))


def visit(self: Any, cell: named_cell) -> None:
    """Open the cell, as any, with the name of its column."""
    self.visit_entry(cell)
    self.body[-1] = self.body[-1].replace("<td", f'<td data-column="{html.escape(cell["column"])}"', 1)


def depart(self: Any, cell: named_cell) -> None:
    """Close the cell."""
    self.depart_entry(cell)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_node(named_cell, html=(visit, depart))
    app.add_post_transform(NameCells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
