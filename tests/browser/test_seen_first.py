"""What is seen of the book first: by who opens it, by who is sent a link, by who has followed an old one."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from chrome import PHONE, WIDE, Browser
from paths import config, pages, published

FIRST = 700  # pixels: what of a page is seen before anybody scrolls


class Head(HTMLParser):
    """The meta tags of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: dict[str, list[str]] = {}
        self.feed(path.read_text(encoding="utf-8").partition("</head>")[0])

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attributes}
        if tag == "meta" and "content" in values:
            self.tags.setdefault(values.get("property") or values.get("name", ""), []).append(values["content"])


def test_every_page_describes_itself_and_shows_a_picture(html: Path) -> None:
    described, shown = {}, {}
    for name in pages():
        tags = Head(html / f"{name}.html").tags
        for key in ("description", "og:title", "og:description", "og:image", "og:url"):
            assert len(tags.get(key, [])) == 1 and tags[key][0], (name, key, tags.get(key))
        picture = tags["og:image"][0]
        assert picture.startswith(published()) and (html / picture.removeprefix(published())).is_file(), (name, picture)
        assert tags["og:url"] == [f"{published()}{name}.html"]
        described[name], shown[name] = tags["og:description"][0], picture
    repeated = sorted(described, key=lambda name: described[name])
    assert len(set(described.values())) == len(described), repeated
    assert len(set(shown.values())) > 15, "chapters show pictures of their own"


def test_a_lost_reader_finds_the_first_page(html: Path) -> None:
    text = (html / "404.html").read_text(encoding="utf-8")
    prefix = config()["sphinx"]["config"]["notfound_urls_prefix"]
    assert published().endswith(prefix)
    assert f'href="{prefix}book/index.html"' in text and "No such page" in text
    assert re.findall(r'(?:href|src)="(?!https?:|#|data:|mailto:|/)[^"]+\.(?:css|js)[^"]*"', text) == []


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_landing_page_shows_its_picture_and_says_its_verdict_at_once(
    browser: Browser, base: str, size: tuple[int, int]
) -> None:
    with browser.page(size) as page:
        page.open(f"{base}/book/index.html")
        page.wait_until("document.querySelector('.lossnav-explorable .ln-title')")
        bottom = "(selector) => document.querySelector(selector).getBoundingClientRect().bottom"
        assert page.evaluate(f"({bottom})('.lossnav-explorable .ln-figure')") <= FIRST
        title = page.evaluate("document.querySelector('.lossnav-explorable .ln-title').textContent")
        planner, count, descent = map(int, re.search(r": (\d+) of (\d+) reach .*: (\d+)\.", title).groups())
        cells = "[...document.querySelectorAll('.lossnav-explorable .ln-table tbody tr td:last-child')]"
        deep = page.evaluate(f"{cells}.map((cell) => cell.textContent)")
        assert deep[0] == f"{descent} of {count}" and deep[-1] == f"{planner} of {count}" and planner > descent


def test_the_landing_page_recommends_one_optimizer_with_the_numbers_of_its_own_page(html: Path) -> None:
    glued = re.compile(r'<span class="pasted-text">([^<]+)</span>')
    landing, chapter = ((html / f"book/{name}.html").read_text(encoding="utf-8") for name in ("index", "choose"))
    at = landing.index("If you only want one")
    assert landing.index('data-explorable="Board"') < at < landing.index("Seven results")
    numbers = glued.findall(landing[at:])
    assert len(numbers) == 11 and "BallisticMatrix" in landing[at:]
    assert set(numbers) <= set(glued.findall(chapter))
