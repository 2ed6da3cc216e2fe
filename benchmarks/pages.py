"""How soon the first explorable of each page answers a key: on a desk, and on a phone whose processor is slowed down.

The pages are those that were built last (`make book`, or `LOSSNAV_HTML`, as for the tests), served by this machine. A
key is pressed before each frame until something changes; what counts is the time since the page was asked for.
"""

from __future__ import annotations

import functools
import http.server
import os
import statistics
import sys
import threading
from pathlib import Path
from typing import Any

import lossnav
from benchmarks.report import Report, Settings

ROOT = Path(lossnav.__file__).resolve().parents[1]
HTML = ROOT / os.environ.get("LOSSNAV_HTML", "_build/html")
DESK, PHONE = (1300, 850), (390, 844)
SLOWER = 4  # times, on the phone
SOON = {DESK: 1000.0, PHONE: 3000.0}  # ms
TRIES = 3

ASK = """(() => {
  window.answered = null;
  const ask = () => {
    const root = document.querySelector(".lossnav-explorable");
    const handle = root?.querySelector("[role=slider], input[type=range]");
    const before = root?.innerHTML;
    for (const key of handle ? ["ArrowRight", "ArrowLeft"] : []) {
      handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      if (root.innerHTML !== before) return (window.answered = performance.now());
    }
    return requestAnimationFrame(ask);
  };
  requestAnimationFrame(ask);
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that does not tell what it serves."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def answer(browser: Any, address: str, size: tuple[int, int]) -> float:
    """Return after how many milliseconds the first explorable of a page answered."""
    context = browser.new_context(
        viewport=dict(zip(("width", "height"), size, strict=True)), is_mobile=size == PHONE, bypass_csp=True
    )
    context.add_init_script(ASK)
    tab = context.new_page()
    if size == PHONE:
        context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    tab.goto(address)
    tab.wait_for_function("window.answered !== null")
    milliseconds = float(tab.evaluate("window.answered"))
    context.close()
    return milliseconds


def run(settings: Settings) -> Report:
    """Measure every page that has an explorable."""
    sys.path.insert(0, str(ROOT / "book" / "_tools"))
    from chrome import Browser
    from paths import pages

    names = [name for name in pages() if "lossnav-fallback" in (HTML / f"{name}.html").read_text(encoding="utf-8")]
    names, tries = (names[:1], 1) if settings.quick else (names, TRIES)
    rows: list[list[Any]] = []
    checks: dict[str, bool] = {}
    handler = functools.partial(Quiet, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, Browser() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in names:
            address = f"http://127.0.0.1:{server.server_address[1]}/{name}.html"
            times = {
                size: statistics.median(answer(browser.process, address, size) for _ in range(tries))
                for size in (DESK, PHONE)
            }
            rows.append([name, times[DESK], times[PHONE]])
            checks |= {f"{name}, {size[0]} px: {time:.0f} ms": time <= SOON[size] for size, time in times.items()}
        server.shutdown()
        version = browser.version
    return Report(
        columns=["page", "ms", f"ms on a phone, {SLOWER} times slower"],
        formats=[".0f", ".0f"],
        rows=rows,
        checks={} if settings.quick else checks,
        config={"browser": version, "sizes": [DESK, PHONE], "slower": SLOWER, "tries": tries},
        notes=["time on the wall from the request to the first answer: other processes change it"],
    )
