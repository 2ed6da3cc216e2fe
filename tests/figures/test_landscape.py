"""The chapter's figures draw what they are given: curves at the right places, the optimal branch where it wins."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import lossnav as ln
from lossnav import figures
from lossnav.figures import landscape, phase
from lossnav.trajectory import phase_plane

WELL = ln.losses.DoubleWell()
SLICE = ln.losses.Section(WELL, axis=0)
LEFT, BARRIER, RIGHT = WELL.stationary_points()[:, 0]
POINTS = {"left": LEFT, "barrier": BARRIER, "right": RIGHT}
PINK = to_rgba(figures.COLOURS["optimal"])


def curves(ax, colour):
    return [line for line in ax.get_lines() if to_rgba(line.get_color()) == colour and len(line.get_xdata()) > 2]


def png(fig):
    """Render as a notebook does and return the picture's size in inches."""
    fig.savefig(buffer := io.BytesIO(), bbox_inches="tight")
    buffer.seek(0)
    return np.array(plt.imread(buffer).shape[1::-1]) / plt.rcParams["savefig.dpi"]


def texts(ax):
    return {text.get_text().strip() for text in ax.texts}


def path():
    t = np.linspace(0, 1, 50)[:, None]
    return (1 - t) * [-0.6, 0.55] + t * [RIGHT, 0.0], (1 - t) * [-0.6, 0.55] + t * [LEFT, 0.0]


def test_paths_are_drawn_where_they_are_and_end_in_their_markers():
    optimal, descent = path()
    fig = landscape.paths(WELL, optimal, descent)
    (line,) = curves(fig.axes[0], PINK)
    assert np.array_equal(line.get_xydata(), optimal)
    ends = [mark.get_xydata()[0] for mark in fig.axes[0].get_lines() if len(mark.get_xdata()) == 1]
    for point in (optimal[0], optimal[-1], descent[-1]):
        assert any(np.allclose(point, end) for end in ends)
    assert {"start", "optimal path"} <= texts(fig.axes[0])


def test_contours_mark_heights_of_the_loss_from_its_lowest_value_in_the_window():
    _, ax = plt.subplots()
    landscape.contours(ax, WELL, (-1.4, 1.4), (-0.7, 0.7))
    lines = ax.collections[-1]
    for level, shape in zip(lines.levels, lines.get_paths(), strict=True):
        if len(shape.vertices):
            assert np.allclose(WELL.value(shape.vertices), level, atol=2e-3)
    assert lines.levels[0] == pytest.approx(WELL.value([RIGHT, 0.0]), abs=1e-3)


def test_surface_keeps_its_size_in_a_tight_crop():
    size = png(landscape.surface(WELL, *path()))
    assert np.all(np.abs(size - [5.8, 3.6]) < 0.4)


def test_costs_show_both_prices():
    t = np.linspace(0, 4, 200)
    kinetic, potential = 1.5 * np.exp(-((t - 0.3) ** 2) * 4), 1 - t / 2
    fig = landscape.costs(t, kinetic, potential)
    drawn = [line.get_ydata() for line in fig.axes[0].get_lines()]
    assert any(np.array_equal(kinetic, y) for y in drawn) and any(np.array_equal(potential, y) for y in drawn)
    assert any("speed" in text for text in texts(fig.axes[0]))


