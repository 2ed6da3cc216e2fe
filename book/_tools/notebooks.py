"""Notebooks and their paired text: the only writer of book/*.ipynb, and the check that both still agree.

    python book/_tools/notebooks.py write [NAME ...]   text -> notebook, executed here, outputs kept
    python book/_tools/notebooks.py write --stale      only those that the check complains about
    python book/_tools/notebooks.py prose [NAME ...]   the same without executing, where only prose changed
    python book/_tools/notebooks.py explorables [NAME ...]   the same, with the explorables' present scripts and twins
    python book/_tools/notebooks.py check              compare the pairs (no execution)
    python book/_tools/notebooks.py list               the notebooks' paths, last chapter first

People edit book/myst/NAME.md. Colab, Binder, GitHub and nbval open book/NAME.ipynb, which is in plain Markdown (see
``plain``). The published page takes its prose from the text and its outputs from the notebook.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pictures
import plain
from forks import fork_kernels
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from paths import BOOK, BUILD, EXPLORE, ROOT, TEXTS, digest, pages, sources, write_atomically
from PIL import Image

Notebook = nbformat.NotebookNode

PNG = "image/png"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SIZE_LIMIT = int(1.5 * 2**20)  # bytes; what a reviewer's browser and git still handle with ease
CELL_TIMEOUT = 900  # seconds
KERNELS_LOG = BUILD / "kernels.log"
os.environ.setdefault("TQDM_DISABLE", "1")  # kernels inherit it: a progress display would end in the outputs
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def text_path(name: str) -> Path:
    """The text that people edit."""
    return TEXTS / f"{name}.md"


def notebook_path(name: str) -> Path:
    """The notebook that is written from it."""
    return BOOK / f"{name}.ipynb"


def chapters() -> list[str]:
    """Names of all chapters that are notebooks: those with a text, and those the table of contents opens as .ipynb."""
    texts = {path.stem for path in TEXTS.glob("*.md")}
    listed = {Path(page).name for page in pages() if (ROOT / f"{page}.ipynb").exists()}
    return sorted(texts | listed)


def longest_first() -> list[str]:
    """All chapters in the order in which to run them side by side, so that all cores are busy to the end.

    Experiments take longest, and they stand last in the book.
    """
    order = [Path(page).name for page in reversed(pages())]
    return sorted(chapters(), key=order.index)


def explorables_digest() -> str:
    """A hash of the code whose state a notebook carries: front ends are copied into it when it is executed."""
    return digest(sources(EXPLORE))


# ------------------------------------------------------------------------------------------------ text -> notebook
def read_text(name: str) -> Notebook:
    """The notebook that the text describes, without outputs, with stable cell ids."""
    source = text_path(name)
    if not source.is_file():
        raise SystemExit(f"notebooks: {source.relative_to(ROOT)} does not exist; chapters are {', '.join(chapters())}")
    notebook = jupytext.read(source, fmt={"extension": ".md", "format_name": "myst"})
    counts: dict[str, int] = {}
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in ("tags", "mystnb")}
        cell.id = stable_id(cell, counts)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def stable_id(cell: Notebook, seen: dict[str, int]) -> str:
    """An id that depends on the cell's content only, so that writing twice changes nothing."""
    key = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
    seen[key] = seen.get(key, 0) + 1
    return key if seen[key] == 1 else f"{key}-{seen[key]}"


def execute(notebook: Notebook) -> None:
    """Run all cells in place, in the notebook's own folder, and tidy what they leave.

    What the kernel says of itself goes to _build/kernels.log. On Linux it is forked from a process that has imported
    what chapters do, and nothing else.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; its message has the cell and the traceback.
        nbclient.exceptions.CellTimeoutError: a cell took longer than CELL_TIMEOUT.
        nbclient.exceptions.DeadKernelError: the kernel's process has ended.
    """
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name=KERNEL["name"],
        record_timing=False,
        store_widget_state=True,
        coalesce_streams=True,  # else a busy machine cuts a cell's lines into several outputs, at random
        resources={"metadata": {"path": str(BOOK)}},
    )
    BUILD.mkdir(exist_ok=True)
    fork_kernels()
    with KERNELS_LOG.open("a", encoding="utf-8") as log:
        client.execute(stderr=log)
    tidy(notebook)


def write(name: str) -> None:
    """Write one notebook from its text."""
    notebook = read_text(name)
    try:
        execute(notebook)
    except CellExecutionError as error:
        raise SystemExit(f"notebooks: {name} fails\n{error}") from None
    renew(notebook)
    save(name, notebook)


def prose(name: str) -> None:
    """Write one notebook from its text with the outputs that it has, if its code is still the same."""
    notebook = with_outputs(name)
    if notebook is None:
        raise SystemExit(f"notebooks: the code of book/myst/{name}.md is not that of book/{name}.ipynb; write it")
    save(name, notebook)


