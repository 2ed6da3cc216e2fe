"""A chapter in plain Markdown, as Colab, JupyterLab and GitHub show it: no role, no directive, every number filled in.

The text in book/myst speaks MyST, which only the published page understands. ``resolve`` turns the notebook that the
text describes into one for everybody else: numbers come from its own outputs, margins become quotes, citations and
cross-references links, solutions fold away, captions stand under their pictures. Code cells stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pybtex.database
import pybtex.richtext
import yaml
from paths import BOOK, ROOT, pages, published

Notebook = nbformat.NotebookNode

RECORD = "application/papermill.record/"  # of a glued value, before the format that it has
FOLDED = frozenset(
    {"hide-input", "hide-cell", "remove-input", "remove-cell"}
)  # tags of code that the page does not show
CODE_FOLLOWS = "*It begins with code, in the next cell.*"
ADDED = "added-"  # begins the id of a cell that the text does not have

FENCE = re.compile(r"(?P<fence>`{3,}|:{3,}|~{3,})(?:\{(?P<name>[\w:-]+)\})?\s*(?P<rest>.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]*)\]\((?P<to>[^()\s]+)\)")
TARGET = re.compile(r"\(([\w-]+)\)=\s*")
CODE = re.compile(r"(?<![`\\}])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
OPENED = re.compile(r"<details><summary>[^<]*</summary>\s*\Z")
EMPTY_FOLD = re.compile(r"<details><summary>[^<]*, continued</summary>\s*</details>")
LEFT = re.compile(r"\{[\w:-]+\}`|^\s*(?:`{3,}|:{3,})\{|^\([\w-]+\)=\s*$", re.MULTILINE)


class Unresolved(ValueError):
    """The text says something that has no plain form."""


@dataclass
class Chapter:
    """What the cells of one chapter refer to.

    Attributes:
        name: the file's, without suffix.
        number: the chapter's in the book, or "" if its part is not numbered.
        glued: the outputs' values, by name.
        figures, exercises: what is shown for a label, such as "Fig. 4.2".
        labels: targets in the text.
        unfinished: the title of the solution that a cell has begun and not ended.
    """

    name: str
    number: str = ""
    glued: dict[str, str] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    exercises: dict[str, str] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    unfinished: str = ""

    @property
    def page(self) -> str:
        """The address of the published page."""
        return f"{published()}book/{self.name}.html"


def resolve(notebook: Notebook, name: str) -> Notebook:
    """Return the notebook with plain Markdown, folded plotting code, and captions; outputs are shared, not copied.

    Args:
        notebook: as ``notebooks.read_text`` gives it, with outputs.
        name: of the chapter.

    Raises:
        Unresolved: naming the cell and what is left in it.
    """
    chapter = survey(notebook, name)
    result = nbformat.from_dict({**notebook, "cells": []})
    for cell in notebook.cells:
        result.cells += _cells(cell, chapter)
    first = f"*[The published page]({chapter.page}) has this chapter with pictures that move without a kernel.*"
    result.cells.insert(1, _added("page", first))
    return result


def survey(notebook: Notebook, name: str) -> Chapter:
    """Return what the chapter's cells refer to."""
    chapter = Chapter(name, chapter_numbers().get(name, ""))
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            _note_glued(output, chapter.glued)
        label = _figure(cell).get("name")
        if "caption" in _figure(cell):
            chapter.figures[label or cell.id] = _number("Fig.", chapter, len(chapter.figures))
        if cell.cell_type == "markdown":
            chapter.labels |= set(re.findall(rf"^{TARGET.pattern}$", cell.source, re.MULTILINE))
            for key in re.findall(r"^[`:]{3,}\{exercise(?:-start)?\}.*\n:label:\s*(\S+)", cell.source, re.MULTILINE):
                chapter.exercises[key] = _number("Exercise", chapter, len(chapter.exercises))
    return chapter


