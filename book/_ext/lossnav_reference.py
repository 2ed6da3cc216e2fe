r"""Sphinx extension: what the reference of the package needs beside autodoc and codeautolink.

A name that is offered in two rooms is described in one; the inventory has it under both. What a class lists under
"Attributes" is described there alone. Bars are norms and absolute values, never substitutions. Each description ends
with the pages whose code uses it.
"""

from __future__ import annotations

import functools
import html
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import sphinx_codeautolink.extension as codeautolink
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext import autosummary
from sphinx_codeautolink.extension.block import CodeBlockAnalyser, link_html

import lossnav

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_tools"))
import paths

FOLDER = "book/api/"  # of the reference's pages
# Where a bar is no bar of a norm: formulas and code, in a block or in a line.
_VERBATIM = re.compile(
    r"""^(?P<margin>\ *)\.\.\ math::.*\n (?:(?P=margin)\ +.*\n | \s*\n)*
      | ^\ *>>>\ .*\n (?:\ *\S.*\n)*
      | ``[\s\S]*?`` | `[^`]*`
      | (?P<bar>\|)""",
    re.MULTILINE | re.VERBOSE,
)

_CODE = re.compile(
    r'<div class="(?:doctest )?highlight-\w+ notranslate"><div class="highlight"><pre>.*?</pre></div>\n</div>',
    re.DOTALL,
)
_MARK = re.compile(r"<[^>]*>")
_UNWRITTEN = re.compile(r"<(?:function (?P<name>[\w.]+)(?: at 0x\w+)?|factory)>")
_NEXT = "\n<!-- next -->\n"


class Analyser(CodeBlockAnalyser):
    """Finds code and the section that it stands in, also on pages with proofs and exercises.

    Theirs are sections without a title, and admonitions have a title without a section; codeautolink expects none of
    the two, and stops. The cells of a notebook go on from each other, the examples of docstrings do not.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.concat_global = self.document["source"].endswith(".ipynb")

    def visit_title(self, node: nodes.title) -> None:
        """Keep the title of a section."""
        if isinstance(node.parent, nodes.section):
            super().visit_title(node)

    def visit_section(self, node: nodes.section) -> None:
        """Keep the place of a section with a title."""
        if isinstance(node[0], nodes.title):
            super().visit_section(node)

    def depart_section(self, node: nodes.section) -> None:
        """Forget the title of a section that has one."""
        if isinstance(node[0], nodes.title):
            super().depart_section(node)


def link_code(page: str, folder: str, blocks: list[Any], *args: Any, **options: Any) -> None:
    """Put links into the code of a page, as codeautolink does, but read alone the code that has names.

    A whole page with its formulas takes the parser a second and more, and codeautolink seeks each block among all those
    that are left.
    """
    blocks = [block for block in blocks if block.names]
    sources = {block.source.strip() for block in blocks}

    def named(code: str) -> bool:
        return html.unescape(_MARK.sub("", code)).strip() in sources

    path = Path(folder) / f"{page}.html"
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch) / f"{page}.html"
        code.parent.mkdir(parents=True, exist_ok=True)
        code.write_text(_NEXT.join(filter(named, _CODE.findall(text))), encoding="utf-8")
        link_html(page, scratch, blocks, *args, **options)
        linked = iter(code.read_text(encoding="utf-8").split(_NEXT))
    path.write_text(_CODE.sub(lambda code: next(linked) if named(code[0]) else code[0], text), encoding="utf-8")


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public names and what they stand for: those of ``lossnav`` and of each of its rooms."""
    yield from _offered("lossnav", lossnav)


