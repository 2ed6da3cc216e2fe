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
# CSS pixels, on a phone down to the control's end and on a desk the whole: six questions are longer than a screen.
LONG = {"Board": 1030}
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
# The handle, what is said before it is moved, and whether it is in the upper half of its range.
HANDLE = """((roots, handles) => (root, index) => {
  const explorable = document.querySelectorAll(roots)[root], handle = explorable.querySelectorAll(handles)[index];
  const value = (own, told) => Number(handle.type === 'range' ? handle[own] : handle.getAttribute(told));
  const low = value('min', 'aria-valuemin'), high = value('max', 'aria-valuemax');
  const said = [...explorable.querySelectorAll('.lossnav-readout')].map((e) => e.textContent).join('|');
  return {handle, said, high: 2 * value('value', 'aria-valuenow') > low + high};
})"""
HANDLE += f"({json.dumps(ROOTS)}, {json.dumps(HANDLES)})"

# Middle of what the hand would grip, the thumb of a range input or the drawn shape, and whether it lies on top there.
# What is behind "Details" is brought out first; sections are laid out some frames after they come into the window, and
# until then nothing in them can be hit.
GRIP = """(async ({handle, ...found}) => {
  handle.closest('details')?.setAttribute('open', '');
  const seen = () => {
    const box = handle.getBoundingClientRect();
    let x = box.x + box.width / 2;
    const y = box.y + box.height / 2;
    if (handle.type === 'range') {
      const part = (handle.valueAsNumber - handle.min) / (handle.max - handle.min), thumb = 16;
      x = box.x + thumb / 2 + part * (box.width - thumb);
    }
    const top = document.elementFromPoint(x, y);
    return {x, y, inside: x > 0 && x < innerWidth, hit: handle.contains(top) || !!(top && top.contains(handle))};
  };
  let last, now;
  for (let frame = 0; frame < 30 && !(now?.hit && now.y === last?.y); frame++) {
    handle.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    await new Promise(requestAnimationFrame);
    [last, now] = [now, seen()];
  }
  return {...found, ...now};
})"""

# Whether it can be focused, and is.
FOCUS = """(({handle, ...found}) => {
  handle.closest('details')?.setAttribute('open', '');
  handle.focus();
  return {...found, focused: handle.tabIndex >= 0 && document.activeElement === handle};
})"""


def middle(page: Page, query: str) -> tuple[float, float]:
    """Where in the window the middle of an element is."""
    box = f"document.querySelector({json.dumps(query)}).getBoundingClientRect()"
    x, y = page.evaluate(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box})")
    return x, y


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
    for turn in range(4):
        grip = page.evaluate(f"{GRIP}({HANDLE}({root}, {index}))")
        assert grip["inside"] and grip["hit"], f"handle {index} of explorable {root} cannot be gripped: {grip}"
        dx, dy = by_room(grip["high"], MOVES[way])[turn]
        start, end = (grip["x"], grip["y"]), (grip["x"] + dx, grip["y"] + dy)
        page.drag(start, end, steps=1) if way == "mouse" else page.swipe(start, end, steps=2)
        if follows(page, root, grip["said"]):
            return True
    return False


def by_room(high: bool, ways: tuple[Any, ...]) -> list[Any]:
    """The ways in pairs of opposites, each pair turned round where the handle has more room that way."""
    return [way for pair in zip(ways[::2], ways[1::2], strict=True) for way in pair[:: -1 if high else 1]]


def assert_answers_the_keyboard(page: Page, root: int, index: int) -> None:
    state = page.evaluate(f"{FOCUS}({HANDLE}({root}, {index}))")
    assert state["focused"], f"handle {index} of explorable {root} takes no focus"
    assert any(press_and_see(page, root, key, state["said"]) for key in by_room(state["high"], KEYS)), (
        f"handle {index} of explorable {root} is dead to the arrow keys"
    )


def press_and_see(page: Page, root: int, key: str, before: str) -> bool:
    """Press a key until the readout answers; its numbers are rounded, and one press may be too little to see."""
    for _ in range(5):
        page.key(key)
        if readout(page, root) != before:
            return True
    return follows(page, root, before)
