"""A chapter begins with a question and its picture, then says its result, and again at its end; the book is short."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import nbformat
import pytest
import yaml
from notebooks import notebook_path, read_text, text_path
from paths import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CORE = ("navigation", "momentum", "geometry", "beliefs", "derive", "choose")
CHAPTERS = [entry["file"].split("/")[-1] for part in TOC["parts"] if part.get("numbered") for entry in part["chapters"]]
BOX = re.compile(r"```\{admonition\} In one minute\n:class: ln_minute\n\n(?P<body>.*?)\n```(?:\n|$)", re.DOTALL)
FOLDS = {"hide-input", "hide-cell", "hide-output"}
DISPLAYED = re.compile(r"\$\$.*?\$\$|\\begin\{align\}.*?\\end\{align\}", re.DOTALL)
ROLE, MATH, LINK = r"\{[\w:]+\}`[^`]*`", r"\$\$.*?\$\$|\$[^$]*\$", r"\]\([^)]*\)"
# Numbers that are names, and the minutes, which a test below holds.
NAMES = r"Figures? \d\w?|Eq\. \d+|CIFAR-10|\*\d+ minutes\.\*"


@cache  # to read a chapter takes longer than to look at it
def cells(name: str) -> list[nbformat.NotebookNode]:
    return list(read_text(name).cells)


def opening(name: str) -> tuple[str, nbformat.NotebookNode, str]:
    """What stands before the first picture, the picture's cell, and the text behind it."""
    before: list[str] = []
    rest = iter(cells(name))
    for cell in rest:
        if cell.cell_type == "markdown":
            before.append(cell.source)
        elif "mystnb" in cell.metadata or re.search(r"^explore\.\w+\(", cell.source, re.MULTILINE):
            return "\n\n".join(before), cell, next(rest).source
    pytest.fail("there is no picture")


def box(name: str) -> str:
    """The text of a chapter's box, which is the first thing behind the first picture."""
    match = BOX.match(opening(name)[2])
    assert match, f"{name}: its result does not stand behind its first picture"
    return match["body"]


def words(text: str) -> int:
    return len(re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).split())


def prose(name: str) -> str:
    """The text of a chapter before its exercises, folded parts and formulas included, without code."""
    texts = [cell.source for cell in cells(name) if cell.cell_type == "markdown"]
    return "\n".join(texts).split("\n## Exercises")[0]


def told(names: Iterable[str]) -> int:
    """The words of these chapters, formulas that are displayed left out."""
    return sum(len(DISPLAYED.sub("", prose(name)).split()) for name in names)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_begins_with_a_question_and_its_picture(name: str) -> None:
    before, picture, _ = opening(name)
    title, asked = before.split("\n\n", 1)
    assert title.startswith("# ") and "\n\n" not in asked, "nothing else stands before the picture"
    assert "?" in asked and len(re.findall(r"[.?](?=\s|$)", re.sub(MATH, "", asked))) <= 2
    assert len(asked.split()) <= 40
    assert "explore." in picture.source
    assert "hide-input" in picture.metadata["tags"], "its code waits behind the page's switch"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_its_result_in_one_minute(name: str) -> None:
    text = box(name)
    sentences, formula, verdict, needs = text.replace("$$\n", "").split("\n\n")
    assert len(re.findall(r"[.?](?=\s|$)", re.sub(MATH, "", sentences))) == 3, "three sentences"
    assert "\\" in formula or "_" in formula
    assert "*Holds:*" in verdict and "*Failed:*" in verdict and needs.startswith("*Needs:* ")
    assert 60 <= words(text) <= 170


@pytest.mark.parametrize("name", CHAPTERS)
def test_numbers_of_the_box_come_from_the_chapter(name: str) -> None:
    text = box(name)
    typed = re.findall(r"\d+", re.sub(f"{ROLE}|{MATH}|{LINK}|{NAMES}", "", text, flags=re.DOTALL))
    assert typed == []
    outputs = [
        out for cell in nbformat.read(notebook_path(name), as_version=4).cells for out in cell.get("outputs", [])
    ]
    glued = {out.get("metadata", {}).get("scrapbook", {}).get("name") for out in outputs}
    assert set(re.findall(r"\{glue:\w+\}`([^`]*)`", text)) <= glued


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_minutes_are_those_of_the_text(name: str) -> None:
    minutes = int(re.search(r"\*(\d+) minutes\.\*", box(name))[1])
    read = len(prose(name).split()) / 200
    assert abs(minutes - read) <= max(4, 0.2 * minutes), read


def test_the_book_and_its_core_are_short() -> None:
    assert told(CHAPTERS) <= 52_000
    assert told(CORE) <= 16_000


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_ends_with_what_to_take_away(name: str) -> None:
    text = text_path(name).read_text(encoding="utf-8")
    end = re.search(r"\n## To take away\n\n(.*?)\n(?=\n(?:## |\*\*Limits))", text, re.DOTALL)
    assert end and text.index("\n## Exercises") > end.start()
    assert end[1].startswith("- ")
    points = end[1].removeprefix("- ").split("\n- ")
    assert 3 <= len(points) <= 5 and "\n\n" not in end[1]
    assert all(len(point.split()) <= 95 for point in points)


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_folded_code_stands_before_the_first_picture(name: str) -> None:
    for cell in cells(name):
        if cell.cell_type == "code":
            if "explore." in cell.source and "figures" not in cell.source:
                return
            assert not FOLDS & set(cell.metadata.get("tags", [])), cell.source
    pytest.fail("there is no picture to move")


def test_the_landing_page_lists_every_chapter_and_seven_results() -> None:
    text = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\]\(([\w-]+)\.ipynb\)", row)} >= set(CHAPTERS)
    assert re.findall(r"^(\d)\. .*→ \[", text, re.MULTILINE) == list("1234567")
    assert text.index("{explorable} Race") < text.index("{explorable} Board") < text.index("## Seven results")
