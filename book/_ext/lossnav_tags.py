r"""Which numbered equations a text states: one reader of ``\tag{…}`` for the book and for the ledger's test.

A tag holds the source's own number: ``\tag{6}`` (LossNav paper), ``\tag{K15}``, ``\tag{T29}`` (its companions),
``\tag{L12}``, ``\tag{M3}``, ``\tag{W8}`` (this book), several that are one statement ``\tag{2, 66}``, or a range
``\tag{38–40}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SOURCES: dict[str, Sequence[int]] = {
    "V": range(1, 150), "K": range(1, 52), "T": range(19, 34), "L": range(1, 28), "M": range(1, 26),
    "W": range(1, 30),
    "I": (3, 4, 5, 7, 10, 23, 24),
    "N": (3, 17, 19, 20),
}  # fmt: skip

_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")
_PART = re.compile(r"([VKTLMWIN]?)(\d+)(?:\s*(?:–|—|-{1,2})\s*([VKTLMWIN]?)(\d+))?")
_FENCE = re.compile(r"\s*(?:>\s*)*(`{3,}|~{3,}|:{3,})\s*(.*?)\s*$")
_CODE = re.compile(r"\{(?:code-cell|code|code-block|literalinclude|raw|raw-cell|eval-rst)\b")
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


class Tag(NamedTuple):
    """One ``\\tag``: the line it is on (from 1), what it holds, and the labels, such as V2 and V66."""

    line: int
    content: str
    labels: list[str]


def all_labels() -> list[str]:
    """Return the labels of all numbered equations of the sources, in order."""
    return [f"{letter}{number}" for letter, numbers in SOURCES.items() for number in numbers]


def parse_tag(content: str) -> list[str]:
    """Return the labels that the content of one ``\\tag{…}`` names.

    Raises:
        ValueError: if it is not a list of equation numbers or ranges.
    """
    labels: list[str] = []
    for part in content.split(","):
        match = _PART.fullmatch(part.strip())
        if not match:
            raise ValueError(f"\\tag{{{content}}}: {part.strip()!r} is not an equation number such as 6, K15 or 38–40")
        letter, first, other, last = match.groups()
        letter, stop = letter or "V", int(last or first)
        if (other and other != letter) or stop < int(first):
            raise ValueError(f"\\tag{{{content}}}: {part.strip()!r} is not a range of one source, low to high")
        labels += [f"{letter}{number}" for number in range(int(first), stop + 1)]
    return labels


def tags_in_math(formula: str) -> list[Tag]:
    """Return the tags of one formula; ``line`` counts within it."""
    tags = []
    for match in _TAG.finditer(formula):
        line = formula.count("\n", 0, match.start()) + 1
        tags.append(Tag(line, match.group(1), parse_tag(match.group(1))))
    return tags


def without_tags(formula: str) -> str:
    """Return the formula without its tags."""
    return _TAG.sub("", formula)


def tags_in_markdown(text: str) -> list[Tag]:
    """Return the tags of a MyST page; what stands in code, fenced or inline, does not count."""
    tags = []
    for number, line in _prose(text):
        for match in _TAG.finditer(_INLINE_CODE.sub("", line)):
            tags.append(Tag(number, match.group(1), parse_tag(match.group(1))))
    return tags


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) outside code. Directives such as {margin} or {exercise} hold prose."""
    fences: list[tuple[str, bool]] = []  # of each open fence: its marker, and whether it holds code
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        in_code = bool(fences) and fences[-1][1]
        if match:
            marker, info = match.groups()
            if fences and not info and marker[0] == fences[-1][0][0] and len(marker) >= len(fences[-1][0]):
                fences.pop()
                continue
            if not in_code and info:
                fences.append((marker, _is_code(marker, info)))
                continue
            if not in_code and marker[0] != ":":
                fences.append((marker, True))
                continue
        if not in_code:
            yield number, line


def _is_code(marker: str, info: str) -> bool:
    return bool(_CODE.match(info)) or (marker[0] != ":" and not info.startswith("{"))
