"""Rows in the place of a table show what they were given, and their labels can be read."""

from __future__ import annotations

import numpy as np
import pytest

from lossnav.figures import rows as pictures

NEAR = {"one": [1.0, 2.0, 3.0], "two": [2.0], "three": [4.0, 2.0]}
FAR = {"two": [0.1, 0.2], "one": [30.0], "three": [4.0]}
RULES = {"one": "newton", "two": "adam", "three": "sgd"}


def drawn(ax, mark):
    """Where each row of a panel has marks of one kind."""
    points = [(x, y) for line in ax.lines if line.get_marker() == mark for x, y in np.column_stack(line.get_data())]
    return {row: [x for x, y in points if y == row] for row in range(3)}


def test_dots_are_seeds_marks_are_means_and_a_wide_panel_is_logarithmic():
    figure = pictures.compared({"near": NEAR, "far": FAR, "last": NEAR}, RULES, {"far": {"one": 20.0}}, {"near": 2.5})
    near, far, last = figure.axes
    assert [ax.get_xlabel() for ax in (near, far, last)] == ["near", "far", "last"]
    assert {round(ax.get_position().y0, 6) for ax in figure.axes} == {round(near.get_position().y0, 6)}  # in one row
    assert [ax.get_xscale() for ax in (near, far, last)] == ["linear", "log", "linear"]
    assert [tick.get_text() for tick in near.get_yticklabels()] == ["one", "two", "three"]
    assert drawn(near, ".") == {0: [1.0, 2.0, 3.0], 1: [], 2: [4.0, 2.0]}
    means = [next(x for m in "osD^vP*Xhd<>" for x in drawn(near, m)[row]) for row in range(3)]
    assert means == [2.0, 2.0, 3.0]
    assert drawn(far, ".")[1] == [0.1, 0.2] and drawn(far, "|") == {0: [20.0], 1: [], 2: []}  # by name, not by place
    assert any(list(line.get_xdata()) == [2.5, 2.5] for line in near.lines)
    assert near.get_ylim()[0] > near.get_ylim()[1]  # the first row on top


def test_panels_of_one_quantity_have_one_range_and_their_names_above():
    figure = pictures.compared({"near": NEAR, "far": FAR}, RULES, lines={"near": 2.5}, shared="an error")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a   near", "b   far"]
    assert figure.get_supxlabel() == "an error" and not any(ax.get_xlabel() for ax in figure.axes)
    near, far = figure.axes
    assert near.get_xlim() == far.get_xlim() and near.get_xscale() == far.get_xscale() == "log"


def test_rows_and_quantities_that_are_not_drawn_are_refused():
    with pytest.raises(ValueError, match=r"panels\['b'\] has 1 rows, but the first panel has 3"):
        pictures.compared({"a": NEAR, "b": {"one": [1.0]}}, RULES)
    with pytest.raises(ValueError, match=r"a row of panels\['b'\] = 'four', but it must be one of 'one', 'two'"):
        pictures.compared({"a": NEAR, "b": {"one": [1.0], "two": [2.0], "four": [1.0]}}, RULES)
    with pytest.raises(ValueError, match="a quantity of said = 'b', but it must be one of 'a'"):
        pictures.compared({"a": NEAR}, RULES, {"b": {"one": 1.0}})
    with pytest.raises(ValueError, match="a quantity of lines = 'b'"):
        pictures.compared({"a": NEAR}, RULES, lines={"b": 1.0})
    with pytest.raises(ValueError, match="a row of rules = 'one', but it must be one of 'two'"):
        pictures.compared({"a": NEAR}, {"two": "adam"})
