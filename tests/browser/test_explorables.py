"""Explorables live in the published page: no kernel, no network; by mouse, by finger, by keyboard; a picture otherwise.

The contract with lossnav.explore: a root `.lossnav-explorable[data-explorable=NAME]`, a `.lossnav-readout` whose text
follows the state, handles that are `[role=slider]` or `input[type=range]`, and beside it a `.lossnav-fallback` picture
for pages without JavaScript.
"""

from __future__ import annotations

import json

import nbformat
import pytest
from chrome import PHONE, WIDE, Browser, Page
from handles import HANDLES, ROOTS, assert_answers_the_keyboard, moves_readout, readout
from notebooks import chapters, notebook_path, views

STATE = """(() => [...document.querySelectorAll('.bd-article .lossnav-fallback')].map(twin => ({
  shown: twin.getClientRects().length > 0, name: twin.dataset.for || '',
  pictures: [...twin.querySelectorAll('img, svg')].concat(twin.matches('img, svg') ? [twin] : []).length,
})))()"""


def expected(name: str) -> int:
    """How many widgets the notebook shows."""
    return len(list(views(nbformat.read(notebook_path(name), as_version=4))))


WITH_EXPLORABLES = [name for name in chapters() if notebook_path(name).exists() and expected(name)]


def handles_of(page: Page, name: str) -> list[int]:
    """The number of handles of each explorable of an open chapter, all of which must be alive."""
    page.wait_until(f"document.querySelectorAll({json.dumps(ROOTS)}).length === {expected(name)}")
    return list(
        page.evaluate(
            f"[...document.querySelectorAll({json.dumps(ROOTS)})]"
            f".map(root => root.querySelectorAll({json.dumps(HANDLES)}).length)"
        )
    )


def assert_pictures_stand_in(page: Page, name: str) -> None:
    """On a page without scripts, which test_pages.py opens."""
    twins = page.evaluate(STATE)
    assert len(twins) == expected(name)
    assert all(twin["shown"] and twin["pictures"] for twin in twins), twins


def test_theory_chapters_have_explorables() -> None:
    assert {"navigation", "momentum"} <= set(WITH_EXPLORABLES)


def assert_alive(page: Page, handles: list[int]) -> None:
    """Each has its parts, tells what it is to a screen reader, and stands alone, without its picture."""
    assert all(handles), handles
    assert all(readout(page, root).strip() for root in range(len(handles)))
    assert all(not twin["shown"] for twin in page.evaluate(STATE)), "the static twin stays beside the live one"
    names = page.evaluate(
        f"[...document.querySelectorAll({json.dumps(ROOTS)})].flatMap(root => "
        f"[...root.querySelectorAll({json.dumps(HANDLES)})]).map(e => e.getAttribute('aria-label') || "
        "(e.labels && e.labels[0] ? e.labels[0].textContent : ''))"
    )
    assert all(name.strip() for name in names), names


# Each handle of each explorable is moved where that is cheap, on pages of their own (tests/explore). On the published
# page, where a move costs ten times as much, one of each explorable shows that its script lives there, too.


def assert_answers_the_finger(page: Page, name: str) -> None:
    """A handle of each explorable on an open page of a phone with a touch screen."""
    handles = handles_of(page, name)
    assert_alive(page, handles)
    for root, count in enumerate(handles):
        index = (root + 1) % count
        assert moves_readout(page, root, index, "finger"), f"handle {index} of {root} is dead to the finger"


def assert_answers_the_mouse_and_the_keyboard(page: Page, name: str) -> None:
    """A handle of each explorable on an open page."""
    handles = handles_of(page, name)
    assert_alive(page, handles)
    for root, count in enumerate(handles):
        index = root % count
        assert moves_readout(page, root, index, "mouse"), f"handle {index} of {root} is dead to the mouse"
        assert_answers_the_keyboard(page, root, index)


def open_landing(page: Page, base: str) -> int:
    """Open the landing page and wait until its pictures live; the number of handles of the first."""
    page.open(f"{base}/book/index.html")
    page.wait_until(f"document.querySelectorAll({json.dumps(ROOTS)}).length === 2")
    return int(
        page.evaluate(f"document.querySelector({json.dumps(ROOTS)}).querySelectorAll({json.dumps(HANDLES)}).length")
    )


@pytest.mark.parametrize("base", ["http"], indirect=True)
def test_every_handle_of_the_landing_page_answers_the_finger(browser: Browser, base: str) -> None:
    with browser.page(PHONE, touch=True) as page:
        count = open_landing(page, base)
        assert_alive(page, [count])
        for index in range(count):
            assert moves_readout(page, 0, index, "finger"), f"handle {index} is dead to the finger"


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_every_handle_of_the_landing_page_answers_the_mouse_and_the_keyboard(browser: Browser, base: str) -> None:
    with browser.page(WIDE) as page:
        count = open_landing(page, base)
        assert count == 5  # γ, tilt, the well to dig, the start, the time
        for index in range(count):
            assert moves_readout(page, 0, index, "mouse"), f"handle {index} is dead to the mouse"
            assert_answers_the_keyboard(page, 0, index)


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("way", ["click", "tap"])
def test_the_landscape_is_dug_where_it_is_pressed_and_the_rule_is_a_formula(
    browser: Browser, base: str, way: str
) -> None:
    with browser.page(PHONE if way == "tap" else WIDE, touch=way == "tap") as page:
        open_landing(page, base)
        assert "2 wells" in readout(page, 0)
        page.evaluate("document.querySelector('.lossnav-explorable details').open = true")
        page.evaluate("document.querySelector('.ln-dig').scrollIntoView({block: 'center'})")
        box = "(({x, y, width, height}) => [x + 0.6 * width, y + height / 4])"
        x, y = page.evaluate(f"{box}(document.querySelector('.ln-dig').getBoundingClientRect())")
        page.tab.touchscreen.tap(x, y) if way == "tap" else page.tab.mouse.click(x, y)
        page.wait_until("document.querySelector('.ln-numbers').textContent.includes('3 wells')")
        set_by_the_browser = "document.querySelector('.ln-formula math msqrt, .ln-formula math mfrac')"
        assert page.evaluate(f"{set_by_the_browser}.getBoundingClientRect().width") > 10
        level = "[...document.querySelectorAll('.ln-button')].find((b) => b.textContent === 'Level')"
        page.evaluate(f"{level}.click()")
        page.wait_until("document.querySelector('.lossnav-readout').textContent.includes('equally deep')")
