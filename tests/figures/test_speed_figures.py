"""Stored benchmark tables say the numbers they were given, by name, in HTML and in figures."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from readable import assert_readable

from benchmarks.report import Report, store
from lossnav import figures, records
from lossnav.figures import speed, tables

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


def drawn(ax, labelled=None):
    """Marks by the row they lie in: (position, colour, whether filled)."""
    labelled = labelled or ax
    words = [t.get_text() for t in labelled.get_yticklabels()]
    labels = dict(zip(np.round(labelled.get_yticks(), 6), words, strict=True))
    found = {}
    for line in ax.lines:
        if len(line.get_xdata()) == 1:
            (x,), (y,) = line.get_xdata(), line.get_ydata()
            found.setdefault((round(y, 6), labels[round(y, 6)]), []).append(
                (x, line.get_color(), line.get_markerfacecolor() != "white")
            )
    return found


def bars(ax):
    return {tuple(line.get_xdata()) for line in ax.lines if line.get_linewidth() == 4.0}


def test_optimizers_lie_in_the_order_of_their_times(make):
    columns = ["one step", "of fused Adam", *QUARTILES, "GB/s"]
    rows = [
        ["add: two streams in, one out", 0.6, 0.5, 0.7, 35.0],
        ["Ballistic, fused", 0.75, 0.7, 0.8, 46.0],
        ["torch Adam, foreach", 5.0, 4.0, 6.0, 9.0],
        ["torch Adam, fused", 1.0, 1.0, 1.0, 47.0],
        ["pytorch_optimizer AdaBelief", 8.0, 7.0, 9.0, 6.0],
    ]
    figure = speed.optimizers(make(columns, [".3f", ".3f", ".3f", ".1f"], rows))
    left, right = figure.axes
    found = drawn(left)
    assert [label for _, label in sorted(found, reverse=True)] == [
        "add", "Ballistic, fused", "torch Adam, fused", "torch Adam, foreach", "AdaBelief"
    ]  # fmt: skip
    by_label = {label: marks for (_, label), marks in found.items()}
    assert by_label["Ballistic, fused"] == [(0.75, figures.COLOURS["ballistic"], True)]
    assert by_label["torch Adam, foreach"] == [(5.0, figures.COLOURS["adam"], False)]
    assert by_label["AdaBelief"] == [(8.0, figures.COLOURS["loss"], False)]
    assert (0.7, 0.8) in bars(left) and (4.0, 6.0) in bars(left)
    assert left.get_xscale() == "log" and left.get_xlabel() == "time / fused Adam's"
    speeds = {label: marks[0][0] for (_, label), marks in drawn(right, left).items()}
    assert speeds["add"] == 35.0 and speeds["torch Adam, fused"] == 47.0
    assert any(line.get_linestyle() == ":" and set(line.get_xdata()) == {35.0} for line in right.lines)
    assert_readable(figure)


def test_seeds_show_both_ways_and_the_goal(make):
    columns = ["network, rule", "ratio", *QUARTILES, "ratio of vmap"]
    rows = [["4-2, SGD", 4.2, 4.0, 4.4, 2.8], ["4-2, Adam", 4.8, 4.7, 5.0, 3.5], ["4-4-2, SGD", 3.8, 3.7, 3.9, 2.7]]
    figure = speed.seeds(make(columns, [".1f"] * 4, rows))
    (ax,) = figure.axes
    found = [marks for _, marks in sorted(drawn(ax).items(), reverse=True)]
    assert [[(x, filled) for x, _, filled in marks] for marks in found] == [
        [(2.8, False), (4.2, True)], [(3.5, False), (4.8, True)], [(2.7, False), (3.8, True)]
    ]  # fmt: skip
    texts = [t.get_text() for t in ax.texts]
    assert texts == ["4-2", "4.2", "4.8", "4-4-2", "3.8"]
    assert any(line.get_linestyle() == ":" and set(line.get_xdata()) == {3.0} for line in ax.lines)
    assert_readable(figure)


def test_what_auto_takes_is_the_filled_mark(make):
    columns = ["one step", "images/s", "times the plain speed", *QUARTILES, "chosen by"]
    rows = [
        ["cnn: float32, contiguous", 300.0, 1.0, 1.0, 1.0, None],
        ["cnn: bfloat16, x", 1100.0, 3.6, 3.5, 3.7, "auto"],
        ["vit: float32, contiguous", 200.0, 1.0, 1.0, 1.0, "auto"],
    ]
    figure = speed.steps(make(columns, [",.0f", ".2f", ".2f", ".2f", "s"], rows))
    (ax,) = figure.axes
    found = {label: marks for (_, label), marks in drawn(ax).items()}
    assert found["bfloat16, x"] == [(3.6, figures.COLOURS["ballistic"], True)]
    assert {t.get_text() for t in ax.texts} == {"cnn", "vit", "300", "1,100", "200", "images/s"}
    filled = [(x, f) for (_, label), marks in sorted(drawn(ax).items(), reverse=True) for x, _, f in marks]
    assert filled == [(1.0, False), (3.6, True), (1.0, True)]
    assert_readable(figure)


def test_pipelines_and_updates(make):
    rows = [["flip: ours", 0.8, 0.7, 0.9], ["flip: DataLoader", 4.0, 3.9, 4.1], ["plain: ours", 0.2, 0.2, 0.2]]
    (ax,) = speed.pipelines(make(["a batch", "ms", *QUARTILES], [".2f"] * 3, rows)).axes
    marks = [(x, filled) for _, found in sorted(drawn(ax).items(), reverse=True) for x, _, filled in found]
    assert marks == [(0.8, True), (4.0, False), (0.2, True)] and (3.9, 4.1) in bars(ax)
    rows = [[f"D = {d}, h = {h}", r, r / 2, 2 * r] for h in ("1 … 2", "1 … 9") for d, r in ((2, 0.3), (400, 5.0))]
    figure = speed.update(make(["problem", "ratio", *QUARTILES], [".1f"] * 3, rows))
    (ax,) = figure.axes
    assert [label for _, label in sorted(drawn(ax), reverse=True)] == ["D = 2", "D = 400"] * 2
    assert [t.get_text() for t in ax.texts if t.get_text().startswith("h")] == ["h = 1 … 2", "h = 1 … 9"]
    assert (2.5, 10.0) in bars(ax)
    assert_readable(figure)


def test_eigenpairs_are_drawn_against_each_rival(make):
    rows = [
        ["a product: graph kept", None, None, None],
        ["a product: torch.func", 2.0, 1.9, 2.1],
        ["3 largest: eigenpairs", None, None, None],
        ["3 largest: ARPACK", 1.5, 1.2, 1.6],
        ["3 largest: LOBPCG", 12.0, None, None],
    ]
    figure = speed.eigenpairs(make(["task", "ours is faster", *QUARTILES], [".1f"] * 3, rows))
    (ax,) = figure.axes
    found = [(label, marks[0][0]) for (_, label), marks in sorted(drawn(ax).items(), reverse=True)]
    assert found == [("torch.func", 2.0), ("ARPACK", 1.5), ("LOBPCG", 12.0)]
    assert [t.get_text() for t in ax.texts] == ["a product", "2.0", "3 largest", "1.5", "12.0"]
    assert (1.2, 1.6) in bars(ax)
    assert_readable(figure)
