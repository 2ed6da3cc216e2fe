r"""Sphinx extension: formulas are typeset when the book is built, so that a page needs no script to show them.

KaTeX draws them, and adds MathML for readers who listen. Long formulas break at a quad, else after a relation or an
operator, where a screen is narrow. What stands in ``aligned`` or ``align`` is drawn cell by cell: its rows break, too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

BOOK = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BOOK / "_tools"))
import node  # noqa: E402

KATEX = BOOK / "_vendor" / "_static" / "lib" / "katex" / "katex.mjs"
SHORT = 16  # letters of a formula in a line of text that is never broken

logger = logging.getLogger(__name__)

_ALIGNED = re.compile(r"\\begin\{(align\*?|aligned|split)\}(?P<body>.*)\\end\{\1\}(?P<rest>[\s.,;]*)", re.DOTALL)
_EQUATION = re.compile(r"\\begin\{equation\*?\}(.*)\\end\{equation\*?\}", re.DOTALL)
_TOKEN = re.compile(r"\\(?:begin|end)\{[^}]*\}|\\\\(?:\[[^\]]*\])?|\\[A-Za-z]+|\\.|[{}&]", re.DOTALL)
_QUADS = (r"\quad", r"\qquad")
_SOURCE = re.compile(r"<annotation\b.*?</annotation>", re.DOTALL)
_OPENING = re.compile(r"[^\s\w]{1,3}$")  # at the end of the text before a formula: (
_CLOSING = re.compile(r"[^\s\w]{1,3}")  # at the start of the text after it: ), or ;
_TAGS = re.compile(r"<[^>]*>")
END = "<wbr>"  # of a display: what a browser has read half of is not shown, for it stands elsewhere when it is whole
_DRAWN = '<span class="katex-html"'


@cache
def _typesetter(process: int) -> subprocess.Popen[str]:
    """Return what draws for a process of Sphinx: it reads and writes a line for each formula."""
    command = node.node_command()
    if command is None or not KATEX.is_file():
        raise RuntimeError("KaTeX in node sets the formulas; `python book/_tools/vendor.py` brings both")
    script = Path(__file__).with_name("typeset.mjs")
    return subprocess.Popen(
        [*command, str(script), str(KATEX)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


@cache
def typeset(formula: str, display: bool = False) -> str:
    """Return a formula as HTML.

    Raises:
        ValueError: KaTeX cannot read it; the message is KaTeX's.
    """
    helper = _typesetter(os.getpid())
    assert helper.stdin is not None and helper.stdout is not None
    helper.stdin.write(json.dumps({"formula": formula, "display": display}) + "\n")
    helper.stdin.flush()
    answer = json.loads(helper.stdout.readline())
    if "error" in answer:
        raise ValueError(f"{formula!r}: {answer['error']}")
    return _SOURCE.sub("", answer["html"])


def _pieces(formula: str) -> Iterator[tuple[str, bool]]:
    """Yield a formula piece by piece, and of each whether no braces, delimiters or environment hold it."""
    depth = end = 0
    for token in _TOKEN.finditer(formula):
        yield formula[end : token.start()], depth == 0
        end, text = token.end(), token[0]
        depth += text.startswith(("{", r"\begin{")) or text == r"\left"
        depth -= text.startswith(("}", r"\end{")) or text == r"\right"
        yield text, depth == 0
    yield formula[end:], depth == 0


def split_rows(body: str) -> list[list[str]]:
    """Return the cells of the rows of an ``aligned``; what is nested stays whole."""
    rows: list[list[str]] = [[""]]
    for text, outside in _pieces(body):
        if outside and text == "&":
            rows[-1].append("")
        elif outside and text.startswith("\\\\"):
            rows.append([""])
        else:
            rows[-1][-1] += text
    return rows if any(cell.strip() for cell in rows[-1]) else rows[:-1]


def split_parts(formula: str) -> list[str]:
    r"""Return what stands between the ``\quad`` and ``\qquad`` of a formula, and these; a nested one parts nothing."""
    parts = [""]
    for text, outside in _pieces(formula):
        if outside and text in _QUADS:
            parts += [text, ""]
        else:
            parts[-1] += text
    return [part.strip() for part in parts if part.strip()]


def display(formula: str) -> str:
    """Return the HTML of what stands in a display: rows of cells, or one formula.

    Raises:
        ValueError: KaTeX cannot read it.
    """
    formula = formula.strip().removeprefix(r"\displaystyle").strip()
    if equation := _EQUATION.fullmatch(formula):
        formula = equation[1].strip()
    aligned = _ALIGNED.fullmatch(formula)
    rows = split_rows(aligned["body"] if aligned else formula)
    if aligned is None and len(rows) > 1:  # as Sphinx does
        formula = rf"\begin{{gathered}}{formula}\end{{gathered}}"
    elif aligned:
        rows[-1][-1] += aligned["rest"]
        formula = "".join(rows[0])  # if there are no more
    if aligned is None or len(rows) == 1:
        return f'<div class="ln-display">{"".join(_part(part) for part in split_parts(formula))}</div>'
    named = any(cells[0].strip() for cells in rows)  # else all rows begin with a sign that aligns them to the left
    return f'<div class="ln-lines">{"".join(_row(cells, named) for cells in rows)}</div>'


def _part(part: str) -> str:
    return f'<span class="ln-{part[1:]}"> </span>' if part in _QUADS else typeset(part, True)


def _row(cells: list[str], named: bool) -> str:
    drawn = []
    for number, cell in enumerate(cells):
        parts = split_parts(cell)
        while len(parts) > 1 and parts[0] in _QUADS:  # a space that begins a row is drawn
            parts[:2] = [" ".join(parts[:2])]
        # as in TeX: an empty atom stands before what follows &, so that a relation there keeps its space
        parts[:1] = [("{}" if number % 2 else "") + part for part in parts[:1]]
        drawn.append(f'<div class="ln-cell">{"".join(map(_part, parts))}</div>')
    if named and not cells[0].strip():
        return f'<div class="ln-row ln-goes-on">{"".join(drawn)}</div>'
    return f'<div class="ln-row">{"".join(drawn)}</div>'


class TiePunctuation(SphinxPostTransform):
    """Ties a formula to the comma or bracket that touches it: no line begins with a comma."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Go through the formulas in lines of text."""
        for formula in list(self.document.findall(nodes.math)):
            parent, place = formula.parent, formula.parent.index(formula)
            before = parent[place - 1] if place else None
            after = parent[place + 1] if place + 1 < len(parent) else None
            opening = _OPENING.search(before) if isinstance(before, nodes.Text) else None
            closing = _CLOSING.match(after) if isinstance(after, nodes.Text) else None
            tied = nodes.inline("", classes=["ln-tied"])
            formula.replace_self(tied)
            if opening is not None:
                parent[place - 1] = nodes.Text(before[: opening.start()])
                tied += nodes.Text(opening[0])
            tied += formula
            if closing is not None:
                parent[place + 1] = nodes.Text(after[closing.end() :])
                tied += nodes.Text(closing[0])


