"""A chapter's notebook in a real JupyterLab: prose without raw markup, and an explorable that both sides move."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from chrome import PATIENCE, WIDE, Browser, Page
from handles import middle
from notebooks import notebook_path
from paths import ROOT

CHAPTER = "drift"  # the shortest with an explorable
ADDED = (
    "from lossnav import explore\nmoved = explore.DoubleWell(start=-0.6, gamma=0.3)\nmoved",
    "print('Python has', round(moved.start, 6))",
    "moved.start = 0.75",
)
TOKEN = "for-a-test-on-this-machine-alone"
CELLS = "jupyterapp.shell.currentWidget?.content?.widgets"
ROOT_OF_IT = ".jp-OutputArea .lossnav-explorable[data-explorable=DoubleWell]"
HANDLE = f"{ROOT_OF_IT} [role=slider]"
BALL = f"document.querySelector('{HANDLE}')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server serves: the chapter as it is committed, and a few cells more."""
    place = tmp_path_factory.mktemp("lab")
    notebook = nbformat.read(notebook_path(CHAPTER), as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in ADDED]
    nbformat.write(notebook, place / "chapter.ipynb")
    settings = place / ".settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)  # all cells at once: by default only those in view are drawn
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    return place


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab on a free port, which ends with the test."""
    own = {name: str(folder / f".{name.lower()}") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])  # the kernel imports this package
    places = {**own, "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"), "PYTHONPATH": path}
    wanted = {"IdentityProvider.token": TOKEN, "ServerApp.root_dir": folder, "ServerApp.ip": "127.0.0.1"}
    switches = {"ServerApp.open_browser": False, "LabApp.expose_app_in_browser": True, "ServerApp.allow_root": True}
    options = [f"--{name}={value}" for name, value in {**wanted, **switches, "ServerApp.port": 0}.items()]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env={**os.environ, **places},
            cwd=folder,
            stdout=log,
            stderr=log,
        ) as server,
    ):
        try:
            yield f"{_address(folder, server)}lab/tree/chapter.ipynb?token={TOKEN}"
        finally:
            server.send_signal(signal.SIGTERM)  # it ends its kernels, too
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def _address(folder: Path, server: subprocess.Popen[bytes]) -> str:
    """Return where the server says that it is; it says so when it listens."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        for path in (folder / ".jupyter_runtime_dir").glob(f"jpserver-{server.pid}.json"):
            try:
                return str(json.loads(path.read_text())["url"])
            except ValueError:  # half written
                pass
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{(folder / 'log').read_text()[-2000:]}")


def run(page: Page, index: int) -> None:
    """Run one cell as Shift-Enter does, and wait until the kernel has."""
    cell = f"{CELLS}.at({index})"
    page.evaluate(f"(() => {{ jupyterapp.shell.currentWidget.content.activeCellIndex = {CELLS}.length + {index}; }})()")
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell').then(() => true)")
    page.wait_until(f"Number.isInteger({cell}.model.executionCount)")


def told(page: Page) -> float:
    """Return what Python has, asked now."""
    run(page, -2)
    output = str(page.evaluate(f"{CELLS}.at(-2).outputArea.node.innerText"))
    assert output.startswith("Python has "), output
    return float(output.removeprefix("Python has "))


def test_a_chapter_in_jupyterlab_and_an_explorable_that_both_sides_move(browser: Browser, lab: str) -> None:
    with browser.page(WIDE) as page:
        page.tab.goto(lab)
        page.wait_until(f"window.jupyterapp && {CELLS}?.length > 10")
        rendered = f"{CELLS}.filter((cell) => cell.model.type === 'markdown')"
        page.wait_until(f"{rendered}.every((cell) => cell.rendered && cell.node.querySelector('.jp-RenderedMarkdown'))")
        prose = page.evaluate(f"{rendered}.map((cell) => cell.node.querySelector('.jp-RenderedMarkdown').innerText)")
        assert len(prose) > 10 and not [text for text in prose if "{glue" in text or "```{" in text or ":::" in text]
        page.wait_until("document.querySelectorAll('.jp-RenderedMarkdown mjx-container').length > 20")
        assert page.evaluate("document.querySelectorAll('mjx-merror').length") == 0

        page.wait_until("jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'")
        run(page, -3)
        page.wait_until(f"!!document.querySelector('{ROOT_OF_IT}')")
        assert told(page) == -0.6

        page.evaluate(f"{BALL}.scrollIntoView({{block: 'center'}})")
        x, y = middle(page, HANDLE)
        page.drag((x, y), (x + 60, y))
        page.wait_until(f"Number({BALL}.ariaValueNow) > -0.5")
        seen = lambda: pytest.approx(float(page.evaluate(f"{BALL}.ariaValueNow")), abs=1e-3)
        deadline = time.monotonic() + PATIENCE
        while told(page) != seen() and time.monotonic() < deadline:  # the page tells Python when the hand rests
            page.tab.wait_for_timeout(100)
        assert told(page) == seen() != -0.6

        before = middle(page, HANDLE)
        run(page, -1)
        page.wait_until(f"{BALL}.ariaValueNow === '0.750'")
        after = middle(page, HANDLE)
        assert after[0] > before[0] + 20, "the picture does not follow Python"
        numbers = page.evaluate(f"document.querySelector('{ROOT_OF_IT} .lossnav-readout.ln-numbers').textContent")
        assert "0.75" in numbers
