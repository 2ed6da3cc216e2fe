"""The README's examples print what it says; its links hold where it is read without the repository, as on PyPI."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import pytest
from paths import ROOT, config, pages, published

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
LINKS = re.findall(r"\]\(([^)]+)\)", TEXT)
FILES = config()["repository"]["url"] + f"/blob/{config()['repository']['branch']}/"
PICTURES = FILES.replace("//github.com/", "//raw.githubusercontent.com/").replace("/blob/", "/")


def test_examples() -> None:
    result = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert result.attempted >= 16
    assert result.failed == 0


def test_links_are_absolute() -> None:
    assert [link for link in LINKS if not link.startswith("https://")] == []


@pytest.mark.parametrize("folder", [FILES, PICTURES])
def test_files_it_links_to_exist(folder: str) -> None:
    targets = [Path(link.removeprefix(folder)) for link in LINKS if link.startswith(folder)]
    assert targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_pages_it_links_to_are_in_the_book() -> None:
    linked = [link.removeprefix(published()).removesuffix(".html") for link in LINKS if link.startswith(published())]
    behind = {page for page in pages() if page.startswith("book/api/")} - {"book/api/index"}
    assert set(linked) == set(pages()) - {"book/references"} - behind


def test_it_names_the_extras_that_there_are() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    section = TEXT.split("## Install\n")[1].split("\n## ")[0]
    named = {name for names in re.findall(r"lossnav\[([\w,]+)\]", section) for name in names.split(",")}
    assert named <= set(listed)
    assert [name for name in listed if not re.search(rf"`\[?{name}\]?`", section)] == []
