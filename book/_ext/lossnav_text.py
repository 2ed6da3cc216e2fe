"""Sphinx extension: the page of a chapter takes its prose from book/myst, its code and outputs from the notebook.

The notebooks are in plain Markdown, for readers outside of the book; their text in MyST has what only a page can show.
A page without code has its numbers from one that computes them: {quoted}`choose:k_seeds` is what is glued there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from myst_nb.ext.glue.utils import create_pending_glue_ref
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_tools"))
import notebooks

logger = logging.getLogger(__name__)


def from_text(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the text's cells in the place of the notebook's."""
    folder, _, name = docname.rpartition("/")
    if folder != notebooks.BOOK.name or not notebooks.text_path(name).is_file():
        return
    app.env.note_dependency(str(notebooks.text_path(name)))
    notebook = notebooks.with_outputs(name)
    if notebook is None:  # the build that executes needs no outputs; the one that shows them would show others'
        if app.config.nb_execution_mode == "off":
            logger.warning("the code of book/myst/%s.md is not that of the notebook", name, location=docname)
        notebook = notebooks.read_text(name)
    source[0] = nbformat.writes(notebook)


class Quoted(SphinxRole):
    """What another page has glued, by the page's name and the key."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a place that is filled when all pages have been read."""
        page, _, key = self.text.partition(":")
        source, line = self.get_source_info()
        document = self.inliner.document
        for path in (notebooks.text_path(page), notebooks.notebook_path(page)):
            self.env.note_dependency(str(path))
        return [create_pending_glue_ref(document, source, line, f"{page}.ipynb", key, True, "text", fmt_spec="")], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", from_text)
    app.add_role("quoted", Quoted())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
