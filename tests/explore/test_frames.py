"""First frames, which scripts draw in node: the library's lines and numbers, and the static twins that are kept."""

from __future__ import annotations

import base64
import html
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pictures
import pytest
from twins import WIDGETS, assert_shows_the_same

from lossnav import explore

NAMES = sorted(set(explore.__all__) - {"Explorable"})
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("setting", WIDGETS)
def test_the_script_draws_what_the_library_says(frame, setting):
    widget = WIDGETS[setting]()
    drawn = frame(widget)
    assert_shows_the_same(widget, drawn["curves"], drawn["words"])


@pytest.mark.slow
def test_the_twins_that_are_kept_are_what_the_scripts_draw(node):
    assert pictures.problems() == []


@pytest.mark.parametrize("name", NAMES)
def test_a_first_state_has_a_picture_that_is_described(name):
    widget = getattr(explore, name)()
    figure = ElementTree.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", widget.fallback()))
    image = figure.find("img")
    assert figure.get("class") == "lossnav-fallback" and figure.get("data-for") == name
    assert image is not None and image.get("alt") == widget.words()
    drawing = ElementTree.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert drawing.tag == f"{SVG}svg" and drawing.findtext(f"{SVG}desc") == widget.words()
    width, height = (float(drawing.get(size)) for size in ("width", "height"))
    for stage in drawing.iter(f"{SVG}svg"):
        x, y, wide, tall = (float(stage.get(side, 0)) for side in ("x", "y", "width", "height"))
        if stage.get("class") == "ln-figure":
            assert 0 < x < x + wide <= width and 0 < y < y + tall <= height
    points = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", " ".join(path.get("d", "") for path in drawing.iter(f"{SVG}path")))
    assert len(points) > 40 and np.all(np.isfinite(np.array(points, dtype=float)))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_nobody_drew_is_told_in_words(name):
    widget = getattr(explore, name)()
    traits = {key: trait for key, trait in widget.traits().items() if key in widget._state_names()}
    key = max(traits, key=lambda key: isinstance(getattr(widget, key), float))  # all of TunedRates' are whole
    value, trait = getattr(widget, key), traits[key]
    away = trait.min if value == trait.max else min(trait.max, 10.0)
    setattr(widget, key, value + 1 if isinstance(value, int) else 0.987 * value + 0.013 * away)
    fallback = html.unescape(widget.fallback())
    assert "<img" not in fallback and repr(widget) in fallback and widget._shared["title"] in fallback
