"""The dark copy of a picture: ground, contrast, hue and blends."""

from __future__ import annotations

import colorsys
from importlib.resources import files
from pathlib import Path

import lossnav_dark
import numpy as np
from PIL import Image

from lossnav.figures import style


def contrast(colour: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """WCAG's ratio, by its definition."""

    def luminance(rgb: np.ndarray) -> np.ndarray:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ np.array([0.2126, 0.7152, 0.0722])

    pair = np.sort(np.stack([luminance(colour), np.broadcast_to(luminance(ground), len(colour))]), axis=0)
    return (pair[1] + 0.05) / (pair[0] + 0.05)


WHITE, GROUND = np.ones(3), np.array(lossnav_dark.GROUND) / 255


def test_what_can_be_read_on_paper_can_be_read_in_the_dark() -> None:
    colours = np.random.default_rng(0).uniform(size=(20000, 3))
    before, after = contrast(colours, WHITE), contrast(lossnav_dark.darkened(colours), GROUND)
    assert (after[before >= 4.5] >= 4.5).all()  # letters
    assert (after[before >= 3.0] >= 3.0).all()  # lines
    assert (after[before >= 2.0] >= 2.0).all()


def test_a_grey_stands_off_from_the_ground_as_from_paper() -> None:
    """Else a map comes near to the labels on it."""
    greys = np.linspace(0.3, 1.0, 29)[:, None] * np.ones(3)
    ratio = contrast(lossnav_dark.darkened(greys), GROUND) / contrast(greys, WHITE)
    assert (abs(np.log(ratio)) < np.log(1.25)).all()


def test_hue_stays() -> None:
    colours = [tuple(int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)) for c in style.COLOURS.values()]
    coloured = [colour for colour in colours if max(colour) - min(colour) > 0.25]
    assert len(coloured) > 5
    for before, after in zip(coloured, lossnav_dark.darkened(np.array(coloured)), strict=True):
        turn = colorsys.rgb_to_hsv(*after)[0] - colorsys.rgb_to_hsv(*before)[0]
        assert abs((turn + 0.5) % 1 - 0.5) < 0.05, before


def test_the_ground_is_the_themes() -> None:
    styles = files("sphinx_book_theme") / "theme/sphinx_book_theme/static/styles/sphinx-book-theme.css"
    assert "--pst-color-background:#{:02x}{:02x}{:02x}".format(*lossnav_dark.GROUND) in styles.read_text()


def test_the_lighter_blue_stays_the_lighter_one() -> None:
    blues = [style.COLOURS[rule] for rule in ("gradient descent", "natural gradient")]
    dark = lossnav_dark.darkened(np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in blues]))
    deep, light = contrast(dark, GROUND)
    assert 3.0 < deep < light / 1.15


def test_a_line_fades_into_the_ground_without_a_rim() -> None:
    colours = np.random.default_rng(1).uniform(size=(300, 3))
    parts = np.linspace(0.0, 1.0, 41)[:, None]
    steps = [lossnav_dark.darkened((1 - parts) * colour + parts) for colour in colours]
    distance = np.abs(np.array(steps) - GROUND)
    assert (np.diff(distance, axis=1) <= 1e-6).all()


def test_a_file_gets_its_dark_neighbour(tmp_path: Path) -> None:
    light = tmp_path / "figure.png"
    picture = Image.new("RGBA", (4, 2), (255, 255, 255, 0))
    picture.putpixel((3, 1), (0, 0, 0, 255))
    picture.save(light)
    dark = np.asarray(Image.open(lossnav_dark.dark_copy(light)).convert("RGB"))
    assert tuple(dark[0, 0]) == lossnav_dark.GROUND  # what is transparent lies on white
    assert tuple(dark[1, 3]) == lossnav_dark.INK
