"""How the chapters read: words, pictures, explorables, the longest way from one picture to the next, short sentences.

    python book/_tools/rhythm.py [NAME ...]

A line counts if the page shows it unfolded: prose, formulas, and code that is not hidden. Solutions, dropdowns and the
code of figures do not. A picture is a figure or an explorable. A sentence counts if it stands in a paragraph that is
shown before the exercises; headings, captions, lists, tables and margins have none, and one that carries a displayed
formula is not short.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import nbformat
from notebooks import chapters, read_text

HIDDEN = {"hide-input", "remove-cell", "remove-input", "hide-cell"}
UNSEEN = {"remove-cell", "remove-output", "hide-cell", "hide-output"}  # with all that the code gives
SHOWN = re.compile(r"^explore\.\w+\(", re.MULTILINE)
BRIEF = 6  # words
DISPLAYED = re.compile(r"\s*(?:\$\$.*?\$\$|\\begin\{align\}.*?\\end\{align\})\s*", re.DOTALL)
# Inline formulas, code and roles are a word each, a link is what it says, and a point behind these names ends nothing.
AS_A_WORD = (
    (r"\$[^$]+\$|\{[\w:]+\}`[^`]*`|`[^`]+`", "X"),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"\b(Eqs?|App|Figs?|Sec|vs|e\.g|i\.e)\. ", r"\1 "),
)
ASIDE = re.compile(r"^(`{3,}|:{3,})\{margin\}.*?^\1$", re.DOTALL | re.MULTILINE)
NO_PARAGRAPH = re.compile(r"#|\||[-*] |\d+\. |:\w|\*Needs:|\([\w-]+\)=")
FORMULA = "\N{ASTERISM}"
BETWEEN = re.compile(rf"(?:(?<=[.?!])|(?<=[.?!][*_)\"])|(?<=[.?!]\*\*)|(?<={FORMULA}))\s+(?=[*_(\"]*[A-Z\d])")
FENCE = re.compile(r"\s*(?P<fence>`{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?(?P<rest>.*)")


@dataclass(frozen=True)
class Rhythm:
    """What one chapter is made of.

    Attributes:
        words: of prose, formulas and captions included, solutions included, code left out.
        pictures, explorables: how many of each.
        stretch: lines that are shown between one picture and the next, at most, beginning and end of the page included.
        where: the first of these lines.
        sentences: those of its paragraphs, displayed formulas as ``FORMULA``.
    """

    words: int
    pictures: int
    explorables: int
    stretch: int
    where: str
    sentences: tuple[str, ...]

    @property
    def brief(self) -> tuple[str, ...]:
        """The sentences of at most ``BRIEF`` words."""
        return tuple(
            sentence for sentence in self.sentences if FORMULA not in sentence and len(sentence.split()) <= BRIEF
        )


def rhythm(name: str) -> Rhythm:
    """Measure book/myst/NAME.md."""
    return of_cells(read_text(name).cells)


def of_cells(cells: list[nbformat.NotebookNode]) -> Rhythm:
    """Measure a chapter's cells."""
    words = pictures = explorables = 0
    stretches: list[list[str]] = [[]]
    shown_lines: list[str] = []
    folded = False
    for cell in cells:
        if cell.cell_type == "code":
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            moves = SHOWN.search(cell.source) and not UNSEEN & set(cell.metadata.get("tags", []))
            words += len(str(figure.get("caption", "")).split())
            pictures, explorables = pictures + bool(figure), explorables + bool(moves)
            if (figure or moves) and not folded:
                stretches.append([])
            elif not folded and not HIDDEN & set(cell.metadata.get("tags", [])):
                stretches[-1] += [line for line in cell.source.split("\n") if line.strip()]
            continue
        words += len(cell.source.split())
        shown_lines += [line for line in unfolded(ASIDE.sub("", cell.source), folded) if isinstance(line, str)] + [""]
        for line in unfolded(cell.source, folded):
            if isinstance(line, bool):
                folded = line
            elif line.strip():
                stretches[-1].append(line)
    longest = max(stretches, key=len)
    where = longest[0] if longest else ""
    return Rhythm(words, pictures, explorables, len(longest), where, sentences("\n".join(shown_lines)))


def sentences(told: str) -> tuple[str, ...]:
    """Split the paragraphs of a shown text into sentences; what a formula interrupts goes on behind it."""
    text = DISPLAYED.sub(f" {FORMULA} ", told.split("\n## Exercises")[0])
    for pattern, word in AS_A_WORD:
        text = re.sub(pattern, word, text)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    body = [part for part in paragraphs if part and not NO_PARAGRAPH.match(part)]
    return tuple(
        sentence
        for part in body
        for sentence in BETWEEN.split(part)
        if re.search(rf"[.?!{FORMULA}][*_)\"]*$", sentence)
    )


def unfolded(source: str, folded: bool) -> Iterator[str | bool]:
    """Yield the lines that are shown, and True or False where a solution of several cells begins or ends."""
    inside: list[tuple[str, bool]] = []  # open fences, and whether they fold
    for line in source.split("\n"):
        fence = FENCE.fullmatch(line)
        if (
            fence
            and inside
            and not fence["name"]
            and not fence["rest"].strip()
            and len(fence["fence"]) >= len(inside[-1][0])
        ):
            inside.pop()
        elif fence and fence["name"] in ("solution-start", "solution-end"):
            folded = fence["name"] == "solution-start"
            inside.append((fence["fence"], True))
            yield folded
        elif fence:
            inside.append((fence["fence"], fence["name"] in ("solution", "dropdown")))
        elif inside and line.strip() == ":class: dropdown":
            inside[-1] = (inside[-1][0], True)
        elif not folded and not any(folds for _, folds in inside):
            yield line


def main(names: list[str]) -> None:
    """Print a table of the chapters."""
    print(f"{'chapter':18}{'words':>7}{'pictures':>10}{'explorables':>13}{'longest stretch':>17}{'brief':>7}")
    for name in names or chapters():
        measured = rhythm(name)
        numbers = f"{measured.words:7}{measured.pictures:10}{measured.explorables:13}{measured.stretch:17}"
        print(f"{name:18}{numbers}{len(measured.brief) / len(measured.sentences):7.1%}  {measured.where[:60]}")


if __name__ == "__main__":
    main(sys.argv[1:])
