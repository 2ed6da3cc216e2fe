r"""Sphinx extension: anchors and marks at the paper's equations, and the index of equations.

A display formula with ``\tag{6}`` becomes the target ``#eq-V6`` and, if the ledger says that a test checks it, gets a
small mark that links to its row in the index. Its number stands beside the formula, so that it stays in sight where a
long formula scrolls. The directive ``{equation-index} V`` makes the table of one source, and the role
``{equation}`V6``` is the number of an equation, which leads to the chapter that states it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from lossnav_tags import tags_in_math, without_tags
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

SYMBOLS = {"checked": "✓", "definition": "○"}  # an open equation has no mark


class equation_mark(nodes.Element):
    """The number and the mark beside a formula: ``labels`` and ``number`` of one tag."""


class equation_place(nodes.inline):
    """The number in the index; becomes a link when some page states the equation."""


class test_name(nodes.literal):
    """The name of a test, which may break after an underscore."""


class Ledger:
    """The rows of ``tests/equations/ledger.yml``, by label."""

    def __init__(self, path: Path):
        text = path.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        self.path = path
        self.sources: dict[str, dict[str, Any]] = content["sources"]
        self.rows: dict[str, dict[str, Any]] = {row["label"]: row for row in content["equations"]}
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def status(self, labels: Iterable[str]) -> str:
        """Return the status of a tag: open if one of its equations is, checked if one of them is checked."""
        statuses = {self.rows[label]["status"] if label in self.rows else "open" for label in labels}
        return next(status for status in ("open", "checked", "definition") if status in statuses)

    def describe(self, labels: list[str]) -> str:
        """Return the mark's words, for its tooltip and for screen readers."""
        numbers = [shown_number(label) for label in labels]
        names = numbers[0] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} and {numbers[-1]}"
        source = self.sources[labels[0][0]]["short"]
        kinds = sorted({self.rows[label]["check"] for label in labels if self.rows[label]["status"] == "checked"})
        how = {"symbolic": "checked symbolically", "numeric": "checked numerically"}
        state = " and ".join(how[kind] for kind in kinds) or "a definition, nothing to check"
        return f"Eq{'s' if len(numbers) > 1 else ''}. {names} of {source}: {state}. See the index of equations"


def shown_number(label: str) -> str:
    """Return the number as the book prints it: V6 is 6, K15 stays K15."""
    return label.removeprefix("V")


