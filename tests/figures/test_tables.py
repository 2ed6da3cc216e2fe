"""Stored benchmark tables say the numbers they were given, by name, and in HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from benchmarks.report import Report, store
from lossnav import records
from lossnav.figures import tables

QUARTILES = ["1st quartile", "3rd"]


@pytest.fixture
def make(tmp_path):
    """A table through the same door as real ones: a report that is stored and read again."""

    def stored(columns, formats, rows, checks=None, notes=()):
        report = Report(columns, formats, rows, checks or {"fast": True}, {"rounds": 3}, "a machine", notes)
        return tables.load(store(report, "thing", "python -m benchmarks thing", 1.5, "quiet", tmp_path))

    return stored


@pytest.fixture
def table(make):
    return make(
        ["way", "ms", *QUARTILES, "GB/s", "remark"], [".2f", ".2f", ".2f", ".0f", "s"],
        [["one <&>", 1.234, 1.1, 1.3, 45.6, "auto"], ["two", 10.0, None, None, None, None]],
        {"at most 2: 1.23": True, "at least 50 <GB/s>": False}, ["taken in turns"],
    )  # fmt: skip


def test_numbers_by_name(table):
    assert list(table) == ["one <&>", "two"] and table.shown == ["way", "ms", "GB/s", "remark"]
    assert table.value("one <&>", "ms") == 1.234 and table.interval("one <&>", "ms") == tables.Interval(1.1, 1.234, 1.3)
    assert (table.text("one <&>", "ms"), table.spread("one <&>", "ms")) == ("1.23", "(1.10 … 1.30)")
    assert (table.text("two", "GB/s"), table.spread("two", "ms"), table.text("two", "remark")) == ("", "", "")
    assert table.value("two", "GB/s") is None


@pytest.mark.parametrize(("row", "column"), [("three", "ms"), ("two", "3rd"), ("two", "ms"), ("one <&>", "GB/s")])
def test_what_is_not_there_is_named(table, row, column):
    with pytest.raises(ValueError, match=r"^(row|column) = "):
        table.interval(row, column)


def test_another_record_is_no_table(tmp_path):
    record = records.new(command="python other.py", config={}, seeds=[0], data={"label": "d"}, results=[1.0],
                         duration=1.0, device="cpu")  # fmt: skip
    records.save(tmp_path / "other.json", record)
    with pytest.raises(ValueError, match=r"python other\.py.*must hold a benchmark's table"):
        tables.load(tmp_path / "other.json")


class Cells(HTMLParser):
    """The texts of a table's cells, row by row, and all other texts."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.rest, self.open = [], [], []
        self.feed(html)
        assert not self.open, "tags that are not closed"

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += text
        else:
            self.rest.append(text)


def test_a_page_shows_every_number_and_where_it_is_from(table):
    cells = Cells(table._repr_html_())
    assert cells.rows == [
        ["way", "ms", "GB/s", "remark"], ["one <&>", "1.23 (1.10 … 1.30)", "46", "auto"], ["two", "10.00", "", ""]
    ]  # fmt: skip
    text = "\n".join(cells.rest)
    for fact in ("python -m benchmarks thing", "measured on a machine, in 2 s; load: quiet", "taken in turns",
                 table.record.revision[:12], "✓ at most 2: 1.23", "✗ missed: at least 50 <GB/s>"):  # fmt: skip
        assert fact in text
    assert "1.23 (1.10 … 1.30)" in repr(table) and repr(table).endswith("python -m benchmarks thing")
