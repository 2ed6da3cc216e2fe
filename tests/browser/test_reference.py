"""The reference in the built book describes what is public, and nothing else; code leads to it, and it leads back."""

from __future__ import annotations

import re
from pathlib import Path

import lossnav_reference as reference
import pytest
from paths import ROOT
from sphinx.util.inventory import InventoryFile

import lossnav as ln

PAGES = sorted((ROOT / reference.FOLDER).glob("*.md"))


@pytest.fixture(scope="module")
def inventory(html: Path) -> dict[str, str]:
    """Name of each Python object → its page and place."""
    with (html / "objects.inv").open("rb") as file:
        kinds = InventoryFile.load(file, "", lambda base, place: place)
    return {name: entry[2] for kind, found in kinds.items() if kind.startswith("py:") for name, entry in found.items()}


def test_all_that_is_public_is_in_the_inventory(inventory: dict[str, str]) -> None:
    names = [name for name, _ in reference.public()]
    assert {f"lossnav.{name}" for name in ln.__all__} <= set(names) and "lossnav.losses.DoubleWell" in names
    assert [name for name in names if name not in inventory] == []


def test_nothing_private_is_in_the_inventory(inventory: dict[str, str]) -> None:
    special = ("__call__", "__version__")
    private = re.compile(r"(^|\.)_")
    assert [name for name in inventory if private.search(name) and not name.endswith(special)] == []


def test_each_place_of_the_inventory_is_on_its_page(html: Path, inventory: dict[str, str]) -> None:
    pages = {
        page: (html / page).read_text(encoding="utf-8") for page in {at.split("#")[0] for at in inventory.values()}
    }
    lost = [name for name, at in inventory.items() if f'id="{at.split("#")[1]}"' not in pages[at.split("#")[0]]]
    assert lost == []


def test_the_first_page_lists_what_lossnav_offers(html: Path) -> None:
    page = (html / reference.FOLDER / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="\w+\.html#(?:module-)?lossnav\.(?:\w+\.)?(\w+)"', page))
    assert set(ln.__all__) - {"__version__"} <= linked


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_each_argument_is_explained(html: Path, page: str) -> None:
    """A letter with a full stop is the number of a list, and leaves nothing to be read."""
    text = (html / reference.FOLDER / f"{page}.html").read_text(encoding="utf-8")
    assert re.findall(r"<strong>(\w+)</strong>[^<]*–\s*<(?:ol|/p)", text) == []
    types = re.findall(r"Type<span[^>]*>:</span></dt>\s*<dd[^>]*><p>(.*?)</p>", text, re.DOTALL)
    assert [words for words in types if re.match(r"(What|How|Whether|Why|Both|The) ", words)] == []


def test_code_leads_to_the_reference_and_back(html: Path) -> None:
    chapter = (html / "book" / "navigation.html").read_text(encoding="utf-8")
    linked = re.findall(r'<a class="sphinx-codeautolink-a" href="\.\./book/api/(\w+\.html)#([\w.-]+)"', chapter)
    assert {("trajectory.html", "lossnav.solve"), ("problem.html", "lossnav.Objective")} <= set(linked)
    for page, place in linked:
        described = (html / reference.FOLDER / page).read_text(encoding="utf-8")
        assert f'id="{place}"' in described
    used = described_by(html, "trajectory.html", "lossnav.solve")
    assert "../navigation.html#" in used and "api/" not in used


def described_by(html: Path, page: str, place: str) -> str:
    """The line of a description that says who uses it."""
    text = (html / reference.FOLDER / page).read_text(encoding="utf-8")
    return re.search(r'<p class="ln-used">(.*?)</p>', text[text.index(f'id="{place}"') :], re.DOTALL)[1]


@pytest.mark.parametrize("page", [path.stem for path in PAGES])
def test_no_address_of_memory_and_no_raw_markup_is_shown(html: Path, page: str) -> None:
    text = (html / reference.FOLDER / f"{page}.html").read_text(encoding="utf-8")
    words = re.sub(r"<[^>]*>", "", text[text.index("<article") : text.index("</article>")])
    assert re.findall(r"at 0x\w+|:math:|~lossnav\S*|:\w+:`[^`]*`", words) == []


@pytest.mark.parametrize(
    ("written", "escaped"),
    [
        ("the norm |θ̇|_G of it", r"the norm \|θ̇\|_G of it"),
        (r"where :math:`|x|` and ``|y|`` stay", r"where :math:`|x|` and ``|y|`` stay"),
        (".. math::\n    |x|\n\n    |y|\n\nbut |z|", ".. math::\n    |x|\n\n    |y|\n\nbut \\|z\\|"),
        (">>> abs(x) | 1\n'|'\n\n|x|", ">>> abs(x) | 1\n'|'\n\n\\|x\\|"),
    ],
)
def test_bars_are_escaped_where_docutils_would_read_them(written: str, escaped: str) -> None:
    lines = written.split("\n")
    reference.escape_bars(None, "function", "f", None, None, lines)  # type: ignore[arg-type]
    assert "\n".join(lines).rstrip("\n") == escaped