def with_outputs(name: str) -> Notebook | None:
    """The notebook that the text describes, with the outputs that are committed; None if they are of other code."""
    notebook, committed = read_text(name), nbformat.read(notebook_path(name), as_version=4)
    mine, theirs = ([cell for cell in n.cells if cell.cell_type == "code"] for n in (notebook, committed))
    if [cell.source for cell in mine] != [cell.source for cell in theirs]:
        return None
    for cell, executed in zip(mine, theirs, strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    notebook.metadata = committed.metadata
    return notebook


def renew_explorables(name: str) -> None:
    """Write one notebook with the explorables that the package makes now, in the states that they were shown in.

    Their scripts and their pictures change more often than the chapter's code, which takes minutes to execute.
    """
    notebook = with_outputs(name)
    if notebook is None:
        raise SystemExit(f"notebooks: the code of book/myst/{name}.md is not that of book/{name}.ipynb; write it")
    renew(notebook)
    save(name, notebook)


def renew(notebook: Notebook) -> None:
    """Give a notebook's explorables the scripts that the package has now, and their twins, which node draws."""
    stored = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    explorables = list(explorables_of(notebook))
    pictures.write(widget for *_, widget in explorables)
    for twin, shown, widget in explorables:
        held = stored[shown["data"][WIDGET_VIEW]["model_id"]]["state"]
        held.update({key: value for key, value in widget.get_state().items() if key != "layout"})
        twin["data"] = {"text/html": widget.fallback(), "text/plain": widget.words()}
        shown["data"]["text/plain"] = repr(widget)
    if stored:
        notebook.metadata["lossnav"] = {"explorables": explorables_digest()}


def explorables_of(notebook: Notebook) -> Iterator[tuple[Notebook, Notebook, Any]]:
    """Each explorable that a notebook shows: the outputs with its twin and with its view, and a widget in its state."""
    stored = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    for cell in notebook.cells:
        for twin, shown in pairwise(cell.get("outputs", [])):
            if WIDGET_VIEW in shown.get("data", {}):
                yield twin, shown, remade(stored[shown["data"][WIDGET_VIEW]["model_id"]]["state"])


def shown_explorables(name: str) -> list[Any]:
    """The explorables that a chapter's notebook shows."""
    return [widget for *_, widget in explorables_of(nbformat.read(notebook_path(name), as_version=4))]


def remade(held: dict[str, Any]) -> Any:
    """The explorable whose state a notebook holds."""
    from lossnav import explore

    widget = getattr(explore, held["_anywidget_id"].rpartition(".")[2])()
    names = [trait for trait in widget.trait_names(sync=True) if trait[0] != "_" and trait in held]
    widget.set_state({trait: held[trait] for trait in names if trait not in ("layout", "tabbable", "tooltip")})
    return widget


def save(name: str, notebook: Notebook) -> None:
    """Write the plain form of an executed notebook."""
    try:
        notebook = plain.resolve(notebook, name)
    except plain.Unresolved as error:
        raise SystemExit(f"notebooks: {error}") from None
    nbformat.validate(notebook)
    write_atomically(notebook_path(name), json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    path = notebook_path(name)
    print(f"notebooks: wrote {path.relative_to(ROOT)} ({path.stat().st_size / 2**10:.0f} KiB)")


def tidy(notebook: Notebook) -> None:
    """Drop what changes from run to run; keep the state of widgets that are on show; make pictures small."""
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PNG in output.get("data", {}):
                output["data"][PNG] = small_picture(output["data"][PNG])
    shown_ids = list(dict.fromkeys(view["model_id"] for view in views(notebook)))
    for bundle in bundles(notebook):
        bundle["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", bundle.get("text/plain", ""))
    stored = notebook.metadata.pop("widgets", {}).get(WIDGET_STATE)
    if not shown_ids:
        return
    state = reachable(stored["state"], shown_ids)
    notebook.metadata["widgets"] = {WIDGET_STATE: {**stored, "state": state}}
    notebook.metadata["lossnav"] = {"explorables": explorables_digest()}
    rename_models(notebook, list(state))


def small_picture(encoded: str) -> str:
    """The picture with a palette of 256 colours of its own, a third of the size, if it is opaque."""
    picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    if "A" in picture.getbands() and picture.getchannel("A").getextrema() != (255, 255):
        return encoded
    buffer = io.BytesIO()
    palette = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    palette.save(buffer, "PNG", optimize=True)
    small = base64.b64encode(buffer.getvalue()).decode()
    return small if len(small) < len(encoded) else encoded


def bundles(notebook: Notebook) -> Iterator[Notebook]:
    """The outputs that show a widget, each as its dictionary of formats."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if WIDGET_VIEW in output.get("data", {}):
                yield output["data"]


def views(notebook: Notebook) -> Iterator[Notebook]:
    """The widget views among the outputs."""
    return (bundle[WIDGET_VIEW] for bundle in bundles(notebook))


def reachable(state: dict[str, Any], roots: Iterable[str]) -> dict[str, Any]:
    """The models that the shown ones refer to, in the order in which they are met."""
    models: dict[str, Any] = {}
    queue = list(roots)
    while queue:
        model = queue.pop(0)
        if model in models:
            continue
        models[model] = state[model]
        queue += list(references(state[model]["state"]))
    return models


def references(value: Any) -> Iterator[str]:
    """Ids of models named inside a model's state."""
    if isinstance(value, str) and value.startswith("IPY_MODEL_"):
        yield value.removeprefix("IPY_MODEL_")
    elif isinstance(value, dict):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def rename_models(notebook: Notebook, models: list[str]) -> None:
    """Give models ids that count them instead of random ones, so that writing twice makes no difference."""
    names = {old: uuid.uuid5(uuid.NAMESPACE_OID, f"model {i}").hex for i, old in enumerate(models)}
    for view in views(notebook):
        view["model_id"] = names[view["model_id"]]
    stored = notebook.metadata["widgets"][WIDGET_STATE]
    text = json.dumps(stored)
    for old, new in names.items():
        text = text.replace(f'"IPY_MODEL_{old}"', f'"IPY_MODEL_{new}"').replace(f'"{old}":', f'"{new}":')
    notebook.metadata["widgets"][WIDGET_STATE] = nbformat.from_dict(json.loads(text))


# ------------------------------------------------------------------------------------------------------- checking
def problems(name: str) -> list[str]:
    """What is wrong with a chapter's pair, in words; empty when nothing is."""
    path = notebook_path(name)
    if not text_path(name).is_file():
        return [f"{path.name} has no text book/myst/{name}.md"]
    if not path.is_file():
        return [f"book/{path.name} is missing; write it: make notebooks"]
    notebook = nbformat.read(path, as_version=4)
    faults = pair_problems(name, notebook) + output_problems(notebook)
    if path.stat().st_size > SIZE_LIMIT:
        faults.append(f"is {path.stat().st_size / 2**20:.2f} MiB; at most {SIZE_LIMIT / 2**20:.1f} MiB are allowed")
    return [f"book/{path.name}: {problem}" for problem in faults]


def pair_problems(name: str, notebook: Notebook) -> list[str]:
    """Differences between the text and the notebook, outputs left aside."""
    described = read_text(name)
    executed = iter([cell for cell in notebook.cells if cell.cell_type == "code"])
    for cell in described.cells:
        if cell.cell_type == "code":
            cell.outputs = getattr(next(executed, None), "outputs", [])
    try:
        expected = plain.resolve(described, name)
    except plain.Unresolved as error:
        return [str(error)]
    for place, (cell, wanted) in enumerate(zip_longest(notebook.cells, expected.cells)):
        if shown(cell) != shown(wanted):
            place_of_it = getattr(wanted or cell, "id", place)
            return [f"differs from book/myst/{name}.md at cell {place_of_it}; write it again: make notebooks"]
    return []


def shown(cell: Notebook | None) -> Any:
    """What a notebook and its text must agree in."""
    return cell and (cell.id, cell.cell_type, cell.source, cell.metadata)


def output_problems(notebook: Notebook) -> list[str]:
    """Cells that were not run from top to bottom, failed, or warned; widget state that other code made."""
    faults = []
    counts = [c.execution_count for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        faults.append("was not executed from top to bottom in one go")
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                faults.append(f"cell {cell.id} failed: {output.ename}: {output.evalue}")
            elif output.output_type == "stream" and output.name == "stderr":
                faults.append(f"cell {cell.id} wrote to stderr: {output.text.strip()[:300]}")
    if any(views(notebook)):
        state = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
        if not all(view["model_id"] in state for view in views(notebook)):
            faults.append("shows a widget whose state it does not carry")
        if notebook.metadata.get("lossnav", {}).get("explorables") != explorables_digest():
            faults.append("carries explorables of other code than lossnav/explore; write it again: make notebooks")
    return faults


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("write", help="write notebooks from their text, executed")
    writer.add_argument("names", nargs="*", help="chapters; default all")
    writer.add_argument("--stale", action="store_true", help="only those that the check complains about")
    rewriter = commands.add_parser("prose", help="write notebooks from their text with the outputs that they have")
    rewriter.add_argument("names", nargs="*", help="chapters; default all")
    renewer = commands.add_parser("explorables", help="write notebooks with the explorables that the package makes now")
    renewer.add_argument("names", nargs="*", help="chapters; default all")
    commands.add_parser("check", help="compare the pairs")
    commands.add_parser("list", help="print the notebooks' paths, last chapter first")
    options = parser.parse_args(arguments)
    if options.command == "write":
        for name in options.names or chapters():
            if not options.stale or problems(name):
                write(name)
        return 0
    if options.command in ("prose", "explorables"):
        rewrite = {"prose": prose, "explorables": renew_explorables}[options.command]
        for name in options.names or chapters():
            rewrite(name)
        return 0
    if options.command == "list":
        print(*(f"book/{name}.ipynb" for name in longest_first()))
        return 0
    faults = [problem for name in chapters() for problem in problems(name)]
    print("\n".join(faults) or f"notebooks: {len(chapters())} pairs agree")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
