"""What a redraw of each explorable costs: script, style and layout of one change of the state, in a headless browser.

The page is that of the book: the widget's own module, mounted by the book's host. Every slider is swept over its whole
range, and every point is moved with the arrow keys. What counts is the processor time of the page's thread, which other
processes hardly change; the time on the wall is told beside it.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lossnav
from benchmarks.report import Report, Settings
from lossnav import explore

ROOT = Path(lossnav.__file__).resolve().parents[1]
TOOLS = ("book/_tools", "book/_ext")  # the book's browser and its host of explorables
SIZE = (1100, 900)
SWEEP, WARM = 60, 40  # changes of each handle that count, and of each before them
MEDIAN, RARE = 8.0, 16.0  # ms of processor time: what half of the redraws and 99 of 100 may take
# States in which there is most to draw.
HARD: dict[str, dict[str, Any]] = {
    "BeliefFilter": {"now": 800},
    "TaskSwitch": {"switches": [(0.0, 0.5, 1.5), (2.0, 4.0, -1.0), (5.0, 1.0, 2.0)], "now": 9.0},
}

HANDLES = """(() => {
  const root = document.querySelector(".lossnav-explorable");
  window.handles = [...root.querySelectorAll("[role=slider], input[type=range]")];
  window.turn = (which, i, count) => {
    const node = window.handles[which];
    if (node.type === "range") {
      const share = i / (count - 1);
      node.valueAsNumber = Math.round(Number(node.max) * (share < 0.5 ? 2 * share : 2 - 2 * share));
      node.dispatchEvent(new Event("input", { bubbles: true }));
    } else {
      const key = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"][Math.floor((4 * i) / count)];
      node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, shiftKey: i % 2 === 1 }));
    }
    root.getBoundingClientRect();
  };
  window.timed = (which, i, count) => {
    const begin = performance.now();
    window.turn(which, i, count);
    return performance.now() - begin;
  };
  return window.handles.map((node) => node.getAttribute("aria-label"));
})()"""


@dataclass(frozen=True)
class Handle:
    """Milliseconds of each redraw that a handle caused: of the processor, and on the wall."""

    label: str
    work: list[float]
    wall: list[float]


def page(name: str) -> str:
    """Return a page with one explorable, as the book mounts it."""
    from lossnav_bundles import with_bundles
    from lossnav_explorables import markup

    host = (ROOT / "book" / "_static" / "host.js").as_uri()
    shown = markup(name, HARD.get(name, {}), "one")
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><script src="{host}"></script></head>'
    return with_bundles(f"{head}{shown}</html>")


def measure(opened: Any, sweep: int, warm: int) -> list[Handle]:
    """Return what each handle's redraws take."""
    session = opened.tab.context.new_cdp_session(opened.tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        return 1e3 * float(metrics["ScriptDuration"] + metrics["RecalcStyleDuration"] + metrics["LayoutDuration"])

    handles = []
    for which, label in enumerate(opened.evaluate(HANDLES)):
        for i in range(warm):
            opened.evaluate(f"turn({which}, {i}, {warm})")
        handle = Handle(label.partition(";")[0], [], [])
        for i in range(sweep):
            before = spent()
            handle.wall.append(opened.evaluate(f"timed({which}, {i}, {sweep})"))
            handle.work.append(spent() - before)
        handles.append(handle)
    return handles


def rare(values: list[float]) -> float:
    """Return what 99 of 100 stay under."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def run(settings: Settings) -> Report:
    """Measure every explorable."""
    sys.path[:0] = [str(ROOT / folder) for folder in TOOLS]
    from chrome import Browser

    names = [name for name in dir(explore) if name != "Explorable"]
    sweep, warm = (4, 1) if settings.quick else (SWEEP, WARM)
    rows: list[list[Any]] = []
    checks = {}
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for name in names[:1] if settings.quick else names:
            path = Path(folder) / f"{name}.html"
            path.write_text(page(name), encoding="utf-8")
            with browser.page(SIZE) as opened:
                opened.open(path.as_uri())
                opened.wait_until("document.querySelector('.lossnav-readout')?.textContent")
                handles = measure(opened, sweep, warm)
            slowest = max(handles, key=lambda handle: statistics.median(handle.work))
            middle, most = statistics.median(slowest.work), rare(slowest.work)
            times = [middle, most, statistics.median(slowest.wall), rare(slowest.wall)]
            rows.append([f"{name}: {slowest.label}", *times, len(handles)])
            if not settings.quick:
                words = f"{name}: half of the redraws in {MEDIAN:.0f} ms, 99 of 100 in {RARE:.0f}"
                checks[f"{words}: {middle:.1f}, {most:.1f}"] = middle <= MEDIAN and most <= RARE
        version = browser.version
    return Report(
        columns=[
            "explorable: its slowest handle",
            "ms",
            "99 of 100",
            "ms on the wall",
            "99 of 100 on the wall",
            "handles",
        ],
        formats=[".1f", ".1f", ".1f", ".1f", "d"],
        rows=rows,
        checks=checks,
        config={"browser": version, "size": SIZE, "sweep": sweep, "warm": warm, "states": HARD},
        notes=[
            f"processor time of script, style and layout of one change, {sweep} changes a handle; painting is apart"
        ],
    )
