"""Handles of explorables on any page, moved by real mouse, finger and keys until the readout answers."""

from __future__ import annotations

import json
from typing import Any

from chrome import Page

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
    """Whether the readout answers when one handle is dragged or swiped, in up to four directions."""
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
