"""What the text says that it lights up is there: an explorable of the chapter, and a part of it by that name."""

from __future__ import annotations

import inspect
import re
import xml.etree.ElementTree as ElementTree

import lossnav_explorables
import plain
import pytest
from notebooks import chapters, text_path
from sphinx.testing.util import SphinxTestApp

from lossnav import explore

TERM = re.compile(r"\{lights\}`([^`]+)`")
SHOWN = re.compile(r"explore\.(\w+)\(")
USING = [name for name in chapters() if TERM.search(text_path(name).read_text(encoding="utf-8"))]


def parts(name: str) -> set[str]:
    """The names by which an explorable's sliders, points and lines can be spoken of."""
    make = getattr(explore, name)
    drawn = ElementTree.parse(make().twin()).iter()
    return set(inspect.signature(make).parameters) | {
        word for node in drawn for word in node.get("data-curve", "").split()
    }


@pytest.mark.parametrize("name", USING)
def test_each_term_names_a_part_of_an_explorable_of_its_chapter(name: str) -> None:
    text = text_path(name).read_text(encoding="utf-8")
    for term in TERM.findall(text):
        match = lossnav_explorables.LIGHTS.fullmatch(term)
        assert match, term
        assert match["name"] in SHOWN.findall(text), term
        assert match["part"] in parts(match["name"]), term


def test_each_chapter_with_three_explorables_has_terms() -> None:
    lively = [name for name in chapters() if len(SHOWN.findall(text_path(name).read_text(encoding="utf-8"))) >= 3]
    assert len(lively) > 10 and set(lively) <= set(USING)


def test_a_notebook_keeps_the_words() -> None:
    chapter = plain.Chapter("beliefs")
    text = "the {lights}`noise $s$ <BeliefFilter:noise>`, once"
    assert plain._inline(text, chapter) == "the noise $s$, once"


@pytest.mark.parametrize(("text", "wanted"), [("`one $x<2$ <A:b>`", 'data-light="A:b">one'), ("`one`", None)])
def test_the_role_writes_its_mark_or_says_what_it_wants(tmp_path, text: str, wanted: str | None) -> None:
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_parser", "lossnav_explorables"]\nmyst_enable_extensions = ["dollarmath"]\n'
        'source_suffix = {".md": "markdown"}\n'  # Sphinx' own default keeps what an earlier build of the process added
    )
    (tmp_path / "index.md").write_text(f"# Title\n\nThe {{lights}}{text} of it.\n")
    app = SphinxTestApp("html", srcdir=tmp_path)
    try:
        app.build()
        page = (app.outdir / "index.html").read_text(encoding="utf-8")
        warnings = app.warning.getvalue()
    finally:
        app.cleanup()
    if wanted is None:
        assert "write words <Explorable:part>" in warnings and "_static/light.js" not in page
    else:
        assert wanted in page and "_static/light.js" in page and 'class="math' in page
