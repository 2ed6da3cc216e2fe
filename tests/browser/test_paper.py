"""The book as one file: a PDF with every page and links inside, a ZIP that opens as it is."""

from __future__ import annotations

import html as html_escapes
import os
import re
import zipfile
from pathlib import Path

import paper
import pytest
from chrome import Browser
from paths import pages
from resources import need_a_browser


@pytest.fixture(scope="module")
def document(html: Path) -> str:
    return paper.whole(html, pages())


def test_every_page_is_in_it_and_links_stay_inside(document: str) -> None:
    articles = re.findall(r'<article class="bd-article" id="([^"]+)"', document)
    assert articles == [name.replace("/", "-") for name in pages()]
    places = set(re.findall(r'\sid="([^"]+)"', document))
    links = [html_escapes.unescape(link) for link in re.findall(r'<a\b[^<>]*\shref="([^"]*)"', document)]
    inside = [link[1:] for link in links if link.startswith("#")]
    assert len(inside) > 1000 and set(inside) <= places
    assert [link for link in links if ".html" in link and not link.startswith("http") and "genindex" not in link] == []


def test_its_pictures_are_there(document: str, html: Path) -> None:
    sources = [source for source in re.findall(r'<img\b[^<>]*\ssrc="([^"]+)"', document) if "data:" not in source]
    assert len(sources) > 50 and all((html / source).is_file() for source in sources)


def test_the_pdf_has_pages(html: Path, tmp_path: Path) -> None:
    need_a_browser()
    target = tmp_path / "book.pdf"
    paper.write_pdf(html, target, ["book/index", "book/networks"])  # all of them take minutes
    content = target.read_bytes()
    assert content.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", content)) > 4
    assert not (html / "whole-book.html").exists()


def test_the_zip_opens_as_it_is(html: Path, browser: Browser, tmp_path: Path) -> None:
    paper.write_zip(html, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert set(archive.namelist()) == {f"lossnav/{path.relative_to(html).as_posix()}" for path in paper.files(html)}
        archive.extractall(tmp_path)
    with browser.page() as page:
        page.open((tmp_path / "lossnav" / "book" / "momentum.html").as_uri())
        assert (page.failures(), page.complaints()) == ([], [])
        assert page.evaluate("document.querySelectorAll('.katex-html').length") > 100


def test_the_same_pages_give_the_same_zip_whenever_they_were_written(html: Path, tmp_path: Path) -> None:
    packed = []
    for when in (1_700_000_000, 1_800_000_000):
        folder = tmp_path / str(when)
        for path in [html / "index.html", *sorted((html / "_static").glob("*.png"))]:
            copy = folder / path.relative_to(html)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
            os.utime(copy, (when, when))
        paper.write_zip(folder, tmp_path / f"{when}.zip")
        packed.append((tmp_path / f"{when}.zip").read_bytes())
    assert packed[0] == packed[1]
