"""Explorables live in the published page: no kernel, no network; by mouse, by finger, by keyboard; a picture otherwise.

The contract with lossnav.explore: a root `.lossnav-explorable[data-explorable=NAME]`, a `.lossnav-readout` whose text
follows the state, handles that are `[role=slider]` or `input[type=range]`, and beside it a `.lossnav-fallback` picture
for pages without JavaScript.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chrome import PHONE, WIDE, Browser, Page
from lossnav_thumbnails import first_picture
from notebooks import chapters, notebook_path, views

ROOTS = ".lossnav-explorable[data-explorable]"
HANDLES = '[role="slider"], input[type="range"]'
# CSS pixels. A handle at the end of its track can go one way only, and one that is dead to a way costs a wait: those in
# the upper half of their range begin with the way back.
MOVES = {"finger": ((60, 0), (-60, 0), (0, -60), (0, 60)), "mouse": ((60, -60), (-60, 60), (60, 60), (-60, -60))}
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
HIGH = """((handle) => {
  const value = (own, told) => Number(handle.type === 'range' ? handle[own] : handle.getAttribute(told));
  const low = value('min', 'aria-valuemin'), high = value('max', 'aria-valuemax');
  return 2 * value('value', 'aria-valuenow') > low + high;
})"""

# Middle of what the hand would grip: the thumb of a range input, else the drawn shape; with what lies on top there.
GRIP = """((roots, handles, root, index) => {
  const handle = document.querySelectorAll(roots)[root].querySelectorAll(handles)[index];
  handle.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = handle.getBoundingClientRect();
  let x = box.x + box.width / 2;
  const y = box.y + box.height / 2;
  if (handle.type === 'range') {
    const part = (handle.valueAsNumber - handle.min) / (handle.max - handle.min), thumb = 16;
    x = box.x + thumb / 2 + part * (box.width - thumb);
  }
  const top = document.elementFromPoint(x, y);
  return {x, y, inside: x > 0 && x < innerWidth, hit: handle.contains(top) || !!(top && top.contains(handle))};
})"""

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


def readout(page: Page, root: int) -> str:
    query = f"document.querySelectorAll({json.dumps(ROOTS)})[{root}].querySelectorAll('.lossnav-readout')"
    return str(page.evaluate(f"[...{query}].map(e => e.textContent).join('|')"))


def follows(page: Page, root: int, before: str) -> bool:
    """Whether the readout differs from `before` once input is drawn: a dead way costs frames, not seconds."""
    if readout(page, root) != before:
        return True
    page.wait_for_frames()
    return readout(page, root) != before


def moves_readout(page: Page, root: int, index: int, way: str) -> bool:
    """Drag or swipe one handle in four directions until the readout answers."""
    for dx, dy in sorted_by_room(page, root, index, MOVES[way]):
        before = readout(page, root)
        grip = page.evaluate(f"{GRIP}({json.dumps(ROOTS)}, {json.dumps(HANDLES)}, {root}, {index})")
        assert grip["inside"] and grip["hit"], f"handle {index} of explorable {root} cannot be gripped: {grip}"
        start, end = (grip["x"], grip["y"]), (grip["x"] + dx, grip["y"] + dy)
        page.drag(start, end, steps=3) if way == "mouse" else page.swipe(start, end, steps=3)
        if follows(page, root, before):
            return True
    return False


def sorted_by_room(page: Page, root: int, index: int, ways: tuple[Any, ...]) -> list[Any]:
    """The ways in pairs of opposites, each pair turned round where the handle has more room that way."""
    handle = f"document.querySelectorAll({json.dumps(ROOTS)})[{root}].querySelectorAll({json.dumps(HANDLES)})[{index}]"
    turn = -1 if page.evaluate(f"{HIGH}({handle})") else 1
    return [way for pair in zip(ways[::2], ways[1::2], strict=True) for way in pair[::turn]]


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


def assert_answers_the_finger(page: Page, name: str) -> None:
    """Every handle of an open page of a phone with a touch screen."""
    handles = handles_of(page, name)
    assert_alive(page, handles)
    for root, count in enumerate(handles):
        for index in range(count):
            assert moves_readout(page, root, index, "finger"), f"handle {index} of {root} is dead to the finger"


def assert_answers_the_mouse_and_the_keyboard(page: Page, name: str) -> None:
    """Every handle of an open page."""
    handles = handles_of(page, name)
    assert_alive(page, handles)
    for root, count in enumerate(handles):
        for index in range(count):
            assert moves_readout(page, root, index, "mouse"), f"handle {index} of {root} is dead to the mouse"
            assert_answers_the_keyboard(page, root, index)


def open_landing(page: Page, base: str) -> int:
    """Open the landing page and wait until its picture lives; its number of handles."""
    page.open(f"{base}/book/index.html")
    page.wait_until(f"document.querySelectorAll({json.dumps(ROOTS)}).length === 1")
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
        page.evaluate("document.querySelector('.ln-dig').scrollIntoView({block: 'center'})")
        box = "(({x, y, width, height}) => [x + 0.6 * width, y + height / 4])"
        x, y = page.evaluate(f"{box}(document.querySelector('.ln-dig').getBoundingClientRect())")
        page.tab.touchscreen.tap(x, y) if way == "tap" else page.tab.mouse.click(x, y)
        page.wait_until("document.querySelector('.lossnav-readout').textContent.includes('3 wells')")
        set_by_the_browser = "document.querySelector('.ln-formula math msqrt, .ln-formula math mfrac')"
        assert page.evaluate(f"{set_by_the_browser}.getBoundingClientRect().width") > 10
        level = "[...document.querySelectorAll('.ln-button')].find((b) => b.textContent === 'Level')"
        page.evaluate(f"{level}.click()")
        page.wait_until("document.querySelector('.lossnav-readout').textContent.includes('equally deep')")


def test_chapters_of_the_landing_page_show_their_first_pictures(html: Path) -> None:
    text = (html / "book" / "index.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'class="lossnav-thumbnail ln-light" src="\.\./_images/first-([\w-]+)\.webp"', text))
    drawn = {name for name in chapters() if first_picture(nbformat.read(notebook_path(name), as_version=4))}
    assert shown == drawn and len(shown) > 9
    sizes = [(html / "_images" / f"first-{name}.webp").stat().st_size for name in shown]
    assert max(sizes) < 20_000 and min(sizes) > 500


def assert_answers_the_keyboard(page: Page, root: int, index: int) -> None:
    handle = f"document.querySelectorAll({json.dumps(ROOTS)})[{root}].querySelectorAll({json.dumps(HANDLES)})[{index}]"
    assert page.evaluate(f"{handle}.tabIndex") >= 0
    page.evaluate(f"{handle}.focus()")
    assert page.evaluate(f"document.activeElement === {handle}")
    assert any(press_and_see(page, root, key) for key in sorted_by_room(page, root, index, KEYS)), (
        f"handle {index} of explorable {root} is dead to the arrow keys"
    )


def press_and_see(page: Page, root: int, key: str) -> bool:
    """Press a key until the readout answers; its numbers are rounded, and one press may be too little to see."""
    before = readout(page, root)
    for _ in range(5):
        page.key(key)
        if readout(page, root) != before:
            return True
    return follows(page, root, before)
