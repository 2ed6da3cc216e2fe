"""What a page carries of its explorables: esbuild bundles their scripts and style sheets, without what none uses.

A notebook holds what a kernel's explorable needs. Python joins that (``explore._scripts``), since whoever has a kernel
may have no node; it has twice as many bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from lossnav_explorables import STATE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_tools"))
import node
from paths import EXPLORE

HELD = re.compile(rf'(<script type="{re.escape(STATE)}">)(.*?)(</script>)', re.DOTALL)
HOME = re.compile(r"lossnav\.explore\.(?P<folder>\w+)\.widget\.\w+")  # of an explorable: the module of its class


@cache
def bundles() -> dict[str, dict[str, str]]:
    """Return script and style of the explorable in each folder, by its name; none where npm has not brought esbuild.

    Raises:
        subprocess.CalledProcessError: esbuild cannot read a script; it has said why.
    """
    if (command := node.tool(node.BUNDLER)) is None:
        return {}
    views, sheets = sorted(EXPLORE.glob("*/view.js")), sorted(EXPLORE.glob("*/style.css"))
    with tempfile.TemporaryDirectory() as out:
        how = ["--bundle", "--minify", "--format=esm", "--charset=utf8", "--log-level=warning"]
        common = [EXPLORE / "drawing.css", EXPLORE / "explorable.css"]
        files = map(str, [*views, *common, *sheets])
        subprocess.run([*command, *files, *how, f"--outbase={EXPLORE}", f"--outdir={out}"], check=True)

        def made(path: Path) -> str:
            return (Path(out) / path.relative_to(EXPLORE)).read_text(encoding="utf-8") if path.is_file() else ""

        style = "".join(map(made, common))
        return {
            view.parent.name: {"_esm": made(view), "_css": style + made(view.with_name("style.css"))} for view in views
        }


def with_bundles(page: str) -> str:
    """Return the page with the bundles of its explorables; widgets that are not ours stay."""

    def smaller(found: re.Match[str]) -> str:
        held = json.loads(found[2])
        for model in held["state"].values():
            home = HOME.fullmatch(str(model["state"].get("_anywidget_id")))
            if home and home["folder"] in bundles():
                model["state"] |= bundles()[home["folder"]]
        written = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
        # "</script" must not end the script that holds it
        return found[1] + written.replace("</", "<\\/") + found[3]

    return HELD.sub(smaller, page)
