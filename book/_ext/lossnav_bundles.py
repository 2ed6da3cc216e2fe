"""What a page carries of its explorables: each script once, before its first view, which it mounts as it is parsed.

A notebook's page names the states of all its widgets in its head, each with a copy of its script and style. Here every
explorable has its values beside it, and a page one style sheet.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from lossnav_explorables import STATE, VIEW

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_tools"))
from paths import EXPLORE

from lossnav.explore._scripts import STYLES, bundle, folder_of

HELD = re.compile(rf'<script type="{re.escape(STATE)}">(?P<states>.*?)</script>', re.DOTALL)
SHOWN = re.compile(rf'<script type="{re.escape(VIEW)}">(?P<view>.*?)</script>', re.DOTALL)
CLASS = re.compile(r"lossnav\.explore\.(?P<name>\w+)")  # of an explorable
MACHINERY = ("layout", "tabbable", "tooltip")


def with_bundles(page: str) -> str:
    """Return the page with the scripts and values of its explorables beside them; of other widgets a picture stays."""
    ours: dict[str, tuple[str, dict[str, Any]]] = {}  # folder and values, by model

    def taken(match: re.Match[str]) -> str:
        for key, model in json.loads(match["states"])["state"].items():
            state = model["state"]
            if known := CLASS.fullmatch(str(state.get("_anywidget_id"))):
                values = {name: v for name, v in state.items() if name[0] != "_" and name not in MACHINERY}
                ours[key] = folder_of(known["name"]).name, values
        return ""

    page = HELD.sub(taken, page)
    defined: list[str] = []

    def mounted(match: re.Match[str]) -> str:
        key = json.loads(match["view"])["model_id"]
        if key not in ours:
            return match[0]
        folder, values = ours[key]
        script = ""
        if folder not in defined:
            defined.append(folder)
            script = f"explorables.define({json.dumps(folder)},()=>{{{_script(EXPLORE / folder)}return view.default}});"
        shown = f"explorables.show({json.dumps(folder)},{json.dumps(key)},{_inside(values)})"
        return f"{match[0]}<script>{script}{shown}</script>"

    page = SHOWN.sub(mounted, page)
    own = [path for folder in defined for path in [EXPLORE / folder / "style.css"] if path.is_file()]
    style = "".join(path.read_text(encoding="utf-8") for path in [*STYLES, *own])
    return page.replace("</head>", f"<style>{style}</style></head>", 1) if defined else page


def _inside(held: Any) -> str:
    """Return JSON that may stand in a script, which "</script" would end."""
    return json.dumps(held, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _script(folder: Path) -> str:
    return bundle(folder).replace("</script", "<\\/script")
