"""Every page, opened from a file and over http, with every other host out of reach."""

from __future__ import annotations

import pytest
from chrome import ALL_PICTURES, PHONE, WIDE, Browser
from paths import pages

FORMULAS = """(() => {
  const sources = [...document.querySelectorAll('.bd-article .math')];
  return {
    sources: sources.length,
    unset: sources.filter(e => !e.querySelector('mjx-container')).map(e => e.textContent.slice(0, 80)),
    wrong: [...document.querySelectorAll('mjx-merror, mjx-container [data-mml-node=merror]')].map(e => e.textContent),
  };
})()"""

IMAGES = """[...document.querySelectorAll('.bd-article img')].map(e => ({
  source: e.currentSrc.slice(0, 120), alt: e.getAttribute('alt') || '', loaded: e.complete && e.naturalWidth > 0,
}))"""

# What sticks out to the right although no ancestor scrolls or clips it (a drawing clips its own content).
TOO_WIDE = """(() => {
  const limit = window.innerWidth;
  const boxed = e => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
    if (getComputedStyle(p).overflowX !== 'visible') return true; return false; };
  const culprits = [...document.querySelectorAll('.bd-article *')]
    .filter(e => !e.ownerSVGElement && !boxed(e))
    .filter(e => e.getBoundingClientRect().right > limit + 1 && e.getBoundingClientRect().width > 0);
  return {width: document.documentElement.scrollWidth, limit,
    culprits: culprits.slice(0, 5).map(e => e.outerHTML.slice(0, 160))};
})()"""

# Neighbouring blocks of the text whose boxes cover one another by more than a few pixels.
OVERLAPS = """(() => {
  const found = [];
  for (const section of document.querySelectorAll('.bd-article section, .bd-article .cell_output')) {
    const blocks = [...section.children].filter(e => {
      const style = getComputedStyle(e), box = e.getBoundingClientRect();
      return style.float === 'none' && style.position === 'static' && box.height > 1 && box.width > 1;
    });
    for (let i = 1; i < blocks.length; i++) {
      const above = blocks[i - 1].getBoundingClientRect(), below = blocks[i].getBoundingClientRect();
      if (above.bottom > below.top + 4 && above.top < below.bottom - 4 && above.right > below.left + 4)
        found.push(blocks[i].outerHTML.slice(0, 160));
    }
  }
  return found;
})()"""


@pytest.mark.parametrize("base", ["file", "http"], indirect=True)
@pytest.mark.parametrize("name", pages())
def test_page_needs_nothing_but_itself(browser: Browser, base: str, name: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/{name}.html")
        foreign = [url for url in page.requests() if not url.startswith(base)]
        assert len(page.requests()) > 5, "the record of requests is empty: the check would prove nothing"
        assert foreign == []
        assert page.failures() == []
        assert page.complaints() == []
        formulas = page.evaluate(FORMULAS)
        assert formulas["wrong"] == []
        assert formulas["unset"] == []


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_root_leads_to_the_landing_page(browser: Browser, base: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/index.html")
        page.wait_until("location.pathname.endsWith('/book/index.html')")


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("name", ["book/navigation", "book/momentum", "book/ballistic-mnist"])
def test_chapter_has_formulas_and_figures(browser: Browser, base: str, name: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/{name}.html")
        assert page.evaluate("document.querySelectorAll('mjx-container').length") > 5
        assert page.evaluate("document.querySelectorAll('.bd-article figure img').length") > 0


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("name", pages())
def test_images_are_there_and_described(browser: Browser, base: str, name: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/{name}.html")
        page.evaluate(ALL_PICTURES)
        for image in page.evaluate(IMAGES):
            assert image["loaded"], image
            assert len(image["alt"].split()) >= 3, f"say what a blind reader must know: {image}"


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", pages())
def test_phone_page_does_not_scroll_sideways(browser: Browser, base: str, name: str, dark: bool) -> None:
    with browser.page(PHONE, dark=dark) as page:
        page.open(f"{base}/{name}.html")
        assert page.evaluate("window.innerWidth") == PHONE[0]
        assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        found = page.evaluate(TOO_WIDE)
        assert found["width"] <= found["limit"], found
        assert found["culprits"] == []


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("name", pages())
def test_nothing_overlaps(browser: Browser, base: str, name: str, size: tuple[int, int], scripts: bool) -> None:
    with browser.page(size, scripts=scripts) as page:
        page.open(f"{base}/{name}.html")
        assert page.evaluate("document.querySelectorAll('.bd-article section > *').length") > 0
        assert page.evaluate(OVERLAPS) == []