def stated(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return, per page, the label of each equation it states with the id of its place."""
    if not hasattr(env, "lossnav_stated"):
        env.lossnav_stated = {}  # type: ignore[attr-defined]
    return env.lossnav_stated  # type: ignore[attr-defined, no-any-return]


def index_pages(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return, per page with an index, the letters of the sources it lists."""
    if not hasattr(env, "lossnav_index"):
        env.lossnav_index = {}  # type: ignore[attr-defined]
    return env.lossnav_index  # type: ignore[attr-defined, no-any-return]


class MarkEquations(SphinxTransform):
    """Wraps each tagged formula in a box with its anchors and marks."""

    default_priority = 200  # before targets hand their ids on to the nodes that follow them

    def apply(self, **kwargs: Any) -> None:
        """Go through the display formulas of one page."""
        ledger: Ledger = self.app.lossnav_ledger  # type: ignore[attr-defined]
        for node in list(self.document.findall(nodes.math_block)):
            if "amsmath" in node["classes"]:
                self._unnumber(node)
            try:
                tags = tags_in_math(node.astext())
            except ValueError as error:
                logger.warning("%s", error, location=node, type="lossnav", subtype="tag")
                continue
            if tags:
                self._wrap(node, {tag.content: tag.labels for tag in tags}, ledger)

    @staticmethod
    def _unnumber(node: nodes.math_block) -> None:
        """Undo MyST's own number of an align block, and its random id: the only numbers here are the sources'."""
        node["number"] = None
        node.attributes.pop("label", None)
        place = node.parent.index(node) - 1
        before = node.parent[place] if place >= 0 else None
        if isinstance(before, nodes.target) and any(name.startswith("equation-") for name in before["ids"]):
            node.parent.remove(before)

    def _wrap(self, node: nodes.math_block, groups: dict[str, list[str]], ledger: Ledger) -> None:
        here = stated(self.env).setdefault(self.env.docname, {})
        anchors = []
        for label in (label for group in groups.values() for label in group):
            if label not in ledger.rows:
                logger.warning("the ledger has no equation %s", label, location=node, type="lossnav", subtype="tag")
            elif label in here:
                logger.warning(
                    "equation %s is stated twice on this page", label, location=node, type="lossnav", subtype="tag"
                )
            else:
                here[label] = f"eq-{label}"
                anchors.append(f"eq-{label}")
        node.children = [nodes.Text(without_tags(node.astext()))]
        box = nodes.container("", ids=anchors, classes=["ln-equation"])
        node.parent.replace(node, box)
        marks = (equation_mark("", labels=labels, number=number) for number, labels in groups.items())
        box += [node, nodes.container("", *marks, classes=["ln-marks"])]


class EquationIndex(SphinxDirective):
    """``{equation-index} V``: the table of one source's equations."""

    required_arguments = 1
    has_content = False
    HEADINGS: ClassVar = (("No.", 6), ("What it says", 44), ("Status", 12), ("Check", 12), ("Test, or why none", 26))

    def run(self) -> list[nodes.Node]:
        """Return the summary and the table; links are filled in when the page is written."""
        ledger: Ledger = self.env.app.lossnav_ledger  # type: ignore[attr-defined]
        letter = self.arguments[0]
        if letter not in ledger.sources:
            raise self.error(f"equation-index: {letter!r} is not one of {', '.join(ledger.sources)}")
        self.env.note_dependency(str(ledger.path))
        index_pages(self.env).setdefault(self.env.docname, []).append(letter)
        rows = [row for row in ledger.rows.values() if row["label"].startswith(letter)]
        return [self._summary(rows), self._table(rows)]

    @staticmethod
    def _summary(rows: list[dict[str, Any]]) -> nodes.Node:
        count = Counter(row["status"] for row in rows)
        text = (
            f"{len(rows)} equation{'s' * (len(rows) != 1)}: {count['checked']} checked, "
            f"{count['definition']} definition{'s' * (count['definition'] != 1)}, {count['open']} open."
        )
        if proved := Counter(row["proves"] for row in rows if "proves" in row):
            through, others = ("goes" if proved["code"] == 1 else "go"), ("does" if proved["paper"] == 1 else "do")
            text += (
                f" Of the checks {proved['code']} {through} through the library's code, {proved['paper']} {others} not."
            )
        return nodes.paragraph("", text, classes=["ln-ledger-summary"])

    def _table(self, rows: list[dict[str, Any]]) -> nodes.Node:
        group = nodes.tgroup("", cols=len(self.HEADINGS))
        group += [nodes.colspec(colwidth=width) for _, width in self.HEADINGS]
        group += nodes.thead("", nodes.row("", *(_entry(nodes.Text(title)) for title, _ in self.HEADINGS)))
        group += nodes.tbody("", *(self._row(row) for row in rows))
        return nodes.table("", group, classes=["ln-ledger"])  # its narrow form is in the stylesheet

    def _row(self, row: dict[str, Any]) -> nodes.Node:
        label, status = row["label"], row["status"]
        number = equation_place("", shown_number(label), label=label)
        meaning, _ = self.parse_inline(row["meaning"])
        state = f"{SYMBOLS.get(status, '')} {status}".strip()
        proof: list[nodes.Node] = []
        for test in row.get("tests", []):
            file, _, name = test.partition("::")
            shown = name if file.startswith("tests/equations/") else test
            proof += [test_name("", shown), nodes.Text(" ")]
        if not proof and row.get("why"):
            proof, _ = self.parse_inline(row["why"])
        cells = [
            _entry(number),
            _entry(*meaning),
            _entry(nodes.inline("", state, classes=[f"ln-status-{status}"])),
            _entry(nodes.Text(", ".join(row[key] for key in ("check", "proves") if key in row) or "–")),
            _entry(*proof),
        ]
        return nodes.row("", *cells, ids=[label])


def equation_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """``{equation}`V6```: the number, in brackets; a link once all pages have been read."""
    if text not in inliner.document.settings.env.app.lossnav_ledger.rows:
        message = inliner.reporter.error(f"equation: the ledger has no {text!r}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    return [equation_place("", f"({shown_number(text)})", label=text)], []


def _entry(*content: nodes.Node) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", *content))


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill in marks and links, now that every page has been read."""
    env, ledger = app.env, app.lossnav_ledger  # type: ignore[attr-defined]
    pages = {letter: page for page, letters in index_pages(env).items() for letter in letters}
    for mark in list(doctree.findall(equation_mark)):
        labels = [label for label in mark["labels"] if label in ledger.rows]
        status = ledger.status(labels) if labels else "open"
        page = pages.get(labels[0][0]) if labels else None
        if status == "open" or page is None:
            continue  # an empty mark keeps its place in the column, so that the others stay beside their rows
        mark["status"] = status
        mark["refuri"] = f"{app.builder.get_relative_uri(docname, page)}#{labels[0]}"
        mark["title"] = ledger.describe(labels)
    for place in list(doctree.findall(equation_place)):
        label = place["label"]
        home = ledger.rows[label].get("stated")
        holders = sorted(
            (page for page, labels in stated(env).items() if label in labels),
            key=lambda page: (page.rsplit("/", 1)[-1] != home, page),
        )
        content: nodes.Node = nodes.inline("", place.astext())
        if holders:
            uri = f"{app.builder.get_relative_uri(docname, holders[0])}#{stated(env)[holders[0]][label]}"
            content = nodes.reference(
                "", place.astext(), refuri=uri, internal=True, reftitle=f"Equation {shown_number(label)} in its chapter"
            )
        place.replace_self(content)


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget a page that is about to be read again."""
    stated(env).pop(docname, None)
    index_pages(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    """Take over what a parallel reader found."""
    for docname in docnames:
        for store in (stated, index_pages):
            if docname in store(other):
                store(env)[docname] = store(other)[docname]  # type: ignore[index]


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that depend on others: every index, and all marked pages when the ledger or an index changed."""
    signature = (app.lossnav_ledger.digest, sorted(index_pages(env)))  # type: ignore[attr-defined]
    changed = getattr(env, "lossnav_seen", None) != signature
    env.lossnav_seen = signature  # type: ignore[attr-defined]
    return [*index_pages(env), *(stated(env) if changed else [])]


def prepare(app: Sphinx) -> None:
    """Read the ledger and offer the stylesheet."""
    app.lossnav_ledger = Ledger(Path(app.srcdir) / app.config.lossnav_ledger)  # type: ignore[attr-defined]
    app.config.html_static_path.append(str(Path(__file__).parent / "static"))


def visit_mark(self: Any, node: equation_mark) -> None:
    """Write the number, and the mark as a link with a name; an empty span holds the place of one that is not there."""
    self.body.append(f'<div class="ln-beside"><span class="ln-number">({self.encode(node["number"])})</span>')
    if "refuri" not in node:
        self.body.append('<span class="ln-check" aria-hidden="true"></span></div>')
    else:
        words = self.attval(node["title"])
        self.body.append(
            f'<a class="ln-check ln-check-{node["status"]}" href="{self.attval(node["refuri"])}" '
            f'title="{words}" aria-label="{words}">{SYMBOLS[node["status"]]}</a></div>'
        )
    raise nodes.SkipNode


def visit_test(self: Any, node: test_name) -> None:
    """Write the name with places where a line may break."""
    words = self.encode(node.astext()).replace("_", "_<wbr>").replace("/", "/<wbr>").replace("::", "::<wbr>")
    self.body.append(f'<code class="ln-test notranslate">{words}</code>')
    raise nodes.SkipNode


def skip(self: Any, node: nodes.Element) -> None:
    """Leave the mark out."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("lossnav_ledger", "tests/equations/ledger.yml", "env")
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(equation_mark, html=(visit_mark, None), **others)
    app.add_node(equation_place)
    app.add_node(test_name, html=(visit_test, None))
    app.add_transform(MarkEquations)
    app.add_directive("equation-index", EquationIndex)
    app.add_role("equation", equation_role)
    app.add_css_file("lossnav_ledger.css")
    app.connect("builder-inited", prepare)
    app.connect("doctree-resolved", resolve)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_to_write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
