"""The page of notation: every symbol once, and every chapter of theory leads to it."""

import re
from collections import Counter

import pytest
from notebooks import chapters, text_path
from paths import BOOK

PAGE = (BOOK / "notation.md").read_text(encoding="utf-8")
WITHOUT_FORMULAS = {"speed"}


def symbols() -> list[str]:
    """The symbols of the tables' first columns."""
    rows = [line.split("|")[1] for line in PAGE.split("\n") if line.startswith("| $")]
    return [symbol for row in rows for symbol in re.findall(r"\$([^$]+)\$", row)]


def test_every_symbol_stands_once() -> None:
    assert len(symbols()) > 60
    assert [symbol for symbol, count in Counter(symbols()).items() if count > 1] == []


@pytest.mark.parametrize("name", sorted(set(chapters()) - WITHOUT_FORMULAS))
def test_every_chapter_leads_to_it(name: str) -> None:
    assert "(notation.md)" in text_path(name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name, retired", [("drift", r"\\mathbf J"), ("navigation", r"(?<![A-Za-z\\_])S ?="), ("beliefs", r"s_V\^2.*\$q\$")]
)
def test_retired_letters_stay_away(name: str, retired: str) -> None:
    prose = re.sub(r"^```\{code-cell\}.*?^```$", "", text_path(name).read_text(encoding="utf-8"), flags=re.S | re.M)
    assert not re.search(retired, prose)
