"""The figures of the chapter on acceleration show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from readable import assert_readable, data

from lossnav.figures import acceleration as pictures

KAPPA = np.geomspace(2.0, 1000.0, 6)
T = np.linspace(0.0, 1.2, 41)


def test_effort_and_haste_draw_their_numbers_and_keep_names_apart():
    counts = {"one": ("newton", KAPPA**0.5), "two": ("ballistic", 1.01 * KAPPA**0.5), "three": ("optimal", KAPPA)}
    figure = pictures.effort(KAPPA, counts, "steps")
    np.testing.assert_allclose(data(figure.axes[0], 1)[:, 1], 1.01 * KAPPA**0.5)
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    assert_readable(figure)
    steps = np.array([1.0, 3.0, 9.0])
    families = {name: (rule, np.stack([steps, scale / steps], axis=1), name == "b") for name, rule, scale in
                (("a", "newton", 1.0), ("b", "gradient descent", 1.1), ("c", "optimal", 1.2))}  # fmt: skip
    figure = pictures.haste(families)
    np.testing.assert_allclose(data(figure.axes[0], 1)[:, 1], 1.1 / steps)
    np.testing.assert_allclose(data(figure.axes[0], 2), [[1.0, 1.1]])  # the ring
    assert_readable(figure)


def test_variation_and_coincidence_draw_their_paths():
    horizon = np.linspace(0.5, 9.0, 35)
    smallest = {
        "heavy ball": ("potential", (np.pi / horizon) ** 2 - 0.9, np.pi / 0.9**0.5),
        "Nesterov": ("kinetic", (3.83 / horizon) ** 2 - 1, 3.83),
    }
    paths = {"up": ("loss", np.cosh(T)), "down": ("optimal", np.exp(-T)), "between": ("potential", 1 - T / 4)}
    figure = pictures.variation(horizon, smallest, T, paths)
    np.testing.assert_allclose(data(figure.axes[0], 0)[:, 1], smallest["heavy ball"][1])
    np.testing.assert_allclose(data(figure.axes[1], 1)[:, 1], np.exp(-T))
    assert_readable(figure)
    road = np.stack([np.exp(-T), np.exp(-3 * T)], axis=1)
    figure = pictures.coincidence(
        T, {"a": ("optimal", np.exp(-T)), "b": ("potential", np.exp(-T))}, {"a": ("optimal", road)}
    )
    np.testing.assert_allclose(data(figure.axes[1]), road)
    assert_readable(figure)