def leftovers(source: str) -> list[str]:
    """Return the roles, directives and targets that Markdown does not know, outside of code."""
    bare = re.sub(r"^(`{3,}|~{3,})(?!\{).*?^\1\s*$", "", source, flags=re.DOTALL | re.MULTILINE)
    return LEFT.findall(bare)


@cache
def chapter_numbers() -> dict[str, str]:
    """Return the chapters' numbers by name, as the book counts them: through all numbered parts."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [page["file"] for part in toc["parts"] if part.get("numbered") for page in part["chapters"]]
    return {Path(page).name: str(number) for number, page in enumerate(listed, start=1)}


# ------------------------------------------------------------------------------------------------------------ cells
def _cells(cell: Notebook, chapter: Chapter) -> Iterator[Notebook]:
    """Yield what one cell of the text becomes."""
    if cell.cell_type == "code":
        yield _folded(cell, hidden=bool(chapter.unfinished))
        if caption := _figure(cell).get("caption"):
            words = _inline(str(caption), chapter)
            number = chapter.figures[_figure(cell).get("name") or cell.id]
            yield _added(cell.id, _inside_solution(f"**{number}** {words}", chapter))
        return
    begun = chapter.unfinished
    source = _blocks(cell.source.split("\n"), chapter)
    if begun:  # the fold of an earlier cell goes on in this one
        source = f"{_fold(begun + ', continued')}{source}"
    if chapter.unfinished:
        if OPENED.search(source):  # the solution begins with code, which cannot stand inside of a fold
            source += CODE_FOLLOWS
        source += "\n\n</details>"
    if left := leftovers(source):
        raise Unresolved(f"{chapter.name}, cell {cell.id}: {left[0]!r} has no plain form in {source[:200]!r}")
    source = re.sub(EMPTY_FOLD, "", source)
    if source := re.sub(r"\n{3,}", "\n\n", source).strip("\n"):
        yield nbformat.from_dict({**cell, "source": source})


def _folded(cell: Notebook, *, hidden: bool) -> Notebook:
    """Return a code cell whose source is folded if the page does not show it, and all of it in a solution."""
    metadata = dict(cell.metadata)
    if hidden:
        metadata["jupyter"] = {"source_hidden": True, "outputs_hidden": True}
    elif FOLDED & set(metadata.get("tags", [])):
        metadata["jupyter"] = {"source_hidden": True}
        if "hide-cell" in metadata["tags"]:
            metadata["jupyter"]["outputs_hidden"] = True
    if "jupyter" in metadata:
        metadata["cellView"] = "form"  # what Colab calls it
    return nbformat.from_dict({**cell, "metadata": metadata})


def _added(key: str, source: str) -> Notebook:
    return nbformat.from_dict({"cell_type": "markdown", "id": f"{ADDED}{key}", "metadata": {}, "source": source})


def _inside_solution(source: str, chapter: Chapter) -> str:
    return f"{_fold(chapter.unfinished + ', figure')}{source}\n\n</details>" if chapter.unfinished else source


def _fold(title: str) -> str:
    return f"<details><summary>{title}</summary>\n\n"


def _figure(cell: Notebook) -> dict[str, Any]:
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    return dict(figure)


def _number(kind: str, chapter: Chapter, before: int) -> str:
    return f"{kind} {chapter.number}.{before + 1}" if chapter.number else f"{kind} {before + 1}"


def _note_glued(output: Notebook, glued: dict[str, str]) -> None:
    for kind, value in output.get("data", {}).items():
        if kind.startswith(RECORD):
            name = output.metadata["scrapbook"]["name"]
            if kind == f"{RECORD}text/plain":
                glued.setdefault(name, value.strip("'"))  # the repr of a string
            elif kind == f"{RECORD}text/markdown":
                glued[name] = value.strip()


# ----------------------------------------------------------------------------------------------------------- blocks
def _blocks(lines: list[str], chapter: Chapter) -> str:
    """Return lines of MyST as plain Markdown."""
    done: list[str] = []
    prose: list[str] = []
    place = 0

    def flush() -> None:
        done.append(_inline("\n".join(prose), chapter))
        prose.clear()

    while place < len(lines):
        line = lines[place]
        fence = FENCE.fullmatch(line.strip())
        if fence is None:
            if not TARGET.fullmatch(line):
                prose.append(line)
            place += 1
            continue
        end = _end(lines, place, fence["fence"])
        body = lines[place + 1 : end]
        flush()
        if fence["name"]:
            done.append(_directive(fence["name"], fence["rest"], body, chapter))
        else:
            done.append("\n".join(lines[place : end + 1]))
        place = end + 1
    flush()
    return "\n".join(part for part in done if part)


def _end(lines: list[str], start: int, fence: str) -> int:
    """Return the line that closes the fence of the line ``start``."""
    closing = re.compile(rf"\s*{re.escape(fence[0])}{{{len(fence)},}}\s*")
    for place in range(start + 1, len(lines)):
        if closing.fullmatch(lines[place]):
            return place
    raise Unresolved(f"{lines[start]!r} is not closed")


def _directive(name: str, title: str, body: list[str], chapter: Chapter) -> str:
    options = {}
    while body and (option := OPTION.fullmatch(body[0].strip())):
        options[option[1]] = option[2]
        body = body[1:]
    if name not in DIRECTIVES:
        raise Unresolved(f"{chapter.name}: the directive {name!r} has no plain form yet; add one to plain.DIRECTIVES")
    return DIRECTIVES[name](title, options, body, chapter)


def _margin(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    return _quote(title, body, chapter)


def _important(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    return _quote("Important", body if not title else [title, *body], chapter)


def _admonition(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    if "dropdown" in options.get("class", ""):
        return f"\n{_fold(_inline(title, chapter))}{_blocks(body, chapter).strip()}\n\n</details>\n"
    return _quote(title, body, chapter)


def _quote(title: str, body: list[str], chapter: Chapter) -> str:
    stop = "" if title.endswith(("?", "!", ".")) else "."
    head = f"**{_inline(title, chapter)}{stop}** " if title else ""
    text = head + _blocks(body, chapter).strip("\n")
    return "\n" + "\n".join(f"> {line}".rstrip() for line in text.split("\n")) + "\n"


def _exercise(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    name = f" ({_inline(title, chapter)})" if title else ""
    return f"\n**{chapter.exercises[options['label']]}**{name}\n\n{_blocks(body, chapter).strip()}\n"


def _solution(label: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    return f"\n{_fold(_solution_title(label, chapter))}{_blocks(body, chapter).strip()}\n\n</details>\n"


def _solution_start(label: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    chapter.unfinished = _solution_title(label, chapter)
    return f"\n{_fold(chapter.unfinished)}"


def _solution_end(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    chapter.unfinished = ""
    return "\n</details>\n"


def _solution_title(label: str, chapter: Chapter) -> str:
    return f"Solution to {chapter.exercises[label]}"


def _nothing(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    return ""


def _list_table(title: str, options: dict[str, str], body: list[str], chapter: Chapter) -> str:
    """Return a table with one header row; a cell is one paragraph."""
    rows: list[list[str]] = []
    for line in (line for line in body if line.strip()):
        if line.startswith("* - "):
            rows.append([line[4:]])
        elif line.startswith("  - "):
            rows[-1].append(line[4:])
        else:
            rows[-1][-1] += " " + line.strip()
    cells = [[_inline(cell, chapter).replace("|", r"\|") for cell in row] for row in rows]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n" + "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"


DIRECTIVES: dict[str, Callable[[str, dict[str, str], list[str], Chapter], str]] = {
    "margin": _margin,
    "important": _important,
    "note": _important,
    "admonition": _admonition,
    "dropdown": lambda title, options, body, chapter: _admonition(title, {"class": "dropdown"}, body, chapter),
    "exercise": _exercise,
    "exercise-start": _exercise,
    "exercise-end": _nothing,
    "solution": _solution,
    "solution-start": _solution_start,
    "solution-end": _solution_end,
    "list-table": _list_table,
}


# ----------------------------------------------------------------------------------------------------------- inline
def _inline(text: str, chapter: Chapter) -> str:
    """Return prose with roles and links resolved; inline code is left alone."""
    text = ROLE.sub(lambda match: _role(match[1], match[2], chapter), text)
    code_spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        code_spans.append(match[0])
        return f"\x00{len(code_spans) - 1}\x00"

    text = CODE.sub(keep, text)
    text = LINK.sub(lambda match: f"[{match['text']}]({_address(match['to'], chapter)})", text)
    return re.sub("\x00(\\d+)\x00", lambda match: code_spans[int(match[1])], text)


def _role(name: str, content: str, chapter: Chapter) -> str:
    if name in ("glue:text", "glue:md"):
        if content not in chapter.glued:
            raise Unresolved(f"{chapter.name}: nothing is glued as {content!r}")
        return chapter.glued[content]
    if name in ("cite:t", "cite:p"):
        links = [_citation(key.strip(), parenthesis=name == "cite:p") for key in content.split(",")]
        return f"({'; '.join(links)})" if name == "cite:p" else " and ".join(links)
    if name == "lights":  # what only the page can light
        return re.sub(r"\s*<\w+:[\w-]+>$", "", content)
    named = re.fullmatch(r"(?P<text>.*?)\s*<(?P<label>[\w-]+)>", content)
    label = named["label"] if named else content
    if name in ("numref", "ref"):
        known = {**chapter.figures, **chapter.exercises}
        words = named["text"] if named else known.get(label)
        if words is None or (label not in known and label not in chapter.labels):
            raise Unresolved(f"{chapter.name}: {{{name}}}`{content}` points to nothing in this chapter")
        return f"[{words.replace('%s', known.get(label, ''))}]({chapter.page}#{label})"
    raise Unresolved(f"{chapter.name}: the role {{{name}}} has no plain form yet; add one to plain._role")


def _address(to: str, chapter: Chapter) -> str:
    """Return where a link of the text leads, from outside of the book."""
    if re.match(r"[a-z]+:", to):
        return to
    place, _, mark = to.partition("#")
    page = place.removesuffix(".ipynb").removesuffix(".md").removesuffix(".html")
    if not place:
        return f"{chapter.page}#{mark}"
    if f"book/{page}" in pages():
        return f"{published()}book/{page}.html{'#' + mark if mark else ''}"
    if to in chapter.labels:
        return f"{chapter.page}#{to}"
    raise Unresolved(f"{chapter.name}: the link ({to}) leads to no page and no label of this chapter")


@cache
def _bibliography() -> Any:
    return pybtex.database.parse_file(BOOK / "references.bib").entries


def _citation(key: str, *, parenthesis: bool) -> str:
    """Return a citation by author and year, as a link to the work, or to the book's list."""
    if key not in _bibliography():
        raise Unresolved(f"{key!r} is not in references.bib")
    entry = _bibliography()[key]
    people = entry.persons.get("author") or entry.persons["editor"]
    last = [
        " ".join([*person.prelast_names, *person.last_names]).replace("{", "").replace("}", "") for person in people
    ]
    who = last[0] if len(last) == 1 else " and ".join(last) if len(last) == 2 else f"{last[0]} *et al.*"
    who = pybtex.richtext.Text.from_latex(who).render_as("text") if "\\" in who else who
    year = entry.fields["year"]
    return f"[{who}, {year}]({_work(entry)})" if parenthesis else f"[{who} ({year})]({_work(entry)})"


def _work(entry: Any) -> str:
    if doi := entry.fields.get("doi"):
        return f"https://doi.org/{doi}"
    if url := entry.fields.get("url"):
        return str(url)
    if number := re.search(r"arXiv:(\d{4}\.\d{4,5})", entry.fields.get("note", "")):
        return f"https://arxiv.org/abs/{number[1]}"
    return f"{published()}book/references.html"
