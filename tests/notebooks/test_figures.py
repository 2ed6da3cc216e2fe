"""The figures of the book, asked once for all: those that are committed, and the look that finds what cannot be read.

What each one shows is its chapter's matter: the pictures are looked at when they are written.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator

import lossnav_dark
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import readable
from notebooks import chapters, notebook_path
from PIL import Image

DPI, PAD = 200, 0.15  # of the style sheet, and inches that a tight crop may add on a side


def pictures(name: str) -> Iterator[tuple[nbformat.NotebookNode, Image.Image]]:
    """The cells of a chapter that show a picture, and their pictures."""
    for cell in nbformat.read(notebook_path(name), as_version=4).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                yield cell, Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))


@pytest.mark.parametrize("name", chapters())
def test_each_picture_is_named_told_fits_a_phone_and_is_seen_by_day_and_by_night(name: str) -> None:
    for cell, picture in pictures(name):
        meta = cell.metadata.mystnb
        assert meta.figure.name.startswith("fig-") and len(meta.figure.caption) > 30 and len(meta.image.alt) > 60
        assert picture.width <= (readable.WIDTH + 2 * PAD) * DPI, f"{meta.figure.name} is {picture.width} pixels wide"
        reduced = np.asarray(picture.convert("RGB"))[1::2, 1::2].reshape(-1, 3)
        inked = np.mean(reduced.min(axis=1) < 250)
        assert inked > 0.01, f"{meta.figure.name} is {100 * inked:.0f} % ink"
        assert_seen_by_night(reduced, meta.figure.name)


def assert_seen_by_night(pixels: np.ndarray, name: str) -> None:
    """Of a picture's own colours: what stands out from the paper stands out from the dark ground."""
    packed, counts = np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    colours = (packed[counts > 12, None] >> np.array([16, 8, 0]) & 255) / 255
    plain = np.abs(colours - 1).max(axis=1) > 0.5
    dark = lossnav_dark.darkened(colours)[plain]
    assert np.all(np.abs(dark - np.array(lossnav_dark.GROUND) / 255).max(axis=1) > 0.2), name


def small_letters(ax: plt.Axes) -> None:
    ax.set_title("a title", fontsize=8)


def a_label_outside(ax: plt.Axes) -> None:
    ax.text(1.5, 0.5, "far away")


def labels_on_each_other(ax: plt.Axes) -> None:
    ax.text(0.4, 0.5, "one label")
    ax.text(0.42, 0.5, "another one")


def a_long_name(ax: plt.Axes) -> None:
    ax.set_ylabel("a name that is much longer than the axis that it is the name of, and goes on")


def a_wide_figure(ax: plt.Axes) -> None:
    ax.figure.set_figwidth(7.0)


@pytest.mark.parametrize("spoil", [small_letters, a_label_outside, labels_on_each_other, a_long_name, a_wide_figure])
def test_the_look_sees_what_cannot_be_read(spoil) -> None:
    with plt.style.context("default"):
        figure, ax = plt.subplots(figsize=(5.8, 3.0))
        ax.text(0.5, 0.9, "a label", ha="center")
        assert list(readable.problems(figure)) == []
        spoil(ax)
        assert len(list(readable.problems(figure))) >= 1
        plt.close(figure)
