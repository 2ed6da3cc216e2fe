"""Sphinx extension: the page of a chapter takes its prose from book/myst, its code and outputs from the notebook.

The notebooks are in plain Markdown, for readers outside of the book; their text in MyST has what only a page can show.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from sphinx.application import Sphinx
from sphinx.util import logging

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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", from_text)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
