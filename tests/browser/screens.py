"""What a reader meets on a page: nothing jumps while it loads, and an explorable fits one screen and comes early.

How soon it answers depends on the machine: `python -m benchmarks pages` measures that.
"""

from __future__ import annotations

from chrome import Page
from handles import LONG

SHIFT = 0.01  # of the layout, as browsers add it up: what has moved, times how far, as parts of the window
SEEN, WHOLE, FIRST = 700, 780, 760  # CSS pixels: see below

# All shifts since the page began to load, which the browser keeps. What moves soon after a window has changed its size
# it calls a reader's own doing, and a phone's window does when a page comes: nothing is left out.
SHIFTS = """(() => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: 'layout-shift', buffered: true });
  return observer.takeRecords().map(({ value, sources }) =>
    [value, sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? '').slice(0, 120)).join(' | ')]);
})()"""

# Of each explorable: its top, how far its plot and its sentence reach, how far its main control does, and its height.
BOXES = """[...document.querySelectorAll('.lossnav-explorable')].map((root) => {
  const { top, height } = root.getBoundingClientRect();
  const part = (name) => root.querySelector(name).getBoundingClientRect();
  const reach = (...names) => Math.max(...names.map((name) => part(name).bottom)) - top;
  const seen = reach(".ln-stage", ".ln-verdict"), moved = reach(".ln-control");
  return { name: root.dataset.explorable, top: top + scrollY, seen, moved, height };
})"""


def assert_stands_still_and_fits(page: Page, *, phone: bool) -> None:
    """On a page that was just opened and not touched yet."""
    shifts = page.evaluate(SHIFTS)
    assert sum(value for value, _ in shifts) <= SHIFT, shifts
    boxes = page.evaluate(BOXES)
    if phone:
        assert all(box["seen"] <= SEEN and box["moved"] <= LONG.get(box["name"], SEEN) for box in boxes), boxes
        assert all(box["top"] <= FIRST for box in boxes[:1]), boxes[0]
    else:
        assert all(box["height"] <= LONG.get(box["name"], WHOLE) for box in boxes), boxes
