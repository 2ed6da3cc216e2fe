"""The book without a mouse, in a reader's own few colours, on paper."""

from __future__ import annotations

import paper
import pytest
from chrome import WIDE, Browser
from measures import SCHEMES, put_on
from paths import pages
from test_explorables import WITH_EXPLORABLES

SHEET = (673, 950)  # CSS pixels of A4 within its margins
FURNITURE = 8  # what may be stepped over between the start of a page's content and its first explorable

# What a sheet does not hold: right of its edge, or in a box that would scroll.
CUT = """[...document.querySelectorAll('.bd-article :is(.math, pre, table, img, svg, p, li)')].filter((e) => {
  const scrolls = e.matches('div.math, pre, table') && e.scrollWidth > e.clientWidth + 1;
  const out = e.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  return e.getClientRects().length && !e.ownerSVGElement && (out || scrolls);
}).map((e) => `${e.closest('article').id}: ${e.outerHTML.slice(0, 160)}`)"""

# Curves and words of drawings by how they stand out from the ground, 1 to 21; the ground is the reader's choice, and
# what is drawn has the colours of the theme. Words on a bar of their own are on no ground.
CONTRASTS = """(() => {
  const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const light = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const contrast = (colour) => Math.max(light(colour), ground) / Math.min(light(colour), ground);
  const shown = (what) => [...document.querySelectorAll(`.lossnav-explorable ${what}`)]
    .filter((e) => e.getClientRects().length).map((e) => [e, getComputedStyle(e)]);
  return {
    forced: matchMedia('(forced-colors: active)').matches,
    curves: shown('[data-curve]').map(([e, style]) => [e.dataset.curve, contrast(style.stroke)]),
    words: shown('text:not(.ln-bar)').map(([e, style]) => [e.textContent, contrast(style.fill)]),
    buttons: shown('.ln-button').map(([e, style]) => [e.textContent, parseFloat(style.borderTopWidth)]),
  };
})()"""


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_the_keyboard_passes_over_what_stands_on_every_page(browser: Browser, base: str) -> None:
    with browser.page(WIDE) as page:
        page.open(f"{base}/book/momentum.html")
        page.key("Tab")
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"
        page.wait_until("document.activeElement.getBoundingClientRect().top >= 0")  # it slides in
        page.key("Enter")
        for _ in range(FURNITURE):
            page.key("Tab")
            assert page.evaluate("!!document.activeElement.closest('#main-content')")
            if page.evaluate("!!document.activeElement.closest('.lossnav-explorable')"):
                return
        pytest.fail(f"{FURNITURE} steps from the skip link the first explorable is not reached")


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("name", ["momentum", "staying"])
def test_in_forced_colours_what_is_drawn_stands_out(browser: Browser, base: str, name: str) -> None:
    assert name in WITH_EXPLORABLES
    with browser.page(WIDE) as page:
        page.tab.emulate_media(forced_colors="active")
        page.open(f"{base}/book/{name}.html")
        for scheme in SCHEMES:
            put_on(page, scheme)
            drawn = page.evaluate(CONTRASTS)
            assert drawn["forced"] and min(map(len, (drawn["curves"], drawn["words"], drawn["buttons"]))) > 5
            assert [item for item in drawn["curves"] if item[1] < 2.9] == [], scheme
            assert [item for item in drawn["words"] if item[1] < 4.5] == [], scheme
            assert [item for item in drawn["buttons"] if item[1] < 1] == [], scheme
        page.tab.emulate_media(forced_colors="none")


def test_on_paper_nothing_is_cut(browser: Browser, html, tmp_path) -> None:
    """The document that `make pdf` prints, laid out for a sheet."""
    for path in html.iterdir():
        (tmp_path / path.name).symlink_to(path.resolve())
    document = tmp_path / "whole-book.html"
    document.write_text(paper.whole(html, pages()), encoding="utf-8")
    with browser.page(SHEET, scripts=False) as page:
        page.tab.emulate_media(media="print")  # so that it is not laid out for a screen first
        page.open(document.as_uri())
        assert page.evaluate("document.querySelectorAll('article').length") == len(pages())
        assert page.evaluate("document.documentElement.scrollWidth") <= SHEET[0]
        assert page.evaluate(CUT) == []
