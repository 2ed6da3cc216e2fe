"""Words of the text and parts of a picture light each other up: by mouse, by key, by finger, and nothing moves."""

from __future__ import annotations

import pytest
from handles import middle
from lossnav_bundles import with_bundles
from lossnav_explorables import markup
from paths import BOOK

from lossnav import explore

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<script src="%(host)s"></script><script src="%(light)s"></script><style>%(css)s</style>
<article class="bd-article"><p>The <span class="ln-term" data-light="Acceleration:heavy">heavy ball</span>,
<span class="ln-term" data-light="Acceleration:kappa">the number κ</span>.</p>%(shown)s
<p id="below">below</p></article></html>"""
TERM = ".ln-term[data-light$=%s]"
WIDTHS = (
    "Object.fromEntries([...document.querySelectorAll('.ln-stage [data-curve]')].map((line) => "
    "[line.dataset.curve, [parseFloat(getComputedStyle(line).strokeWidth), getComputedStyle(line).opacity]]))"
)
BELOW = "document.querySelector('#below').getBoundingClientRect().y + scrollY"
LIT = "[...document.querySelectorAll('.ln-lit')].map((term) => term.textContent)"
SOON = 20.0  # seconds
# a point of a line, as a pixel of the window
POINT = """(() => {
  const line = document.querySelector('.ln-stage [data-curve="loss heavy"]');
  const { x, y } = line.getPointAtLength(0.35 * line.getTotalLength()).matrixTransform(line.getScreenCTM());
  return [x, y];
})()"""


@pytest.fixture
def address(tmp_path):
    scripts = {name: (BOOK / "_static" / f"{name}.js").as_uri() for name in ("host", "light")}
    css = (BOOK / "_static" / "lossnav.css").read_text(encoding="utf-8")
    path = tmp_path / "page.html"
    page = PAGE % {**scripts, "css": css, "shown": markup("Acceleration", {}, "one")}
    path.write_text(with_bundles(page.replace("<article", "</head><article")), encoding="utf-8")
    return path.as_uri()


def opened(page, address):
    page.open(address)
    page.wait_until("document.querySelector('.lossnav-readout')?.textContent", SOON)
    assert explore.Acceleration()._css in page.evaluate("document.head.innerHTML").replace("&gt;", ">")
    return page.evaluate(WIDTHS), page.evaluate(BELOW)


def assert_heavy_is_lit(page):
    for name, (width, opacity) in page.evaluate(WIDTHS).items():
        assert (width, opacity) == (5, "1") if name == "loss heavy" else (width < 3 and opacity == "0.22"), name


def test_the_mouse_lights_a_line_and_the_line_its_words(browser, address):
    with browser.page((1000, 1000)) as page:
        dark, below = opened(page, address)
        page.tab.mouse.move(*middle(page, TERM % "heavy"))
        assert_heavy_is_lit(page)
        assert page.evaluate(LIT) == ["heavy ball"] and page.evaluate(BELOW) == below
        page.tab.mouse.move(5, 5)
        page.wait_until(f"{LIT}.length === 0", SOON)
        assert page.evaluate(WIDTHS) == dark
        x, y = page.evaluate(POINT)
        page.tab.mouse.move(x + 3, y + 3)  # near it is enough
        page.wait_until(f"{LIT}[0] === 'heavy ball'", SOON)
        assert_heavy_is_lit(page)
        page.tab.mouse.move(*middle(page, "[data-part=kappa]"))
        page.wait_until(f"{LIT}[0] === 'the number κ'", SOON)


def test_the_keyboard_lights_and_a_press_keeps_the_light_through_redraws(browser, address):
    with browser.page((1000, 1000)) as page:
        dark, _ = opened(page, address)
        page.key("Tab")
        assert page.evaluate("document.activeElement.textContent") == "heavy ball"
        assert_heavy_is_lit(page)
        page.key("Enter")
        page.key("Tab")  # to the words about κ, whose focus asks for less than what was pressed
        assert page.evaluate(LIT) == ["heavy ball"]
        page.key("Tab")
        page.key("ArrowLeft")
        assert page.evaluate("document.activeElement.type") == "range"
        assert_heavy_is_lit(page)
        page.evaluate(f"document.querySelector('{TERM % 'heavy'}').focus()")
        assert page.evaluate("document.activeElement.ariaPressed") == "true"
        page.key("Escape")
        page.key("Tab")
        page.key("Tab")  # a slider has the light of the words about it
        assert page.evaluate(LIT) == ["the number κ"]
        assert all(opacity == "1" for _, opacity in page.evaluate(WIDTHS).values())
        assert len(dark) == 5


def test_a_finger_lights_and_puts_out_the_light(browser, address):
    with browser.page((390, 844), touch=True) as page:
        _, below = opened(page, address)
        place = middle(page, TERM % "heavy")
        page.tab.touchscreen.tap(*place)
        assert_heavy_is_lit(page)
        assert page.evaluate(BELOW) == below
        page.tab.touchscreen.tap(*place)
        assert page.evaluate(LIT) == []
        assert page.complaints() == []


def test_words_out_of_sight_of_their_picture_bring_it_back(browser, address):
    with browser.page((1000, 700)) as page:
        opened(page, address)
        page.evaluate("document.querySelector('.bd-article p').style.marginBottom = '3000px'")
        page.evaluate(f"document.querySelector('{TERM % 'heavy'}').click()")
        page.wait_until("document.querySelector('.lossnav-explorable').getBoundingClientRect().top < 400", SOON)
