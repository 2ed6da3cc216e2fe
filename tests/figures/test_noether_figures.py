"""The figures of the symmetry chapter show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from readable import assert_readable, data

import lossnav as ln
from lossnav.figures import noether as pictures

STEPS = np.arange(400)
T = np.linspace(0.0, 6.0, 61)
PRODUCT = ln.losses.Function(lambda x: (x[..., 0] * x[..., 1] - 1) ** 2, dim=2)


def test_charges_and_layers_and_averages_draw_their_numbers():
    total, pairs = np.exp(-STEPS / 100), np.outer(np.exp(-STEPS / 300), [1.0, -0.5])
    figure = pictures.charges((total, total), (pairs, pairs), every=50)
    np.testing.assert_allclose(data(figure.axes[0])[:, 1], total)
    np.testing.assert_allclose(data(figure.axes[1], 1)[:, 1], pairs[::50, 0])
    assert_readable(figure)
    sizes = {name: (top + np.tanh(STEPS / 50), top + np.tanh(STEPS / 50)) for name, top in (("one", 9.0), ("two", 3.0))}
    angles = {name: 1 + np.exp(-np.arange(8.0)) for name in sizes}
    figure = pictures.layers(sizes, angles, {"one": np.array([0.99, 1.0, 1.02])})
    np.testing.assert_allclose(data(figure.axes[0])[:, 1] ** 2, sizes["one"][1])
    np.testing.assert_allclose(data(figure.axes[1])[:, 0], 50 * (np.arange(8) + 0.5))
    assert sum(patch.get_height() for patch in figure.axes[2].patches) == 3
    assert_readable(figure)
    law = {"printed": 9 + np.tanh(STEPS / 90), "white": 2 + np.tanh(STEPS / 90)}
    figure = pictures.averages(STEPS, (law["white"], law["white"]), (law, law), ("a", "b"))
    np.testing.assert_allclose(data(figure.axes[1])[:, 1], law["printed"])
    assert figure.axes[1].get_yscale() == "log"
    assert_readable(figure)


def test_fields_run_along_the_contours():
    axis = np.linspace(-2, 2, 40)
    a, b = np.meshgrid(axis, axis)
    figure = pictures.fields(
        axis, {"one": (a - b, np.stack([a * 0 + 1, a * 0 + 1], -1)), "two": (a * b, np.stack([a, -b], -1))}
    )
    (arrows,) = [artist for artist in figure.axes[1].collections if hasattr(artist, "U")]
    np.testing.assert_allclose(arrows.U, arrows.X)
    np.testing.assert_allclose(arrows.V, -arrows.Y)
    assert_readable(figure)


def test_drops_of_the_rate_draw_their_numbers():
    law = 1 - np.exp(-STEPS / 90) / 2
    sizes = {name: (top - np.tanh(STEPS / 50), top - np.tanh(STEPS / 50)) for name, top in (("one", 9.0), ("two", 3.0))}
    figure = pictures.drops(sizes, dict.fromkeys(sizes, law[::8]), law)
    np.testing.assert_allclose(data(figure.axes[0])[:, 1] ** 2, sizes["one"][1])
    np.testing.assert_allclose(data(figure.axes[1], 2)[:, 1], law)
    np.testing.assert_allclose(data(figure.axes[1], 1)[:, 1], law[::8])
    assert_readable(figure)


def test_planes_draw_their_paths():
    road = np.stack([2 + 0.07 * np.tanh(T), 0.1 + 0.38 * np.tanh(T)], axis=1)
    ray = np.stack([2 + T, 0.1 + T / 20], axis=1)
    figure = pictures.imbalance(
        PRODUCT,
        {"gradient flow": ("gradient descent", road - [0.01, 0]), "Euclidean": ("optimal", road),
         "relative": ("kinetic", ray)},
        [road], {"low": ("newton", T, 0 * T + 1.0), "high": ("optimal", T, 2 + np.tanh(T))},
    )  # fmt: skip
    np.testing.assert_allclose(data(figure.axes[0], 2), road)
    assert_readable(figure)
    circle = 1.3 * np.stack([np.cos(1 - T / 8), np.sin(1 - T / 8)], axis=1)
    norms = {"grows": ("gradient descent", T, 1.3 + T / 9), "stays": ("optimal", T, 0 * T + 1.3)}
    figure = pictures.cones({"stays": ("optimal", circle)}, norms)
    np.testing.assert_allclose(data(figure.axes[0]), circle)
    assert_readable(figure)
    figure = pictures.ring({"x": ("optimal", circle)}, {"x": ("optimal", T, 0 * T), "y": ("newton", T, 0 * T + 1)})
    np.testing.assert_allclose(data(figure.axes[1], 1)[:, 1], 1.0)
    assert_readable(figure)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="total"):
        pictures.charges((STEPS, STEPS[1:]), (np.ones((400, 2)), np.ones((400, 2))))
    with pytest.raises(ValueError, match="norms"):
        pictures.cones({"x": ("optimal", np.ones((3, 2)))}, {"x": ("optimal", T, -T)})
