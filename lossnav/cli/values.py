"""Words of the command line as values."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable
from typing import Any


def value(word: str) -> Any:
    """Return a number, a list, true, false or none where the word is one, and the word itself where it is not."""
    names = {"true": True, "false": False, "none": None, "inf": float("inf"), "-inf": float("-inf")}
    if word.lower() in names:
        return names[word.lower()]
    try:
        return ast.literal_eval(word)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # all that its documentation names
        return word


def number_or_none(word: str) -> float | None:
    """Return a number, or None for "none"."""
    try:
        return None if word.lower() == "none" else float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is neither a number nor none") from None


def pair(word: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE."""
    name, equals, rest = word.partition("=")
    if not equals or not name or not rest:
        raise argparse.ArgumentTypeError(f"{word!r} is not NAME=VALUE")
    return name, value(rest)


def vector(word: str) -> list[float]:
    """Return the numbers of A,B,…"""
    try:
        return [float(entry) for entry in word.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a list of numbers A,B,…") from None


def table(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of words in aligned columns."""
    lines = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(w.ljust(n) for w, n in zip(line, widths, strict=True)).rstrip() for line in lines)
