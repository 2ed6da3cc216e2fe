"""Sphinx extension: code that is furniture is hidden behind one switch a page, "Show all code".

A cell tagged ``hide-input`` hides its code and shows its picture; one tagged ``hide-cell`` is hidden as a whole. A cell
with neither tag is the derivation, and stays. Without scripts nothing is hidden (see ``lossnav_code.css``).
No code ends in blank lines.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx

SWITCH = {
    "type": "javascript",
    "javascript": "this.ariaPressed = document.documentElement.classList.toggle('ln-all-code')",
    "tooltip": "Show all code",
    "text": "Show all code",
    "icon": "fas fa-code",
    "label": "all-code",
}


def open_furniture(translator: Any, node: nodes.Element) -> None:
    """Begin what the switch shows, in the place of a bar above each cell."""
    translator.body.append('<div class="ln-furniture">')


def close_furniture(translator: Any, node: nodes.Element) -> None:
    """End it."""
    translator.body.append("</div>\n")


def take_over(app: Sphinx) -> None:
    """Write hidden cells our way; myst-nb has said before how it would."""
    app.add_node(HideCodeCellNode, override=True, html=(open_furniture, close_furniture))


def add_switch(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Put the switch into the header of a page that hides code."""
    if doctree is not None and doctree.next_node(HideCodeCellNode) is not None:
        context["header_buttons"].insert(0, SWITCH)


def end_with_code(app: Sphinx, doctree: nodes.document) -> None:
    """Drop blank lines at the end of code: doctest wants one before a fence, and no reader does."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if block.rawsource == text and text.endswith("\n"):
            block.rawsource = text.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_css_file("lossnav_code.css")
    app.connect("builder-inited", take_over)
    app.connect("doctree-read", end_with_code)
    app.connect("html-page-context", add_switch, priority=502)  # once the theme has its own buttons
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
