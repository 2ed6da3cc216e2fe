"""What figures take is checked before they draw, and an error says where in a nested argument it is wrong."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lossnav.figures import _takes as of
from lossnav.figures import adaptive, geometry, momentum, quadratic, training
from lossnav.lab.training import History


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quadratic.rates([1.0, 2.0], {"newton": ("x", [1.0, np.nan])}), r"^curves\['newton'\]\[1\] = .*finite"),
        (lambda: quadratic.rates([1.0, 2.0], {"newton": ("x", [1.0])}), r"\['newton'\]\[1\] has length 1, .*ratio"),
        (lambda: quadratic.rates([1.0, 2.0], {"newton": ("x",)}), r"curves\['newton'\] = .*2 entries"),
        (lambda: quadratic.rates([1.0, 2.0], {"nobody": ("x", [1.0, 2.0])}), r"a rule of curves = 'nobody'"),
        (lambda: momentum.phase_planes({"x": ("newton", np.eye(2))}, 1.0, []), "paths = "),
        (lambda: quadratic.preconditioner([1.0], [1.0], {"newton": ("x", [1.0])}, [2.0]), "breaks has 1 .*must have 0"),
        (lambda: training.first_steps(1.0, {"ballistic": [History(step_loss=[1.0])]}, 1), r"beta = 1.0.*\[0, 1\)"),
        (lambda: adaptive.race({"adam": [History(step_loss=[1.0])]}, "x"), r"runs\['adam'\]\[0\].test_accuracy"),
        (lambda: geometry.spectra({("log", -1): [1.0]}), "a key of values.*-1"),
    ],
)
def test_the_place_of_what_is_wrong_is_named_and_nothing_is_drawn(call, words):
    with pytest.raises(ValueError, match=words):
        call()
    assert not plt.get_fignums()


def test_letters_bind_within_a_call_and_not_between_calls_or_parts():
    @of.takes(x=of.reals("N"), y=of.reals("N"), z=of.many(of.apart(of.row(of.reals("N"), of.reals("N")))))
    def sizes(x, y, z):
        return len(x), len(y), [len(one) for one, _ in z]

    assert sizes([1, 2], [3, 4], [([1], [2]), ([1, 2, 3], [1, 2, 3])]) == (2, 2, [1, 3])
    assert sizes([1], y=[3], z=[([1], [2])]) == (1, 1, [1])
    with pytest.raises(ValueError, match="y has length 1, but it must be that of x, 2"):
        sizes([1, 2], [3], [([1], [2])])
    with pytest.raises(ValueError, match=r"z\[0\]\[1\] has length 2, but it must be that of z\[0\]\[0\], 1"):
        sizes([1], [3], [([1], [2, 3])])


def test_a_figure_and_what_it_says_to_take_have_the_same_arguments():
    with pytest.raises(TypeError, match="draw has the arguments"):

        @of.takes(x=of.NUMBER)
        def draw(x, y):
            return x, y


def test_one_panel_is_a_figure_too():
    """Lists of any length are taken where nothing says otherwise, so one entry draws one panel."""
    path = np.array([[1.0, 0.5], [0.0, 0.0]])
    assert len(momentum.phase_planes({"x": ("newton", np.eye(2))}, 1.0, [path]).axes) == 1
    assert len(training.diagonal([(0.0, np.eye(2), {"ballistic": path})]).axes) == 1
