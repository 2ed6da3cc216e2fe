"""Links inside the book lead somewhere: page, file and anchor."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from notebooks import chapters, notebook_path
from paths import ROOT, pages, published

SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>|<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[a-zA-Z][^<>]*=[^<>]*>")
NAMED = re.compile(r"""\s(id|name|href|src)=(["'])(.+?)\2""")


class Anchors(NamedTuple):
    """Ids of a page, and the addresses that its links, images and scripts name."""

    ids: set[str]
    targets: list[str]


@cache  # a page is the target of many links; a parser that goes by every letter takes ten times as long
def anchors(path: Path) -> Anchors:
    text = SCRIPT.sub(r"\1", path.read_text(encoding="utf-8"))
    named = [(key, unescape(value)) for tag in TAG.findall(text) for key, _, value in NAMED.findall(tag)]
    ids = {value for key, value in named if key in ("id", "name")}
    return Anchors(ids, [value for key, value in named if key in ("href", "src")])


@pytest.mark.parametrize("name", pages())
def test_links_resolve(html: Path, name: str) -> None:
    here = html / f"{name}.html"
    own = anchors(here)
    local = [urlsplit(target) for target in own.targets if not urlsplit(target).scheme and not target.startswith("//")]
    assert len(local) > 5
    for link in local:
        target = here if not link.path else (here.parent / unquote(link.path)).resolve()
        assert target.is_file(), f"{link.geturl()} leads nowhere"
        assert not link.path.startswith("/"), f"{link.geturl()} breaks when the book lies in a folder"
        if link.fragment and target.suffix == ".html":
            assert unquote(link.fragment) in anchors(target).ids, f"no anchor for {link.geturl()}"


@pytest.mark.parametrize("name", chapters())
def test_links_of_notebooks_into_the_book_resolve(html: Path, name: str) -> None:
    notebook = nbformat.read(notebook_path(name), as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    linked = re.findall(rf"\]\({re.escape(published())}([^)#]*)(?:#([^)]*))?\)", prose)
    assert linked
    for page, mark in linked:
        assert (html / page).is_file(), page
        assert not mark or mark in anchors(html / page).ids, f"no anchor for {page}#{mark}"


MOVED = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]["moved_pages"]


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_old_addresses_lead_on(html: Path, old: str, new: str) -> None:
    page = (html / f"{old}.html").read_text(encoding="utf-8")
    there = re.search(r'http-equiv="refresh" content="\d+; url=([^"]+)"', page)
    assert there and (html / old).parent.joinpath(there[1]).resolve() == (html / f"{new}.html").resolve()
    assert f'href="{published()}{new}.html"' in page
