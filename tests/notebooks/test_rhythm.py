"""A reader meets a picture before the hundredth line, in every chapter."""

import pytest
import rhythm
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebooks import chapters

LIMIT = 100  # lines that the page shows, from one picture to the next


@pytest.mark.parametrize("name", chapters())
def test_no_long_way_without_a_picture(name: str) -> None:
    found = rhythm.rhythm(name)
    assert found.stretch <= LIMIT, f"{found.stretch} lines from: {found.where}"


def test_what_counts() -> None:
    figure = {"mystnb": {"figure": {"caption": "two words"}}}
    solved = "```{solution-start} x\n:class: dropdown\n```\nfolded\n"
    cells = [
        new_markdown_cell("one\n\ntwo three"),
        new_code_cell("a\nb"),
        new_code_cell("plot()", metadata=figure | {"tags": ["hide-input"]}),
        new_markdown_cell("four\n````{dropdown} Algebra\nfolded\n```{margin}\nfolded\n```\n````\nfive"),
        new_markdown_cell(solved),
        new_code_cell("folded"),
        new_markdown_cell("folded\n```{solution-end}\n```\nsix"),
        new_code_cell("explore.Race()"),
        new_code_cell("hidden\nhidden\nhidden\nhidden\nhidden", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell("seven"),
    ]
    found = rhythm.of_cells(cells)
    assert (found.pictures, found.explorables, found.stretch, found.where) == (1, 1, 4, "one")
    assert rhythm.of_cells(cells[3:]).stretch == 3
