"""A headless Chrome or Chromium that is installed already, driven by Playwright: nothing is downloaded.

with Browser() as browser, browser.page() as page:
    page.open("file:///.../index.html")
    page.evaluate("document.title")

python book/_tools/chrome.py [--if-missing]      says which browser would be used; loudly if there is none
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import CDPSession, ConsoleMessage, Request, Response, sync_playwright
from playwright.sync_api import Error as BrowserError  # it did not start or answer, or a script in the page failed
from playwright.sync_api import Page as Tab

CANDIDATES = (
    "chromium-headless-shell",  # the same pages with an eighth less work: it has no windows, tabs or extensions
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    # every other host is unreachable: a page that needs one fails here as it would for a reader without network
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE = 300.0  # seconds; generous, because the browser may share two cores with a dozen training runs
WIDE, PHONE = (1300, 900), (390, 844)  # CSS pixels


def find_chrome() -> str | None:
    """Path of the browser: the environment's CHROME, else the first that is installed."""
    named = os.environ.get("CHROME")
    if named:
        program = shutil.which(named)
        if program is None:
            raise BrowserError(f"CHROME={named!r} names no program that can be run; unset it to search for a browser")
        return program
    return next((program for name in CANDIDATES if (program := shutil.which(name))), None)


class Browser:
    """One browser process with a fresh profile.

    A tab that was left in order is emptied and given out again: a new one costs a process, half of what a page does.
    """

    def __init__(self, program: str | None = None) -> None:
        program = program or find_chrome()
        if program is None:
            raise BrowserError(f"no Chrome or Chromium found; tried CHROME and {', '.join(CANDIDATES)}")
        self._idle: dict[tuple[bool, bool, bool], Page] = {}
        self._driver = sync_playwright().start()
        try:
            self._browser = self._driver.chromium.launch(executable_path=program, args=FLAGS, timeout=1e3 * PATIENCE)
        except BaseException:
            self._driver.stop()
            raise

    @contextmanager
    def page(
        self, size: tuple[int, int] = WIDE, *, dark: bool = False, scripts: bool = True, touch: bool = False
    ) -> Iterator[Page]:
        """A page with nothing stored; a narrow one behaves as a phone."""
        width, height = size
        kind = (width < 600, touch, scripts)
        page = self._idle.pop(kind, None) or self._new_page(*kind)
        try:
            page.tab.set_viewport_size({"width": width, "height": height})
            page.tab.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce", media="null")
            yield page
            page.forget()
        except BaseException:
            page.tab.context.close()
            raise
        if kind in self._idle:  # two at once
            page.tab.context.close()
        else:
            self._idle[kind] = page

    def _new_page(self, phone: bool, touch: bool, scripts: bool) -> Page:
        context = self._browser.new_context(is_mobile=phone, has_touch=touch, java_script_enabled=scripts)
        context.set_default_timeout(1e3 * PATIENCE)
        return Page(context.new_page(), scripts)

    @property
    def process(self) -> Any:
        """Playwright's browser, for contexts of one's own."""
        return self._browser

    @property
    def version(self) -> str:
        """What the browser calls itself."""
        return str(self._browser.version)

    def close(self) -> None:
        """End the browser and the driver that this object started."""
        try:
            self._browser.close()
        finally:
            self._driver.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Page:
    """A tab: navigation, scripts, real input events, pictures, and a record of what the network and console said.

    Attributes:
        tab: Playwright's page, for what is not here.
    """

    def __init__(self, tab: Tab, scripts: bool = True) -> None:
        self.tab = tab
        self._scripts = scripts
        self._sent: list[Request] = []
        self._ended: list[Request] = []
        self._refused: list[str] = []
        self._said: list[str] = []
        tab.on("request", lambda request: self._sent.append(request))  # it takes no methods of builtin types
        tab.on("requestfinished", lambda request: self._ended.append(request))
        tab.on("requestfailed", lambda request: self._ended.append(request))
        tab.on("response", self._judge)
        tab.on("pageerror", lambda error: self._said.append(str(error)))
        tab.on("console", self._listen)

    def _judge(self, response: Response) -> None:
        if response.status >= 400:
            self._refused.append(f"{response.url}: status {response.status}")

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._said.append(message.text)

    def start_anew(self) -> None:
        """Forget what the network and the console have said so far."""
        for record in (self._sent, self._ended, self._refused, self._said):
            record.clear()

    def open(self, url: str) -> None:
        """Go to `url`; return when it has loaded and the widgets have settled."""
        self.start_anew()
        self.tab.goto(url)
        self._wait(self._is_quiet, f"{url} to become quiet", PATIENCE)

    def _is_quiet(self) -> bool:
        """No request under way, every explorable mounted, no change of height for some frames; no, if it moves on."""
        try:
            before = self.evaluate(SETTLE)
            self.wait_for_frames()
            if self._scripts and self.evaluate(UNMOUNTED) and not self._said:
                return False
            return bool(before == self.evaluate(SETTLE)) and set(self._sent) <= set(self._ended)
        except BrowserError as error:
            if "Execution context was destroyed" in error.message:  # the page sends its reader elsewhere
                return False
            raise

    def wait_for_frames(self) -> None:
        """Wait until what input and timers have asked for is drawn: frames, not seconds, take longer under load."""
        if self._scripts:
            self.evaluate(FRAMES)
        self.tab.wait_for_timeout(50)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, and wait until it has taken it."""
        self.tab.set_viewport_size({"width": width, "height": height})
        self.wait_until(f"innerWidth === {width}")
        self.wait_for_frames()

    def forget(self) -> None:
        """Leave the page, and nothing stored."""
        if self._scripts and not self.tab.url.startswith("about:"):
            self.evaluate(FORGET)
        self.tab.context.clear_cookies()
        self.tab.goto("about:blank")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        return self.tab.evaluate(expression)

    def wait_until(self, condition: str, patience: float = PATIENCE) -> None:
        """Wait for a JavaScript expression to become true; it is asked from outside, as pages forbid to evaluate it."""
        self._wait(lambda: bool(self.evaluate(condition)), condition, patience)

    def _wait(self, ready: Callable[[], bool], what: str, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not ready():
            if time.monotonic() > deadline:
                raise BrowserError(f"waited {patience:.0f} s for {what}")
            self.tab.wait_for_timeout(10)

    # ---- what went wrong
    def requests(self) -> list[str]:
        """Addresses of all requests, redirects included, data: and blob: left out."""
        return [request.url for request in self._sent if not request.url.startswith(("data:", "blob:"))]

    def failures(self) -> list[str]:
        """Requests that failed or were answered with an error."""
        return [f"{request.url}: {request.failure}" for request in self._sent if request.failure] + self._refused

    def complaints(self) -> list[str]:
        """Errors and warnings that scripts raised or that the browser logged."""
        return list(self._said)

    # ---- real input
    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press the mouse at `start`, move to `end`, release."""
        mouse = self.tab.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=steps)
        mouse.up()

    def swipe(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Touch at `start`, move to `end`, lift the finger. Playwright itself can only tap."""
        protocol = self._protocol
        for i in range(steps + 1):
            x, y = (a + (b - a) * i / steps for a, b in zip(start, end, strict=True))
            touch = {"type": "touchMove" if i else "touchStart", "touchPoints": [{"x": x, "y": y}]}
            protocol.send("Input.dispatchTouchEvent", touch)
        protocol.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    @cached_property
    def _protocol(self) -> CDPSession:
        return self.tab.context.new_cdp_session(self.tab)

    def key(self, name: str) -> None:
        """Press and release a named key, such as "ArrowRight" or "Tab"."""
        self.tab.keyboard.press(name)

    def picture(self, path: Path) -> None:
        """The whole page as a PNG, sections and pictures that wait to be scrolled to included."""
        self.tab.add_style_tag(content="section { content-visibility: visible !important }")
        self.evaluate(ALL_PICTURES)
        self.tab.screenshot(path=path, full_page=True)


ALL_PICTURES = (
    """Promise.all([...document.images].map(e => { e.loading = 'eager'; return e.decode().catch(() => {}); }))"""
)

SETTLE = """(async () => {
  await document.fonts.ready;
  return [document.documentElement.scrollHeight, document.getElementsByTagName('*').length].join();
})()"""


# Views of explorables that host.js has still to mount.
UNMOUNTED = """[...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')]
  .filter((view) => !view.nextElementSibling?.querySelector?.('.lossnav-explorable')).length"""

FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"

FORGET = "(() => { try { localStorage.clear(); sessionStorage.clear(); } catch { } })()"  # data: addresses have none


def main() -> None:
    """Say which browser is there."""
    program = find_chrome()
    if program:
        if "--if-missing" not in sys.argv[1:]:
            print(f"browser: {program}")
        return
    line = "!" * 100
    print(
        f"{line}\n!!  NO CHROME OR CHROMIUM WAS FOUND: the pages were NOT opened, the browser tests did NOT run.\n"
        "!!  Install one (Debian: apt-get install chromium-headless-shell), or name it: CHROME=/path/to/it make test\n"
        f"{line}"
    )


if __name__ == "__main__":
    main()