def _offered(path: str, room: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in room.__all__:
        member = getattr(room, name)
        if isinstance(member, ModuleType) and room is lossnav.figures:
            continue  # each draws for one chapter
        yield f"{path}.{name}", member
        if isinstance(member, ModuleType):
            yield from _offered(f"{path}.{name}", member)


def _find(name: str) -> Any:
    """Return what has a name; an import would put modules into the places of functions that are called alike."""
    try:
        return functools.reduce(getattr, name.split(".")[1:], lossnav)
    except AttributeError:  # an alias: below a function that has its module's name
        return None


def escape_bars(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Keep docutils from reading \\|x\\| as a substitution."""
    text = _VERBATIM.sub(lambda part: r"\|" if part["bar"] else part[0], "\n".join(lines) + "\n")
    lines[:] = text.split("\n")


def name_defaults(
    app: Sphinx, what: str, name: str, found: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write defaults as Python can be written: a function by its name, what is made anew each time as dots."""
    return signature and _UNWRITTEN.sub(lambda match: match["name"] or "...", signature), returns


def choose_members(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Describe calls, and leave out what the docstring of the class has described."""
    if what != "class" or "autodoc:class" not in app.env.temp_data:
        return None
    owner = _find(f"{app.env.temp_data['autodoc:module']}.{app.env.temp_data['autodoc:class']}")
    if re.search(rf"^ *Attributes:\n(.+\n)*? +{name}: ", getattr(owner, "__doc__", None) or "", re.MULTILINE):
        return True
    return False if name == "__call__" and found.__doc__ else None


def keep_own_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Forget other packages' names: they are not described here, and to follow them imports whole packages."""
    for blocks in env.sphinx_codeautolink_transforms.values():
        for block in blocks:
            block.names = [name for name in block.names if name.import_components[:1] == ["lossnav"]]


def note_aliases(app: Sphinx, env: BuildEnvironment) -> None:
    """Enter public names of what is described under another of its names."""
    domain = env.domains["py"]
    kinds = ("class", "data", "exception", "function", "module")
    described = {id(_find(name)): name for name, entry in domain.objects.items() if entry.objtype in kinds}
    for name, member in public():
        if name not in domain.objects and id(member) in described:
            known = described[id(member)]
            domain.objects[name] = domain.objects[known]._replace(aliased=True)
            if isinstance(member, ModuleType):
                domain.modules[name] = domain.modules[known]


def note_uses(app: Sphinx, tree: nodes.document, page: str) -> None:
    """End each description with the pages whose code uses it: codeautolink has followed the names there."""
    if not page.startswith(FOLDER):
        return
    uses = _uses(app.env)
    for description in tree.findall(addnodes.desc):
        sections = {page: section for place in description[0]["ids"] for page, section in uses.get(place, {}).items()}
        if not sections:
            continue
        line = nodes.paragraph("", "Used in ", classes=["ln-used"])
        for number, (using_page, section) in enumerate(sections.items()):
            address = app.builder.get_relative_uri(page, using_page) + f"#{section}"
            title = (part.deepcopy() for part in app.env.titles[using_page].children)
            line += nodes.Text(", " if number else "")
            line += nodes.reference("", "", *title, internal=True, refuri=address)
        content = next(part for part in description if isinstance(part, addnodes.desc_content))
        members = (place for place, part in enumerate(content) if isinstance(part, addnodes.desc))
        content.insert(next(members, len(content)), line)


def _uses(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return for the place of each description the pages that use it, as they are read, and the first section there."""
    objects, uses = env.domains["py"].objects, {}
    for page in paths.pages():
        for block in env.sphinx_codeautolink_transforms.get(page, ()):
            for name in block.names:
                place = objects[name.resolved_location].node_id
                if not page.startswith(FOLDER):
                    uses.setdefault(place, {}).setdefault(page, block.example.ref_id)
    return uses


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    codeautolink.CodeBlockAnalyser = Analyser
    codeautolink.link_html = link_code
    autosummary.WELL_KNOWN_ABBREVIATIONS += (
        "App.",
        "Apps.",
        "Eq.",
        "Eqs.",
        "Fig.",
        "Sec.",
        "Secs.",
    )  # no sentence ends
    app.add_css_file("lossnav_reference.css")
    app.connect("autodoc-process-docstring", escape_bars, priority=600)  # after napoleon
    app.connect("autodoc-process-signature", name_defaults)
    app.connect("autodoc-skip-member", choose_members)
    for before in (keep_own_names, note_aliases):
        app.connect("env-updated", before, priority=400)  # codeautolink looks names up at 500
    app.connect("doctree-resolved", note_uses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
