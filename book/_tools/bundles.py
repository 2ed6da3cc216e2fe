"""Bundles of the explorables' scripts: esbuild makes one of each ``view.js`` and all that it imports.

They lie beside the scripts as ``bundle.js`` and are committed, because whoever has a kernel may have no node, and carry
them into notebooks and pages. ``pictures.py`` writes them, and checks them, with the pictures that they draw.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import node
from paths import EXPLORE, write_atomically

HOW = ("--bundle", "--minify", "--format=iife", "--global-name=view", "--charset=utf8", "--log-level=warning")


def made() -> dict[Path, str]:
    """The bundle of each explorable, by the place where it is kept; none where npm has not brought esbuild.

    Raises:
        subprocess.CalledProcessError: esbuild cannot read a script; it has said why.
    """
    if (command := node.tool(node.BUNDLER)) is None:
        return {}
    views = sorted(EXPLORE.glob("*/view.js"))
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([*command, *map(str, views), *HOW, f"--outbase={EXPLORE}", f"--outdir={out}"], check=True)
        return {
            view.with_name("bundle.js"): (Path(out) / view.relative_to(EXPLORE)).read_text(encoding="utf-8")
            for view in views
        }


def write() -> None:
    """Bundle the scripts that have changed, where esbuild is."""
    for path, text in made().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def problems() -> list[str]:
    """What is wrong with the bundles that are kept, in words."""
    return [
        f"{path.relative_to(EXPLORE)} is not what its script makes"
        for path, text in made().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
