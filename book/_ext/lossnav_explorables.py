"""Sphinx extension: ``{explorable} NAME`` puts an explorable into a page that is no notebook.

    ```{explorable} DoubleWell
    gamma: 0.3
    ```

The body gives the constructor's arguments, one a line. The page gets the static twin, the widget's state and
module, and the script that mounts it. Nothing is executed in a kernel.

The role ``{lights}`words <NAME:part>` `` marks words that light up a part of an explorable of their page, and are lit
by it: a line, a slider, a point or a row, by the name that the script gives it.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
EXPLORE = ROOT / "lossnav" / "explore"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LIGHTS = re.compile(r"(?P<words>.+?)\s*<(?P<name>\w+):(?P<part>[\w-]+)>", re.DOTALL)


def markup(name: str, arguments: dict[str, Any], key: str) -> str:
    """Return the HTML of an explorable in the state that its arguments set; ``key`` names its model on the page.

    Raises:
        ValueError: if there is no such explorable, or from its constructor.
    """
    from lossnav import explore

    if name not in explore.__all__ or name == "Explorable":
        known = ", ".join(kind for kind in explore.__all__ if kind != "Explorable")
        raise ValueError(f"explorable = {name!r}, but it must be one of {known}")
    widget = getattr(explore, name)(**arguments)
    state = {trait: value for trait, value in widget.get_state().items() if trait not in ("layout", "tabbable")}
    held = json.dumps({"state": {key: {"state": state}}}).replace("</", "<\\/")
    view = json.dumps({"model_id": key})
    return (
        f'<div class="ln-explorable-output"><div>{widget.fallback()}</div>'
        f'<script type="{STATE}">{held}</script><script type="{VIEW}">{view}</script></div>'
    )


class Explorable(SphinxDirective):
    """``{explorable} NAME`` with arguments in its body."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the explorable; the page is told to load the host."""
        for path in EXPLORE.rglob("*"):
            if path.suffix in (".py", ".js", ".css", ".json", ".svg"):
                self.env.note_dependency(str(path))
        arguments = yaml.safe_load("\n".join(self.content)) or {}
        try:
            output = markup(self.arguments[0], arguments, f"page-{self.env.new_serialno('explorable')}")
        except (TypeError, ValueError) as error:
            raise self.error(f"explorable: {error}") from None
        self.env.metadata[self.env.docname]["explorables"] = "yes"
        return [nodes.raw("", output, format="html")]


def lights(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the words of a term, which may hold formulas, between the marks that light.js looks for."""
    match = LIGHTS.fullmatch(text)
    if match is None:
        problem = inliner.reporter.error(f"{rawtext}: write words <Explorable:part>", line=lineno)
        return [nodes.problematic(rawtext, rawtext)], [problem]
    inner, messages = inliner.parse(match["words"], lineno, None, nodes.inline())
    key = html.escape(f"{match['name']}:{match['part']}")
    before = nodes.raw("", f'<span class="ln-term" data-light="{key}">', format="html")
    environment = inliner.document.settings.env
    environment.metadata[environment.docname]["lights"] = "yes"
    return [before, *inner, nodes.raw("", "</span>", format="html")], messages


def picture_first(app: Sphinx, doctree: nodes.document) -> None:
    """Put what stands between a page's title and its first explorable, and is no text, behind that: code, and boxes."""
    fallbacks = (raw for raw in doctree.findall(nodes.raw) if "lossnav-fallback" in raw.astext())
    shown: nodes.Node | None = next(fallbacks, None)
    while shown is not None and not isinstance(shown.parent, nodes.section | None):
        shown = shown.parent
    page = next(doctree.findall(nodes.section), None)
    if shown is None or page is None:
        return
    before = list(itertools.takewhile(lambda child: not isinstance(child, nodes.section), page.children))
    later = [child for child in before if child is not shown and _is_furniture(child)]
    if shown in before:
        later = [child for child in later if page.index(child) < page.index(shown)]
    for child in later:
        page.remove(child)
    place = shown.parent.index(shown) + 1
    shown.parent[place:place] = later


def _is_furniture(node: nodes.Node) -> bool:
    """A box of the margin, or a cell of code without output."""
    if isinstance(node, nodes.sidebar):
        return True
    parts = [part for child in node.children if isinstance(child, nodes.Element) for part in child["classes"]]
    return isinstance(node, nodes.container) and "cell" in node["classes"] and "cell_output" not in parts


def load_host(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the scripts that a page needs: the host, which notebooks' pages have already, and light.js."""
    needs = app.env.metadata.get(pagename, {})
    if needs.get("explorables"):
        app.add_js_file("host.js")
    if needs.get("lights"):
        app.add_js_file("light.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("explorable", Explorable)
    app.add_role("lights", lights)
    app.connect("doctree-read", picture_first)
    app.connect("html-page-context", load_host)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