def test_discrete_limit_places_steps_at_multiples_of_dt():
    values = 0.5 ** np.arange(5)
    steps = 2.0 ** -np.arange(5)
    limit = (np.linspace(0, 1, 9), np.ones(9))
    fig = landscape.discrete_limit({0.25: values}, {0.25: values**0.1}, limit, steps, steps)
    points = [line for line in fig.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert np.allclose(points[0].get_xdata(), [0, 0.25, 0.5, 0.75, 1])
    assert np.array_equal(points[0].get_ydata(), values)
    assert fig.axes[1].get_xscale() == fig.axes[1].get_yscale() == "log"


def test_extremals_single_out_the_decaying_one_and_mark_each_minimum():
    t, constants = np.linspace(0, 1, 30), np.linspace(-0.5, 0.5, 101)
    fan = {c: np.exp(-t) + c * t for c in (-0.1, 0.0, 0.1)}
    fig = landscape.extremals(t, fan, constants, {1.0: (constants - 0.2) ** 2, 2.0: 4 * (constants - 0.1) ** 2})
    (chosen,) = curves(fig.axes[0], PINK)
    assert np.array_equal(chosen.get_ydata(), fan[0.0])
    marks = [line.get_xdata()[0] for line in fig.axes[1].get_lines() if len(line.get_xdata()) == 1]
    assert np.allclose(sorted(marks), [0.1, 0.2])


def test_energy_curves_have_the_energy_they_claim():
    objective = ln.Objective(eta=0.5, k=2.0)
    shifted = ln.losses.Function(lambda x: SLICE.value(x) - SLICE.value([RIGHT]), SLICE.gradient, SLICE.hessian, dim=1)
    x = np.linspace(-1.4, RIGHT, 50)
    branch = np.array([x, np.sqrt(2 * 0.5 * 2.0 * np.maximum(shifted.value(x[:, None]), 0))])
    fig = phase.energy_portrait(objective, shifted, (-1.5, 1.5), (-2, 2), {"right": branch}, POINTS)
    lines = fig.axes[0].collections[0]
    for level, shape in zip(lines.levels, lines.get_paths(), strict=True):
        place, speed = shape.vertices.T
        energy = speed**2 / (2 * 0.5) - 2.0 * shifted.value(place[:, None])
        assert np.allclose(energy, level, atol=5e-3)


def test_portraits_are_bold_only_where_a_branch_wins():
    objective = ln.Objective(gamma=0.8)
    span = (-1.6, 1.4)
    stay, cross = (phase_plane.feedback(objective, SLICE, c, span) for c in (LEFT, RIGHT))
    split = phase_plane.indifference_point(objective, SLICE)
    branches = [
        {"cross": (cross, (split, np.inf)), "stay": (stay, (-np.inf, split))},
        {"cross": (cross, (-np.inf, np.inf)), "stay": (stay, (-np.inf, -np.inf))},
    ]
    fig = phase.portraits([objective, objective], SLICE, branches, POINTS)
    first, second = (curves(ax, PINK) for ax in fig.axes)
    assert len(first) == 2 and len(second) == 1
    right, left = first
    assert right.get_xdata()[0] == pytest.approx(split) and left.get_xdata()[-1] == pytest.approx(split)
    assert np.allclose(right.get_ydata(), cross.speed(right.get_xdata()))
    assert np.all(np.isfinite(left.get_ydata()))
    assert [ax.get_title(loc="left")[0] for ax in fig.axes] == ["a", "b"]
    assert all({"stay", "cross"} <= texts(ax) for ax in fig.axes)


def test_stay_or_cross_shades_below_the_indifference_line():
    gammas = np.array([0.6, 1.0, 2.0])
    line = np.array([-0.7, -0.37, -0.19])
    fig = phase.stay_or_cross(gammas, line, 0.54, POINTS, [(0.3, -0.6, True), (1.0, -1.0, False)])
    ax = fig.axes[0]
    stay = ax.collections[-1].get_paths()[0]  # the last shading drawn
    assert stay.contains_point((1.0, -0.5)) and not stay.contains_point((1.0, -0.3))
    assert not stay.contains_point((0.5, -1.0))
    assert not any(text == "right" for text in texts(ax))  # outside the window
    marks = [m for m in ax.get_lines() if len(np.atleast_1d(m.get_xdata())) == 1]
    assert [tuple(m.get_xydata()[0]) for m in marks] == [(0.3, -0.6), (1.0, -1.0)]
    assert marks[0].get_marker() != marks[1].get_marker()


def test_horizons_mark_the_deadline():
    T = np.linspace(1, 3, 5)
    fig = phase.horizons(T, T, 4 - T, 2.0)
    assert any(np.allclose(line.get_xdata(), 2.0) for line in fig.axes[0].get_lines())
    assert {"stay", "cross", "$T=2.0000$"} <= texts(fig.axes[0])


@pytest.mark.parametrize("figure", ["paths", "horizons", "stay"])
def test_figures_fill_the_column_width(figure):
    if figure == "paths":
        fig = landscape.paths(WELL, *path())
    elif figure == "horizons":
        fig = phase.horizons(np.arange(1.0, 5), np.arange(4.0), 4 - np.arange(4.0), 2.0)
    else:
        fig = phase.stay_or_cross(np.array([0.6, 2.0]), np.array([-0.7, -0.2]), 0.54, POINTS)
    assert 5.0 < png(fig)[0] < 6.3


def front():
    x = np.linspace(-10, 10, 201)
    snapshots = {t: np.tanh(t - x) for t in (0.0, 2.0, 4.0)}
    t = np.linspace(-3, 3, 50)
    return phase.travelling_front(x, snapshots, (t, np.tanh(t)), (t[::5], np.tanh(t[::5])), {"low": -1.0, "high": 1.0})


def test_travelling_front_draws_every_snapshot_and_the_profile_on_the_path():
    fig = front()
    above, below = fig.axes
    waves = [line for line in above.get_lines() if len(line.get_xdata()) == 201]
    assert [np.interp(0.0, -wave.get_ydata(), wave.get_xdata()) for wave in waves] == pytest.approx([0, 2, 4], abs=0.01)
    (drawn,) = curves(below, PINK)
    marks = next(line for line in below.get_lines() if line.get_marker() == "o")
    assert np.allclose(np.interp(marks.get_xdata(), *drawn.get_data()), marks.get_ydata(), atol=0.01)
    assert {"$t=0$", "$t=4$", "low", "high"} <= texts(above) and {"optimal path", "front"} <= texts(below)


def tilts():
    x = np.linspace(0.1, 1.5, 29)
    return phase.thresholds(x, x, 4 - x / 2, 4 - x, float(x[14]), [(0.5, 0.5, 3.75), (1.0, 1.0, 3.5)])


def test_thresholds_change_their_line_where_the_front_becomes_pushed():
    (ax,) = tilts().axes
    orange = to_rgba(figures.COLOURS["ballistic"])
    (pushed,) = curves(ax, orange)
    assert pushed.get_xdata()[0] == pytest.approx(0.8) and np.allclose(pushed.get_ydata(), 4 - pushed.get_xdata() / 2)
    (leaving,) = curves(ax, PINK)
    assert np.allclose(leaving.get_xdata(), leaving.get_ydata())
    marks = sorted(tuple(point) for line in ax.get_lines() if line.get_marker() == "o" for point in line.get_xydata())
    assert marks == [(0.5, 0.5), (0.5, 3.75), (1.0, 1.0), (1.0, 3.5)]


@pytest.mark.parametrize("figure", [front, tilts])
def test_figures_of_fronts_fill_the_column_width(figure):
    assert 5.0 < png(figure())[0] < 6.3
