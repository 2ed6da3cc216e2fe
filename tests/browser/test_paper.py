"""The book as one file: a PDF with every page and links inside, a ZIP that opens as it is."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import paper
import pytest
from bs4 import BeautifulSoup
from chrome import Browser
from paths import pages


@pytest.fixture(scope="module")
def soup(html: Path) -> BeautifulSoup:
    return BeautifulSoup(paper.whole(html), "html.parser")


def test_every_page_is_in_it_and_links_stay_inside(soup: BeautifulSoup) -> None:
    places = [str(element["id"]) for element in soup.find_all(id=True)]
    assert len(places) == len(set(places))
    assert [str(article["id"]) for article in soup.select("article")] == [name.replace("/", "-") for name in pages()]
    inside = [str(link["href"])[1:] for link in soup.find_all("a", href=re.compile("^#."))]
    assert len(inside) > 1000 and set(inside) <= set(places)
    local = [str(link["href"]) for link in soup.find_all("a", href=True) if not re.match("#|http|mailto", link["href"])]
    assert [link for link in local if ".html" in link and "genindex" not in link] == []


def test_its_pictures_are_there(soup: BeautifulSoup, html: Path) -> None:
    sources = [str(image["src"]) for image in soup.find_all("img", src=True) if not image["src"].startswith("data:")]
    assert len(sources) > 50 and all((html / source).is_file() for source in sources)
    assert "-dark" not in " ".join(sources)


def test_the_pdf_has_pages(html: Path, tmp_path: Path) -> None:
    target = tmp_path / "book.pdf"
    paper.write_pdf(html, target)
    content = target.read_bytes()
    assert content.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", content)) > 100
    assert not (html / "whole-book.html").exists()


def test_the_zip_opens_as_it_is(html: Path, browser: Browser, tmp_path: Path) -> None:
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    paper.write_zip(html, first)
    paper.write_zip(html, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        archive.extractall(tmp_path)
    with browser.page() as page:
        page.open((tmp_path / "lossnav" / "book" / "momentum.html").as_uri())
        assert (page.failures(), page.complaints()) == ([], [])
        assert page.evaluate("document.querySelectorAll('.katex-html').length") > 100