def inline(formula: str) -> str:
    """Return a formula for a line of text.

    Raises:
        ValueError: KaTeX cannot read it.
    """
    drawn = typeset(formula)
    letters = len(_TAGS.sub("", drawn[drawn.index(_DRAWN) :]))
    return f'<span class="math{" ln-short" if letters <= SHORT else ""}">{drawn}</span>'


def visit_inline(self: Any, formula: nodes.math) -> None:
    """Write a formula in a line of text."""
    try:
        self.body.append(inline(formula.astext()))
    except ValueError as error:
        logger.warning("%s", error, location=formula, type="lossnav", subtype="math")
    raise nodes.SkipNode


def visit_block(self: Any, formula: nodes.math_block) -> None:
    """Write a formula in a display."""
    try:
        drawn = display(formula.astext())
        self.body.append(self.starttag(formula, "div", CLASS="math notranslate nohighlight") + drawn + END + "</div>\n")
    except ValueError as error:
        logger.warning("%s", error, location=formula, type="lossnav", subtype="math")
    raise nodes.SkipNode


def plain(title: nodes.Element) -> str:
    """Return a title with its formulas in letters, as far as there are letters: √κ."""
    words = []
    for part in title.findall(nodes.Text):
        if isinstance(part.parent, nodes.math):
            heard = typeset(part.astext()).partition(_DRAWN)[0].replace("<msqrt>", "√").replace("<mo>⁡</mo>", "")
            words.append(_TAGS.sub("", heard))
        else:
            words.append(part.astext())
    return "".join(words)


def plain_titles(app: Sphinx, exception: Exception | None) -> None:
    """Put plain titles into the index that the search shows them from."""
    index = Path(app.outdir) / "searchindex.js"
    if exception is not None or not index.is_file():
        return
    text = index.read_text(encoding="utf-8")
    for name in app.env.found_docs:
        for title in app.env.get_doctree(name).findall(nodes.title):
            if title.next_node(nodes.math) is not None:
                for before, after in ((title.astext(), plain(title)), (title.astext().lower(), plain(title).lower())):
                    text = text.replace(json.dumps(before), json.dumps(after))
    index.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_html_math_renderer("lossnav", (visit_inline, None), (visit_block, None))
    app.add_post_transform(TiePunctuation)
    app.connect("build-finished", plain_titles)
    app.add_css_file("lib/katex/katex.min.css")
    app.add_css_file("lossnav_math.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
