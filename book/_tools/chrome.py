"""A headless Chrome or Chromium, spoken to directly through its DevTools protocol.

No driver program stands between: any Chrome works, there are no versions to match and nothing is downloaded.

    with Browser() as browser, browser.page() as page:
        page.open("file:///.../index.html")
        page.evaluate("document.title")

    python book/_tools/chrome.py [--if-missing]      says which browser would be used; loudly if there is none
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import websocket

CANDIDATES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    # every other host is unreachable: a page that needs one fails here as it would for a reader without network
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
PATIENCE = 60.0  # seconds; generous, because the browser shares two cores with a training run
WIDE, PHONE = (1300, 900), (390, 844)  # CSS pixels

T = TypeVar("T")


class BrowserError(RuntimeError):
    """The browser did not start, did not answer, or a script in the page failed."""


def find_chrome() -> str | None:
    """Path of the browser: the environment's CHROME, else the first that is installed."""
    named = os.environ.get("CHROME")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(f"CHROME={named!r} names no program that can be run; unset it to search for a browser")
        return found
    return next((found for name in CANDIDATES if (found := shutil.which(name))), None)


def wait_for(what: str, probe: Callable[[], T], patience: float = PATIENCE, pause: float = 0.05) -> T:
    """Call `probe` until it gives something true; give that."""
    deadline = time.monotonic() + patience
    while True:
        result = probe()
        if result:
            return result
        if time.monotonic() > deadline:
            raise BrowserError(f"waited {patience:.0f} s for {what}")
        time.sleep(pause)


