"""What a page costs before its reader can move something: bytes, requests, and stops of the Tab key."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import icons
import pytest
from chrome import Page
from lossnav_bundles import HELD, SHOWN
from lossnav_pages import lighter
from paths import EXPLORE, pages
from PIL import Image
from test_explorables import WITH_EXPLORABLES

from lossnav.explore._scripts import bundle, constants, stylesheet

MEGABYTE = 1_000_000
COMPRESSED = {".html", ".js", ".css", ".svg", ".json"}  # by any server; pictures and fonts are already small


@cache  # most files belong to every page
def weight(path: Path) -> int:
    content = path.read_bytes()
    return len(gzip.compress(content)) if path.suffix in COMPRESSED else len(content)


def assert_is_light(page: Page, html: Path) -> None:
    """On a chapter from a file that was just opened, which test_pages.py does."""
    asked = {unquote(urlsplit(url).path) for url in page.requests()}
    files = [Path(path) for path in asked]
    assert all(path.is_relative_to(html.resolve()) for path in files) and len(files) > 10
    total = sum(map(weight, files))
    largest = sorted(((weight(path), path.name) for path in files), reverse=True)[:5]
    assert total <= MEGABYTE, f"{total:,} bytes, of them {largest}"
    stops = "document.querySelectorAll('.math[tabindex=\"0\"]:not([data-more]), .math [tabindex]').length"
    assert page.evaluate(stops) == 0, "formulas that fit are stops of the Tab key"


@pytest.mark.parametrize("name", pages())
def test_every_icon_of_a_page_has_its_drawing(html: Path, name: str) -> None:
    page = (html / f"{name}.html").read_text(encoding="utf-8")
    used = set(re.findall(r'class="[^"]*\bfa[sb]?(?:-solid|-brands)?\b[^"]*?\bfa-(?!solid|brands|lg)([a-z-]+)', page))
    assert used and used <= {*icons.SOLID, *icons.BRANDS}
    sheet = (html / "_static/lib/icons.css").read_text(encoding="utf-8")
    assert all(f".fa-{icon} {{ --ln-icon: url(" in sheet for icon in used)


@pytest.mark.parametrize("name", pages())
def test_explorables_of_a_page_bring_each_script_once_and_their_values_beside_them(html: Path, name: str) -> None:
    page = (html / f"{name}.html").read_text(encoding="utf-8")
    views = [json.loads(match["view"])["model_id"] for match in SHOWN.finditer(page)]
    shown = re.findall(r'explorables\.show\("(\w+)","([\w-]+)",(\{.*?\})\)</script>', page)
    assert [key for _, key, _ in shown] == views
    assert not HELD.search(page) and "_anywidget_id" not in page
    for folder in {folder for folder, _, _ in shown}:
        assert page.count(bundle(EXPLORE / folder).replace("</script", "<\\/script")) == 1
    for folder, _, values in shown:
        assert json.loads(values).keys() >= constants(EXPLORE / folder)["traits"].keys()
    assert page.count(stylesheet()) == bool(shown)
    if name.removeprefix("book/") in WITH_EXPLORABLES:
        assert shown


def test_every_page_but_the_search_does_without_its_index(html: Path) -> None:
    named = [path.name for path in html.rglob("*.html") if 'src="searchindex.js' in path.read_text(encoding="utf-8")]
    assert named == ["search.html"]
    assert not any("/searchindex.js" in path.read_text(encoding="utf-8") for path in html.rglob("book/*.html"))


def test_pages_lose_what_they_do_not_need_and_keep_the_rest(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    Image.new("RGB", (30, 20)).save(tmp_path / "_images" / "a.png")
    kept = '<script src="../_static/host.js"></script>\n<p>text</p>\n'
    page = (
        '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
        '<script>const THEBE_JS_URL = "https://unpkg.com/x"; const y = 1</script>\n'
        + kept
        + '<img alt="A" src="_images/a.png" style="width: 100%;" />'
    )
    lightened = lighter(page, tmp_path)
    assert "fontawesome" not in lightened and "unpkg" not in lightened and kept in lightened
    assert lightened.count('style="aspect-ratio: 30 / 20; width: 100%;" loading="lazy" decoding="async" />') == 2
    assert 'class=" ln-light" src="_images/a.png"' in lightened and 'src="_images/a-dark.png"' in lightened
    assert lighter(lightened, tmp_path) == lightened
