"""Sphinx extension: on the landing page, each chapter that has a picture shows its first one, small.

It is made while the page is written, from the outputs of the committed notebook: nothing is drawn by hand, and a
chapter that draws another first picture has another thumbnail.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image, ImageOps
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LANDING = "book/index"
SIZE = (300, 200)  # pixels, twice those of the screen's style sheet
TERM = re.compile(r'<dt>(?=<a class="reference internal" href="(?P<name>[\w-]+)\.html">)')


def first_picture(notebook: Any) -> Image.Image | None:
    """Return the first picture among a notebook's outputs, or None where there is none."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if found := output.get("data", {}).get("image/png"):
                return Image.open(io.BytesIO(base64.b64decode(found))).convert("RGBA")
    return None


def thumbnail(picture: Image.Image) -> Image.Image:
    """Return a picture as a small one on white, whole."""
    ground = Image.new("RGBA", picture.size, "white")
    return ImageOps.pad(Image.alpha_composite(ground, picture).convert("RGB"), SIZE, Image.Resampling.LANCZOS, "white")


def add_thumbnails(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Put a thumbnail before each term of the landing page that leads to a chapter with a picture."""
    if pagename != LANDING:
        return
    folder = Path(app.outdir) / "_images"
    folder.mkdir(parents=True, exist_ok=True)

    def shown(found: re.Match[str]) -> str:
        path = ROOT / "book" / f"{found['name']}.ipynb"
        picture = first_picture(nbformat.read(path, as_version=4)) if path.is_file() else None
        if picture is None:
            return found[0]
        name = f"first-{found['name']}.webp"
        thumbnail(picture).save(folder / name, "WEBP", quality=82)
        words = f"The first picture of the chapter {found['name'].replace('-', ' ')}"
        return f'{found[0]}<img alt="{words}" class="lossnav-thumbnail" src="../_images/{name}" />'

    context["body"] = TERM.sub(shown, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", add_thumbnails)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