class Browser:
    """One browser process with a fresh profile."""

    def __init__(self, program: str | None = None) -> None:
        program = program or find_chrome()
        if program is None:
            raise BrowserError(f"no Chrome or Chromium found; tried CHROME and {', '.join(CANDIDATES)}")
        self._profile = tempfile.TemporaryDirectory(prefix="lossnav-chrome-", ignore_cleanup_errors=True)
        self._log = Path(self._profile.name) / "output.txt"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [program, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={self._profile.name}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        try:
            self._socket = websocket.create_connection(self._address(), timeout=PATIENCE, suppress_origin=True)
        except BaseException:
            self.close()
            raise
        self._count = 0
        self._pages: dict[str, Page] = {}

    def _address(self) -> str:
        port_file = Path(self._profile.name) / "DevToolsActivePort"

        def probe() -> list[str]:
            if self._process.poll() is not None:
                raise BrowserError(f"the browser ended with code {self._process.returncode}:\n{self._log.read_text()}")
            lines = port_file.read_text().split() if port_file.exists() else []
            return lines if len(lines) == 2 else []

        port, path = wait_for("the browser to start", probe)
        return f"ws://127.0.0.1:{port}{path}"

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that arrive meanwhile go to their pages."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message if session is None else {**message, "sessionId": session}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return dict(answer["result"])
            page = self._pages.get(answer.get("sessionId", ""))
            if page is not None and "method" in answer:
                page.events.append((answer["method"], answer["params"]))

    @contextmanager
    def page(
        self, size: tuple[int, int] = WIDE, *, dark: bool = False, scripts: bool = True, touch: bool = False
    ) -> Iterator[Page]:
        """A page in a profile of its own (nothing stored), closed afterwards."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Network", "Log"):
                page.call(f"{domain}.enable")
            page.resize(size, touch=touch)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            calm = {"name": "prefers-reduced-motion", "value": "reduce"}
            page.call("Emulation.setEmulatedMedia", features=[scheme, calm])
            page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
            yield page
        finally:
            del self._pages[session]
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        """End the process that this object started and remove its profile."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self.close()


class Page:
    """A tab: navigation, scripts, real input events, pictures, and a record of what the network and console said."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.events: list[tuple[str, dict[str, Any]]] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One DevTools command to this page."""
        return self._browser.call(method, self._session, **parameters)

    def resize(self, size: tuple[int, int], *, touch: bool = False) -> None:
        """Set the window in CSS pixels; a narrow one behaves as a phone (viewport meta tag obeyed)."""
        width, height = size
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def open(self, url: str) -> None:
        """Go to `url`; return when it has loaded and the formulas and widgets have settled."""
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        if answer.get("errorText"):
            raise BrowserError(f"{url}: {answer['errorText']}")
        wait_for(f"{url} to load", lambda: self.seen("Page.loadEventFired"))
        wait_for(f"{url} to become quiet", self._quiet)

    def seen(self, method: str) -> list[dict[str, Any]]:
        """Parameters of the events of one kind since the page was opened."""
        self.call("Runtime.getIsolateId")  # an answer is preceded by all events that are under way
        return [parameters for name, parameters in self.events if name == method]

    def _quiet(self) -> bool:
        """No request under way, no formula left to set, and no change of height for a moment."""
        sent = self.seen("Network.requestWillBeSent")
        started = {event["requestId"] for event in sent if not event["request"]["url"].startswith("data:")}
        ends = self.seen("Network.loadingFinished") + self.seen("Network.loadingFailed")
        if started - {event["requestId"] for event in ends}:
            return False
        before = self.evaluate(SETTLE)
        time.sleep(0.3)
        return bool(before == self.evaluate(SETTLE))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            description = details.get("exception", {}).get("description", details.get("text"))
            raise BrowserError(f"{description}\nin: {expression[:300]}")
        return answer["result"].get("value")

    def wait_until(self, condition: str, patience: float = PATIENCE) -> None:
        """Wait for a JavaScript expression to become true."""
        wait_for(condition, lambda: self.evaluate(condition), patience)

    # ---- what went wrong
    def requests(self) -> list[str]:
        """Addresses of all requests, redirects included, data: and blob: left out."""
        urls = [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]

    def failures(self) -> list[str]:
        """Requests that failed or were answered with an error."""
        urls = {event["requestId"]: event["request"]["url"] for event in self.seen("Network.requestWillBeSent")}
        failed = [f"{urls.get(e['requestId'])}: {e['errorText']}" for e in self.seen("Network.loadingFailed")]
        responses = [event["response"] for event in self.seen("Network.responseReceived")]
        return failed + [f"{r['url']}: status {r['status']}" for r in responses if r["status"] >= 400]

    def complaints(self) -> list[str]:
        """Errors and warnings that scripts raised or that the browser logged."""
        found = []
        for event in self.seen("Runtime.exceptionThrown"):
            details = event["exceptionDetails"]
            found.append(details.get("exception", {}).get("description") or details["text"])
        for event in self.seen("Runtime.consoleAPICalled"):
            if event["type"] in ("error", "assert"):
                found.append(" ".join(str(a.get("value", a.get("description", ""))) for a in event["args"]))
        found += [e["entry"]["text"] for e in self.seen("Log.entryAdded") if e["entry"]["level"] == "error"]
        return found

    # ---- real input
    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press the mouse at `start`, move to `end`, release."""
        self._mouse("mouseMoved", start, buttons=0)
        self._mouse("mousePressed", start)
        for point in between(start, end, steps):
            self._mouse("mouseMoved", point)
        self._mouse("mouseReleased", end, buttons=0)

    def _mouse(self, kind: str, point: tuple[float, float], buttons: int = 1) -> None:
        moves = kind == "mouseMoved"
        button = "none" if moves and not buttons else "left"
        self.call(
            "Input.dispatchMouseEvent",
            type=kind, x=point[0], y=point[1], button=button, buttons=buttons, clickCount=0 if moves else 1,
        )

    def swipe(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Touch at `start`, move to `end`, lift the finger."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": start[0], "y": start[1]}])
        for point in between(start, end, steps):
            self.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": point[0], "y": point[1]}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name: str) -> None:
        """Press and release a named key, such as "ArrowRight" or "Tab"."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name])

    def picture(self, path: Path) -> None:
        """The whole page as a PNG: the window grows to the page's height for a moment."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        self.resize((int(size["width"]), int(size["height"])))
        self.evaluate(SETTLE)
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


SETTLE = """(async () => {
  if (window.MathJax && MathJax.startup && MathJax.startup.promise) await MathJax.startup.promise;
  await document.fonts.ready;
  return [document.documentElement.scrollHeight, document.getElementsByTagName('*').length].join();
})()"""


def between(start: tuple[float, float], end: tuple[float, float], steps: int) -> Iterator[tuple[float, float]]:
    """Points on the line from after `start` to `end`."""
    for i in range(1, steps + 1):
        yield start[0] + (end[0] - start[0]) * i / steps, start[1] + (end[1] - start[1]) * i / steps


def main() -> None:
    """Say which browser is there."""
    program = find_chrome()
    if program:
        if "--if-missing" not in sys.argv[1:]:
            print(f"browser: {program}")
        return
    line = "!" * 100
    print(f"{line}\n!!  NO CHROME OR CHROMIUM WAS FOUND: the pages were NOT opened, the browser tests did NOT run.\n"
          f"!!  Install one (Debian: apt-get install chromium), or name it: CHROME=/path/to/chrome make test\n{line}")


if __name__ == "__main__":
    main()
