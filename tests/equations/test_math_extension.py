"""Formulas are typeset at build: whole, in rows that may break, tied to their punctuation."""

from __future__ import annotations

import re

import lossnav_math
import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document

drawn = pytest.mark.skipif(not lossnav_math.KATEX.is_file(), reason="KaTeX comes with the book's assets (make book)")


@pytest.mark.parametrize(
    "body, rows",
    [
        (r"a &= b \\ c &= d", [["a ", "= b "], [" c ", "= d"]]),
        (r"a &= b \\[4pt] c \\", [["a ", "= b "], [" c "]]),
        (r"\{x\} &= \begin{bmatrix}0&1\\2&3\end{bmatrix}", [[r"\{x\} ", r"= \begin{bmatrix}0&1\\2&3\end{bmatrix}"]]),
        (r"\text{A \& B} & c", [[r"\text{A \& B} ", " c"]]),
    ],
)
def test_rows_and_cells(body: str, rows: list[list[str]]) -> None:
    assert lossnav_math.split_rows(body) == rows


@pytest.mark.parametrize(
    "formula, parts",
    [
        (r"a = b,\qquad c \quad\text{or } d", ["a = b,", r"\qquad", "c", r"\quad", r"\text{or } d"]),
        (r"\left\{a \quad b\right\} \leftarrow c \quad d", [r"\left\{a \quad b\right\} \leftarrow c", r"\quad", "d"]),
        (r"\begin{cases}a & \quad b\end{cases}", [r"\begin{cases}a & \quad b\end{cases}"]),
        (r"\text{if \quad so}\qquad", [r"\text{if \quad so}", r"\qquad"]),
    ],
)
def test_a_quad_parts_a_formula_where_it_is_not_nested(formula: str, parts: list[str]) -> None:
    assert lossnav_math.split_parts(formula) == parts


@drawn
def test_between_the_parts_a_line_may_end() -> None:
    html = lossnav_math.display(r"a = b,\qquad c")
    assert re.search(r',</span>.*<span class="ln-qquad"> </span><span class="katex-display">', html)
    assert html.count("<math") == 2


@drawn
def test_a_formula_is_drawn_and_can_be_heard_without_its_source() -> None:
    html = lossnav_math.display(r"\frac{1}{2} = \theta")
    assert html.startswith('<div class="ln-display">') and html.count("katex-base") == 2  # it may break after =
    assert "<mfrac>" in html and "<mi>θ</mi>" in html
    assert "frac{" not in html and "annotation" not in html


@drawn
def test_an_aligned_formula_has_rows_of_cells() -> None:
    html = lossnav_math.display("\\begin{aligned}\na &= b \\\\\n&+ c\n\\end{aligned} ,")
    assert [len(re.findall('class="ln-cell"', row)) for row in re.split('class="ln-row[ "]', html)[1:]] == [2, 2]
    assert html.count("ln-goes-on") == 1 and html.rstrip("</divspan>").endswith(",")
    assert 'class="ln-lines"' not in lossnav_math.display("\\begin{aligned}a = b\\end{aligned}")  # it may break, then


@drawn
def test_what_katex_cannot_read_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"nosuchthing"):
        lossnav_math.inline(r"\nosuchthing")
    assert "katex" in lossnav_math.inline("x")  # and the next one is drawn


def test_punctuation_is_tied_to_its_formula() -> None:
    document = new_document("page", get_default_settings())
    line = nodes.paragraph("", "", nodes.Text("so ("), nodes.math("", "x"), nodes.Text("), and "), nodes.math("", "y"))
    document += line
    lossnav_math.TiePunctuation(document).run()
    assert [child.astext() for child in line] == ["so ", "(x),", " and ", "y"]
    assert line.astext() == "so (x), and y"


def test_it_is_the_punctuation_beside_the_formula_that_is_tied() -> None:
    """Texts that are equal are told apart: a number's full stop stays where the next formula has one, too."""
    document = new_document("page", get_default_settings())
    parts = [nodes.math("", "a"), nodes.Text(" b"), nodes.inline("", "2"), nodes.Text("."), nodes.inline("", " of ")]
    parts += [nodes.math("", "C"), nodes.Text(".")]
    document += (line := nodes.paragraph("", "", *parts))
    lossnav_math.TiePunctuation(document).run()
    assert [child.astext() for child in line] == ["a", " b", "2", ".", " of ", "C.", ""]
