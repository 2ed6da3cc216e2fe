"""Pictures for the dark theme, made from those of the light one: each colour keeps its hue, and can be read.

A figure is drawn once, on white. The page has a second file of it, in which white is the page's ground and ink is
light; the style sheet shows one of them. So notebooks keep one output, and no figure needs to know of themes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

GROUND = (0x14, 0x18, 0x1E)  # of the page in the dark theme (--pst-color-background); a test compares
INK = (0xE6, 0xEB, 0xF0)  # what black becomes
LUMINOUS = 0.28  # least luminance of a pure hue: nearly six times that of the ground, as WCAG compares them
SIZE = 65  # of the table, per channel; Pillow interpolates

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of linear red, green, blue in the relative luminance of WCAG


def _linear(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)


def darkened(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the colours of the dark picture, (N, 3) in [0, 1], for those of the light one, (N, 3) in [0, 1].

    A colour is a pure hue mixed with black, and that with white. Here it is the hue mixed with ``INK``, and that with
    ``GROUND``: what was blended with the paper, as the rim of a line is, blends with the ground. There is less of the
    ground than there was of white, or pale lines would be dull ones.
    """
    ground, ink = np.array(GROUND) / 255, np.array(INK) / 255
    paper = colours.min(axis=1, keepdims=True)
    strength = (colours - paper).max(axis=1, keepdims=True)  # of the hue
    hue = np.divide(colours - paper, strength, out=np.zeros_like(colours), where=strength > 0)
    linear = _linear(hue)
    luminance = (linear @ _WEIGHTS)[:, None]
    lift = np.clip((LUMINOUS - luminance) / (1.0 - luminance + 1e-12), 0.0, 1.0)  # towards white
    drawn = strength * _encoded(linear + lift * (1.0 - linear)) + (1.0 - paper - strength) * ink
    return np.asarray(paper**2 * ground + (1.0 + paper) * drawn)  # 1 − paper² = (1 + paper)(1 − paper)


@cache
def _table() -> ImageFilter.Color3DLUT:
    steps = np.linspace(0.0, 1.0, SIZE)
    blue, green, red = np.meshgrid(steps, steps, steps, indexing="ij")  # red changes first
    grid = np.stack([red, green, blue], axis=-1).reshape(-1, 3)
    return ImageFilter.Color3DLUT(SIZE, darkened(grid).ravel().tolist())


def dark_copy(path: Path) -> Path:
    """Write the dark picture beside a light one; return its path."""
    target = path.with_name(f"{path.stem}-dark{path.suffix}")
    if not target.is_file():
        with Image.open(path) as picture:
            layer = picture.convert("RGBA")
        flat = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
        flat.filter(_table()).save(target)
    return target
