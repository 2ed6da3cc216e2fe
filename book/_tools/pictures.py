"""Static twins: what is seen of an explorable where no script runs, which is the first frame of its own script.

    python book/_tools/pictures.py write     bundle the scripts, and draw them again, by node
    python book/_tools/pictures.py check     compare those that are kept with what the scripts draw

They lie in the explorables' folders, one for each first state and for each that the book shows, and are committed, so
that a machine without node builds the same pages.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bundles
import yaml
from node import BUNDLER, node_command, tool
from paths import BOOK, EXPLORE, write_atomically

DRAW = Path(__file__).with_name("pictures.mjs")
DIRECTIVE = re.compile(r"^```\{explorable\} (?P<name>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
NEAR = 0.02  # pixels: another node may round the other way


def drawn(widgets: Sequence[Any]) -> dict[Path, str]:
    """The twins of explorables in their present states, by the place where each is kept.

    Raises:
        subprocess.CalledProcessError: a script fails; node has said where.
        SystemExit: there is no node here.
    """
    from lossnav.explore._scripts import drawing_style

    if (command := node_command()) is None:
        raise SystemExit("pictures: there is no node here, which draws explorables; `make book` installs one")
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for widget in widgets:
            module = Path(folder) / f"{type(widget).__name__}.mjs"
            module.write_text(widget._esm, encoding="utf-8")
            state = widget.get_state(widget._state_names())
            jobs.append({"module": module.as_uri(), "state": state, "style": drawing_style(widget._folder)})
        done = subprocess.run(
            [*command, str(DRAW)],
            input=json.dumps(jobs),
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            check=True,
        )
    return dict(zip((widget.twin() for widget in widgets), json.loads(done.stdout), strict=True))


def on_show() -> list[Any]:
    """Each explorable in its first state, and in those that pages and notebooks show it in."""
    from notebooks import chapters, shown_explorables

    from lossnav import explore

    kinds = [kind for _, kind in inspect.getmembers(explore, inspect.isclass) if kind is not explore.Explorable]
    widgets = [kind() for kind in kinds]
    for page in sorted(BOOK.glob("*.md")):
        for directive in DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            widgets.append(getattr(explore, directive["name"])(**(yaml.safe_load(directive["body"]) or {})))
    return [*widgets, *(widget for name in chapters() for widget in shown_explorables(name))]


def write(widgets: Iterable[Any]) -> None:
    """Draw the twins of explorables, and keep them; without node only those that are kept already are taken.

    Raises:
        SystemExit: one is missing, and there is no node here.
    """
    wanted = {widget.twin(): widget for widget in widgets}
    if node_command() is None and wanted.keys() <= kept():
        return
    for path, picture in drawn(list(wanted.values())).items():
        if not path.is_file() or not same(path.read_text(encoding="utf-8"), picture):
            write_atomically(path, picture)


def same(one: str, other: str) -> bool:
    """Whether two pictures are the same but for the last digit of their numbers."""
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (one, other)]
    return NUMBER.sub("", one) == NUMBER.sub("", other) and all(
        abs(a - b) <= NEAR for a, b in zip(*numbers, strict=True)
    )


def kept() -> set[Path]:
    """The twins that are kept."""
    return set(EXPLORE.glob("*/twin-*.svg"))


def problems() -> list[str]:
    """What is wrong with the twins that are kept, in words."""
    twins = drawn(on_show())
    missing = [f"{path.relative_to(EXPLORE)} is missing" for path in sorted(twins.keys() - kept())]
    spare = [f"{path.relative_to(EXPLORE)} is of a state that nothing shows" for path in sorted(kept() - twins.keys())]
    other = [
        f"{path.relative_to(EXPLORE)} is not what its script draws"
        for path in sorted(twins.keys() & kept())
        if not same(path.read_text(encoding="utf-8"), twins[path])
    ]
    return bundles.problems() + missing + spare + other


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=["write", "check"])
    if parser.parse_args(arguments).command == "write":
        bundles.write()
        widgets = on_show()
        write(widgets)
        for path in kept() - {widget.twin() for widget in widgets}:
            path.unlink()
    faults = problems()
    unseen = "" if tool(BUNDLER) else "; bundles are as they were: esbuild is not here, make install brings it"
    print("\n".join(faults) or f"pictures: {len(kept())} are what the scripts draw{unseen}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
