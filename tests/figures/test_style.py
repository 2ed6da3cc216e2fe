"""The shared look: every rule can be told apart without colour, and every label can be read."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lossnav import figures
from lossnav.figures.style import readable
from lossnav.lab import registry

# How linear RGB looks in the two red-green dichromacies (Machado et al. 2009, severity 1).
PROTAN = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
)
DEUTAN = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
SCHEDULES = ("constant", "linear", "cosine", "plateau", "deadline", "warm-up")
MATRICES = ("sgd", "adam", "ballistic", "muon", "soap", "eigenbasis", "likelihood", "kronecker", "shampoo")
RULES = ("gradient descent", "ballistic", "optimal", "newton", "adam", "natural gradient", "rmsprop")


def contrast(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def test_style_sheet_gives_a_solid_light_card():
    fig = plt.figure()
    assert fig.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert plt.rcParams["savefig.facecolor"] == "white"
    assert not plt.rcParams["axes.spines.top"]


@pytest.mark.parametrize("drawn_together", [RULES, SCHEDULES, MATRICES])
def test_rules_differ_without_colour(drawn_together):
    styles = [figures.LINES[rule] for rule in drawn_together]
    assert len({marker for _, marker in styles}) == len(drawn_together)


def test_a_schedule_has_no_colour_of_a_rule():
    assert not {figures.COLOURS[name] for name in SCHEDULES} & {rule.colour for rule in registry.RULES.values()}


@pytest.mark.parametrize("drawn_together", [RULES[:4], SCHEDULES, MATRICES])
@pytest.mark.parametrize("vision", [PROTAN, DEUTAN], ids=["protan", "deutan"])
def test_rules_stay_apart_for_colour_blind_readers(vision, drawn_together):
    def seen(rule):
        rgb = np.array(to_rgb(figures.COLOURS[rule]))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return np.clip(vision @ linear, 0, 1) ** (1 / 2.2)

    for one, other in itertools.combinations(drawn_together, 2):
        assert np.linalg.norm(seen(one) - seen(other)) > 0.12, (one, other)


@pytest.mark.parametrize("name", sorted(set(figures.COLOURS) - {"paper", "grid"}))
def test_label_colours_are_readable_on_white(name):
    _, ax = plt.subplots()
    text = figures.label(ax, 0.1, 0.2, "θ", name)
    assert contrast(text.get_color()) >= 4.5
    if contrast(figures.COLOURS[name]) >= 4.5:
        assert text.get_color().upper() == figures.COLOURS[name]


@pytest.mark.parametrize("colour", ["yellow", "#101010", "#0f0001", "#56B4E9", "white"])
@pytest.mark.parametrize("ratio", [1.0, 4.5, 18.0, 19.5, 20.9, 21.0])
def test_readable_ends_at_every_contrast_that_black_has(colour, ratio):
    assert contrast(readable(colour, ratio)) >= ratio - 1e-9


def test_readable_keeps_dark_colours():
    assert readable("#000000") == "#000000"


def test_line_overrides_win_and_unknown_rules_are_named():
    assert figures.line("newton", color="k", lw=3)["color"] == "k"
    assert "marker" not in figures.line("newton")
    assert figures.line("newton", marker=True)["marker"] == figures.mark("newton")["marker"]
    with pytest.raises(ValueError, match="rule = 'sdg'"):
        figures.line("sdg")
    with pytest.raises(ValueError, match="rule = 'pink'"):
        figures.label(plt.figure().gca(), 0, 0, "x", "pink")


def test_label_end_sits_right_of_the_last_point():
    _, ax = plt.subplots()
    (curve,) = ax.plot([0, 1, 2], [5, 7, 6], **figures.line("optimal"))
    ax.set(xlim=(0, 4), ylim=(0, 10))
    text = figures.label_end(ax, curve, "end", "optimal", dx=0.02)
    assert np.allclose(text.get_position(), (2 / 4 + 0.02, 0.6))


def test_letter_numbers_the_panels():
    _, axes = plt.subplots(1, 3)
    figures.letter(axes, ["one", "", "three"])
    assert [ax.get_title(loc="left") for ax in axes] == ["a   one", "b", "c   three"]
    figures.letter(axes[1], ["alone"])
    assert axes[1].get_title(loc="left") == "alone"
    with pytest.raises(ValueError, match="titles has 2 entries, but there are 3 panels"):
        figures.letter(axes, ["one", "two"])


def test_unknown_figure_module_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = figures.nothing


def test_landscape_map_is_monotone_in_lightness():
    shades = figures.LANDSCAPE(np.linspace(0, 1, 64))[:, :3]
    light = shades @ [0.2126, 0.7152, 0.0722]
    assert np.all(np.diff(light) > 0)
