"""Build the HTML book, treating every warning as an error, and see that each page of _toc.yml came out.

    python book/_tools/build.py              executes the notebooks          -> _build/html
    python book/_tools/build.py --committed  shows their committed outputs   -> _build/committed/_build/html

The first is what readers get, and what `make test` looks at if it is there. Else the second serves, where nbval proves
that the committed outputs are what the code gives: nothing needs to be computed twice.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import notebooks
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from notebooks import Notebook
from paths import BOOK, BUILD, ROOT, config, digest, pages, sources, write_atomically

CACHES_KEPT = 3
PROGRESS_STEP = 4  # notebooks
LINES_SHOWN = 60  # of complaints, on the terminal; the log has all
SHOWN = re.compile(r"WARNING|ERROR|CRITICAL|[Ee]xception|build finished with problems")
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


def output_folder(committed: bool) -> Path:
    """Where Jupyter Book leaves _build/html."""
    return BUILD / "committed" if committed else ROOT


def execution_cache() -> Path:
    """A cache of executed notebooks that lives as long as all that they import and read.

    Jupyter's cache knows the cells, not the package they call: the hash in the folder's name knows the rest.
    """
    read = (ROOT / "lossnav", BOOK / "drawing", ROOT / "data", BOOK / "results", ROOT / "benchmarks" / "results")
    files = [*(path for folder in read for path in sources(folder)), ROOT / "requirements" / "book.txt"]
    salt = digest(files, sys.version, os.environ.get("LOSSNAV_DATA", ""))
    return BUILD / ".jupyter_cache" / salt


def forget_old_caches(current: Path) -> None:
    """Keep the caches used last."""
    current.mkdir(parents=True, exist_ok=True)
    os.utime(current)
    caches = sorted(current.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in caches[CACHES_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def pending(folder: Path) -> dict[str, Notebook]:
    """The notebooks that the cache lacks, the longest first."""
    cache, lacking = get_cache(str(folder)), {}
    for name in notebooks.longest_first():
        notebook = notebooks.read_text(name)
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            lacking[name] = notebook
    return lacking


def failure(notebook: Notebook) -> str | None:
    """Execute a notebook in place; say what went wrong, if something did."""
    try:
        notebooks.execute(notebook)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return str(error)
    return None


def execute_side_by_side(folder: Path) -> int:
    """Execute all notebooks that the cache lacks, one a core: Jupyter Book takes one after the other.

    Says a few times how far it is, and of each that fails, at once, how. Returns how many failed; they are not kept.
    """
    lacking, start, failed = pending(folder), time.monotonic(), 0
    if not lacking:
        return 0
    cores = os.cpu_count() or 1
    print(f"book: executing {len(lacking)} notebooks, {cores} at a time", flush=True)
    notebooks.KERNELS_LOG.unlink(missing_ok=True)
    with ThreadPoolExecutor(cores) as pool:
        running = {pool.submit(failure, notebook): name for name, notebook in lacking.items()}
        try:
            for done, future in enumerate(as_completed(running), 1):
                name = running[future]
                if error := future.result():
                    failed += 1
                    print(f"book: {name} FAILED\n{COLOUR_CODES.sub('', error)}", file=sys.stderr, flush=True)
                else:
                    bundle = CacheBundleIn(lacking[name], f"{BOOK}/{name}.ipynb")
                    get_cache(str(folder)).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
                if done % PROGRESS_STEP == 0 or done == len(lacking):
                    print(f"book: {done} of {len(lacking)} executed, {time.monotonic() - start:.0f} s", flush=True)
        finally:  # who interrupts it does not wait for the others
            pool.shutdown(wait=False, cancel_futures=True)
    return failed


def write_config(committed: bool) -> Path:
    """_config.yml with the way of execution filled in and its paths made absolute."""
    settings: dict[str, Any] = config()
    if committed:
        settings["execute"]["execute_notebooks"] = "off"
    else:
        settings["execute"]["cache"] = str(execution_cache())
    extensions = settings["sphinx"].get("local_extensions") or {}
    settings["sphinx"]["local_extensions"] = {name: str(ROOT / path) for name, path in extensions.items()}
    path = BUILD / ("config-committed.yml" if committed else "config.yml")
    BUILD.mkdir(exist_ok=True)
    write_atomically(path, yaml.safe_dump(settings, allow_unicode=True, sort_keys=False))
    return path


def run_jupyter_book(output: Path, settings: Path) -> int:
    """Run the build; show complaints, keep the whole log beside the HTML."""
    # The trees of a book are millions of objects that live to the end: to look for garbage among them is a tenth of it.
    start = "import gc; gc.disable(); from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build"]
    command += ["-W", "-n", "--keep-going", "--config", str(settings), "--path-output", str(output), "."]
    log, shown = BUILD / "build.log", 0
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        for raw in process.stdout:
            line = COLOUR_CODES.sub("", raw)
            file.write(line)
            if SHOWN.search(line) and (shown := shown + 1) <= LINES_SHOWN:
                print("  " + line.rstrip(), flush=True)
        code = process.wait()
    if code:
        print(f"book: the build failed; its log is {log.relative_to(ROOT)}", file=sys.stderr)
    return code


def missing_pages(html: Path) -> list[str]:
    """Pages of the table of contents without HTML."""
    return [page for page in pages() if not (html / f"{page}.html").is_file()]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--committed", action="store_true", help="show committed outputs, execute nothing")
    committed = parser.parse_args().committed
    output = output_folder(committed)
    html = output / "_build" / "html"
    # Sphinx repeats no warning of a page that it does not read again: a build that judges starts clean.
    for stale in (html, output / "_build" / ".doctrees"):
        shutil.rmtree(stale, ignore_errors=True)
    output.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    if not committed:
        cache = execution_cache()
        forget_old_caches(cache)
        if failed := execute_side_by_side(cache):
            log = notebooks.KERNELS_LOG.relative_to(ROOT)
            print(f"book: {failed} failed, nothing was built; what kernels said is in {log}", file=sys.stderr)
            return 1
    print(f"book: building {len(pages())} pages{' from committed outputs' if committed else ''}", flush=True)
    if code := run_jupyter_book(output, write_config(committed)):
        return code
    if missing := missing_pages(html):
        print(f"book: in _toc.yml but not in the HTML: {', '.join(missing)}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    print(f"book: {(html / 'index.html').relative_to(ROOT)} is built, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
