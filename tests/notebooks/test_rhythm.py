"""A reader meets a picture before the hundredth line, and sentences that are connected, in every chapter."""

from functools import cache

import pytest
import rhythm
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebooks import chapters

LIMIT = 100  # lines that the page shows, from one picture to the next
SHARE = 0.08  # of the sentences may be brief: above, prose reads as a list of verdicts
of_chapter = cache(rhythm.rhythm)


@pytest.mark.parametrize("name", chapters())
def test_no_long_way_without_a_picture(name: str) -> None:
    measured = of_chapter(name)
    assert measured.stretch <= LIMIT, f"{measured.stretch} lines from: {measured.where}"


@pytest.mark.parametrize("name", chapters())
def test_few_sentences_are_brief(name: str) -> None:
    measured = of_chapter(name)
    share = len(measured.brief) / len(measured.sentences)
    assert share <= SHARE, "\n".join(measured.brief)


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
    measured = rhythm.of_cells(cells)
    assert (measured.pictures, measured.explorables, measured.stretch, measured.where) == (1, 1, 4, "one")
    assert rhythm.of_cells(cells[3:]).stretch == 3


def test_what_is_a_sentence() -> None:
    text = """
## A heading ends here. And here.

By Eq. 6 the *learner* plans $x = 1$. It does so
again, see `ln.solve`.

With $a$ this is

$$
a .
$$

and no more. The rest follows. *Why?* (Nobody knows.)

- A list is none.

| a table. |
|---|
*Needs:* [Momentum](momentum.ipynb). *20 minutes.*

## Exercises

Not this one."""
    sentences = rhythm.sentences(text)
    assert sentences == (
        "By Eq 6 the *learner* plans X.",
        "It does so again, see X.",
        f"With X this is {rhythm.FORMULA} and no more.",
        "The rest follows.",
        "*Why?*",
        "(Nobody knows.)",
    )
    cells = [
        new_markdown_cell("An aside is not of the text.\n\n```{margin}\nOurs.\n```"),
        new_markdown_cell("````{dropdown} Algebra\nFolded.\n````\nA sentence of seven words ends here. Short."),
    ]
    assert rhythm.of_cells(cells).brief == ("Short.",)
