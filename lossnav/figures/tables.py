"""Stored benchmark tables: their numbers by name, and the tables themselves for a page.

The first column names the contenders. A column that is followed by "1st quartile" and "3rd" holds medians, and is shown
together with these two as one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from lossnav import _checks
from lossnav.lab import records
from lossnav.lab.records import Record

_QUARTILES = ["1st quartile", "3rd"]


@dataclass(frozen=True)
class Interval:
    """A median between its quartiles."""

    low: float
    median: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "median", "high"):
            _checks.finite(name, getattr(self, name))


class Table:
    """A stored table.

    Args:
        record: what ``python -m benchmarks`` has stored.

    Raises:
        ValueError: it is a record of something else.
    """

    def __init__(self, record: Record) -> None:
        _checks.instance("record", record, Record, "a records.Record")
        try:
            self.columns: list[str] = record.results["columns"]
            self.formats: list[str] = ["", *record.results["formats"]]
            self.rows: dict[str, list[Any]] = {row[0]: row for row in record.results["rows"]}
            self.checks: dict[str, bool] = record.results["checks"]
            self.notes: list[str] = record.results["notes"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"record = that of {record.command!r}, but it must hold a benchmark's table") from error
        self.record = record

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names of the contenders."""
        return iter(self.rows)

    @property
    def shown(self) -> list[str]:
        """Names of the columns, without quartiles."""
        return [name for name in self.columns if name not in _QUARTILES]

    def value(self, row: str, column: str) -> Any:
        """Return a number (a median, where there are quartiles), or None where the table has none."""
        return self._cells(row, column)[0]

    def interval(self, row: str, column: str) -> Interval:
        """Return a median and its quartiles.

        Raises:
            ValueError: the column has none, or the row has none in it.
        """
        median, low, high = self._cells(row, column)
        if None in (median, low, high):
            raise ValueError(f"column = {column!r}, but {row!r} has no quartiles there")
        return Interval(low, median, high)

    def text(self, row: str, column: str) -> str:
        """Return what the table prints: "0.75", or "" where there is nothing."""
        value = self.value(row, column)
        return "" if value is None else format(value, self.formats[self.columns.index(column)])

    def spread(self, row: str, column: str) -> str:
        """Return the quartiles as the table prints them, "(0.68 … 0.85)", or "" where there are none."""
        _, *quartiles = self._cells(row, column)
        if None in quartiles:
            return ""
        place = self.columns.index(column)
        low, high = (format(x, f) for x, f in zip(quartiles, self.formats[place + 1 : place + 3], strict=True))
        return f"({low} … {high})"

    def provenance(self) -> list[str]:
        """Return where, how and by which code it was measured, a fact an entry."""
        return [
            f"measured on {self.record.device}, in {self.record.duration:.0f} s; load: {self.record.config['load']}",
            *self.notes,
            f"code {self.record.code}",
        ]

    def __repr__(self) -> str:
        """Return the table as text."""
        cells = [self.shown] + [
            [row, *(" ".join(filter(None, (self.text(row, c), self.spread(row, c)))) for c in self.shown[1:])]
            for row in self
        ]
        widths = [max(len(line[k]) for line in cells) for k in range(len(self.shown))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
        return "\n".join([*(line.rstrip() for line in lines), self.record.command])

    def _repr_html_(self) -> str:
        """Return the table for a page: numbers, command and provenance, and what was to be met."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.shown)
        body = "".join(f"<tr>{self._row(row)}</tr>" for row in self)
        met = "".join(f"<li>{'✓' if ok else '✗ missed:'} {escape(words)}</li>" for words, ok in self.checks.items())
        facts = "<br>".join(escape(fact) for fact in self.provenance())
        label = escape(f"{self.columns[0]}: table")
        return (
            f'<div class="benchmark"><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f"<p><code>{escape(self.record.command)}</code><br>{facts}</p><p>To be met:</p><ul>{met}</ul></div>"
        )

    def _row(self, row: str) -> str:
        cells = [f'<th scope="row">{escape(row)}</th>']
        for column in self.shown[1:]:
            spread = self.spread(row, column)
            small = f" <small>{escape(spread)}</small>" if spread else ""
            cells.append(f"<td>{escape(self.text(row, column))}{small}</td>")
        return "".join(cells)

    def _cells(self, row: str, column: str) -> list[Any]:
        """Return a number and its quartiles, each of them perhaps None."""
        _checks.one_of("row", row, tuple(self.rows))
        _checks.one_of("column", column, tuple(self.shown))
        place, line = self.columns.index(column), self.rows[row]
        if self.columns[place + 1 : place + 3] == _QUARTILES:
            return line[place : place + 3]
        return [line[place], None, None]


def load(path: str | os.PathLike[str]) -> Table:
    """Read a stored table.

    Raises:
        FileNotFoundError: there is none.
        ValueError: the file holds no table that can be read.
    """
    return Table(records.load(path))
