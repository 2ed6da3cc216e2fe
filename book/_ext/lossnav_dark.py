"""Pictures for the dark theme, made from those of the light one: each colour keeps its hue, and can be read.

A figure is drawn once, on white. The page has a second file of it, in which white is the page's ground and ink is
light; the style sheet shows one of them. So notebooks keep one output, and no figure needs to know of themes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

GROUND = (0x12, 0x12, 0x12)  # of the page in the dark theme: sphinx-book-theme's --pst-color-background
INK = (0xE6, 0xEB, 0xF0)  # what black becomes
LUMINOUS = 0.22  # least luminance of a pure hue: nearly five times that of the ground, as WCAG compares them
VIVID = 0.85  # share of a hue beside black from which on it is in full light, and without ink
PALE = 0.35  # share of white up to which a hue stays as it is

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of linear red, green, blue in the relative luminance of WCAG


def _linear(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)


def darkened(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the colours of the dark picture, (N, 3) in [0, 1], for those of the light one, (N, 3) in [0, 1].

    A colour is a pure hue mixed with black, and that with white. Here white is ``GROUND``: what was blended with the
    paper, as the rim of a line is, blends with the ground. A grey blends as on paper, so that a map stands off from the
    ground as it did, and less than the labels on it. Black is ``INK`` in greys, and less of it the more hue there is: a
    hue keeps its luminance if the ground lets it be seen, so that of two blues the lighter one stays it.
    """
    ground, ink = np.array(GROUND) / 255, _linear(np.array(INK) / 255)
    paper = colours.min(axis=1, keepdims=True)
    strength = (colours - paper).max(axis=1, keepdims=True)  # of the hue
    hue = np.divide(colours - paper, strength, out=np.zeros_like(colours), where=strength > 0)
    beside_black = np.divide(strength, 1.0 - paper, out=np.zeros_like(paper), where=paper < 1)

    share = np.minimum(1.0, beside_black / VIVID)
    brightest, shade = _linear(hue), _linear(hue * share)
    highest = (brightest @ _WEIGHTS)[:, None] + 1e-12
    wanted = np.maximum((shade @ _WEIGHTS)[:, None], LUMINOUS)
    lit = brightest * np.minimum(1.0, wanted / highest)
    lit += np.clip((wanted - highest) / (1.0 - highest), 0.0, 1.0) * (1.0 - lit)  # towards white

    coloured = share**2 * (3.0 - 2.0 * share)
    drawn = _encoded((coloured * lit**0.7 + (1.0 - coloured) * ink**0.7) ** (1 / 0.7))  # turns no hue, dulls none
    faded = (1.0 - coloured) * paper + coloured * np.maximum(0.0, (paper - PALE) / (1.0 - PALE)) ** 1.2
    return np.asarray(faded * ground + (1.0 - faded) * drawn)


def dark_copy(path: Path) -> Path:
    """Write the dark picture beside a light one, of as many colours, 256 at most; return its path."""
    target = path.with_name(f"{path.stem}-dark{path.suffix}")
    if not target.is_file():
        with Image.open(path) as picture:
            drawn = picture if picture.mode == "P" and "transparency" not in picture.info else _on_paper(picture)
            colours = np.reshape(drawn.getpalette() or [], (-1, 3)) / 255
            drawn.putpalette(np.rint(255 * darkened(colours)).astype(np.uint8).tobytes())
            drawn.save(target)
    return target


def _on_paper(picture: Image.Image) -> Image.Image:
    layer = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB").quantize(256)
