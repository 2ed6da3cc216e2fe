"""Results that can be looked at: their pictures against the library, their tables, and what they cost."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import pkgutil
from dataclasses import fields, is_dataclass

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import lossnav as ln

WELL, START = ln.losses.DoubleWell(), [-1.2, 0.8]
PATIENT = ln.Objective(gamma=0.1)
BOWL = ln.losses.Quadratic([[1.0, 0.0], [0.0, 10.0]], minimum=[0.0, 0.0])
MANY = ln.losses.Quadratic(np.diag([1.0, 2.0, 3.0, 4.0]), minimum=np.zeros(4))
SWITCH = ln.task.Phases([(0.0, BOWL), (1.0, ln.losses.Quadratic([[1.0, 0.0], [0.0, 1.0]], minimum=[1.0, 0.0]))])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def descent(rate=0.18):
    return np.array([1.0, 1.0]) * (1 - rate * np.array([1.0, 10.0])) ** np.arange(26)[:, None]


def lines(ax):
    return [np.column_stack(line.get_data()) for line in ax.get_lines()]


def on_one_of(ax, points):
    """Whether some line of the picture passes through all these points."""
    return any(
        all(np.min(np.abs(drawn - point).max(axis=1)) < 1e-12 for point in np.asarray(points)) for drawn in lines(ax)
    )


def test_a_path_of_two_parameters_lies_on_its_landscape():
    path = ln.solve(PATIENT, WELL, START)
    ax = path.plot()
    assert on_one_of(ax, path(path.times[::7]))
    assert ax.collections, "no ground"
    left, right = ax.get_xlim()
    assert left < min(START[0], path.asymptote[0]) < max(START[0], path.asymptote[0]) < right
    assert f"{path.action:.6g}" in ax.get_legend().get_title().get_text()


def test_a_path_of_one_parameter_lies_on_its_curve():
    loss = ln.losses.Section(WELL)
    path = ln.solve(PATIENT, loss, [-1.2])
    places = path(path.times[::5])
    assert on_one_of(path.plot(), np.column_stack([places[:, 0], loss.value(places)]))


@pytest.mark.parametrize(
    ("loss", "start"), [(MANY, [1.0, -1.0, 0.5, 2.0]), (SWITCH, [1.0, 1.0])], ids=["four parameters", "a switch"]
)
def test_other_paths_are_drawn_over_time(loss, start):
    path = ln.solve(PATIENT, loss, start)
    ax = path.plot()
    for component in path(path.times).T:
        assert on_one_of(ax, np.column_stack([path.times, component]))


@pytest.mark.parametrize("far", [0.0, 1e-6, 1.0, 1e9])
def test_who_rests_has_a_picture_of_where(far):
    at_rest = ln.losses.Quadratic(np.eye(2), minimum=[far, far])
    ax = ln.solve(ln.Objective(gamma=1.0), at_rest, [far, far]).plot()
    left, right = ax.get_xlim()
    assert left < far < right and right - left >= far


def barrier(x):
    with np.errstate(invalid="ignore"):
        return (x - np.log(x)).sum(-1)


@pytest.mark.parametrize(
    ("loss", "drift"),
    [
        (ln.losses.Function(barrier, dim=2), None),
        (ln.losses.Quadratic(np.zeros((2, 2)), minimum=[0.0, 0.0]), ln.drifts.weight_decay(1.0)),
    ],
    ids=["a barrier", "flat"],
)
def test_a_path_whose_ground_cannot_be_shaded_is_drawn_without(loss, drift):
    path = ln.solve(ln.Objective(gamma=1.0, drift=drift), loss, [0.05, 1.5])
    assert on_one_of(path.plot(), path(path.times[::7]))


def test_all_that_has_a_name_in_a_picture_has_a_look_of_its_own():
    six = ln.losses.Quadratic(np.diag(np.arange(1.0, 7.0)), minimum=np.zeros(6))
    ways = {str(gamma): ln.Objective(gamma=gamma) for gamma in range(1, 9)}
    for result in (ln.solve(PATIENT, six, np.ones(6)), ln.compare(ways, MANY, np.ones(4))):
        named = result.plot().get_legend_handles_labels()[0]
        assert len({(handle.get_color(), str(handle._dash_pattern)) for handle in named}) == len(named) > 5


def test_dots_are_equally_far_apart_in_time():
    path = ln.solve(PATIENT, WELL, START)
    dots = next(line for line in path.plot().get_lines() if line.get_marker() == "o" and len(line.get_xdata()) > 1)
    places = np.column_stack(dots.get_data())
    fine = np.linspace(0.0, path.times[-1], 20001)
    moments = [fine[np.argmin(((path(fine) - place) ** 2).sum(axis=1))] for place in places]
    assert np.ptp(np.diff(moments)) < 5 * fine[1]


def test_a_function_of_single_points_is_not_asked_for_a_landscape():
    def by_hand(x):
        return float(x[0] ** 2 + x[1] ** 2) if x[0] < 5 else 25.0  # a branch: no batch of points can be given

    loss = ln.losses.Function(by_hand, lambda x: 2.0 * x, dim=2)
    path = ln.solve(ln.Objective(gamma=1.0), loss, [1.0, 0.5])
    before = loss.calls
    ax = path.plot()
    assert loss.calls == before
    assert on_one_of(ax, np.column_stack([path.times, path(path.times)[:, 0]]))


def test_several_assumptions_in_one_picture():
    ways = {"patient": PATIENT, "hasty": ln.Objective(gamma=2.0)}
    paths = ln.compare(ways, WELL, START)
    ax = paths.plot()
    for name, objective in ways.items():
        alone = ln.solve(objective, WELL, START)
        assert paths[name].action == alone.action
        assert on_one_of(ax, alone(alone.times[::9]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(ways)
    frame = paths.to_frame()
    assert list(frame["assumption"].unique()) == list(ways)
    assert np.array_equal(
        frame.loc[frame["assumption"] == "hasty", "theta_1"], paths["hasty"](paths["hasty"].times)[:, 0]
    )


def test_the_error_of_a_comparison_names_its_assumptions():
    falling = ln.losses.Quadratic([[-1.0]], minimum=[0.0])
    with pytest.raises(ln.NoMinimiser, match=r"^hasty: "):
        ln.compare({"patient": ln.Objective(gamma=3.0), "hasty": ln.Objective(gamma=0.1)}, falling, [1.0])


def test_a_regret_shows_its_parts():
    regret = ln.regret(descent(), ln.Objective(), BOWL)
    ax = regret.plot()
    widths = dict(
        zip((tick.get_text() for tick in ax.get_yticklabels()), (bar.get_width() for bar in ax.patches), strict=True)
    )
    assert widths == {"speed": regret.speed, "direction": regret.direction, "total": regret.total}


def test_a_regret_without_a_finite_part_has_no_picture():
    regret = ln.regret(descent(), ln.Objective(), BOWL)
    nothing = type(regret)(**{name: float("nan") for name in regret.to_dict()})
    assert nothing._repr_png_() is None
    with pytest.raises(ValueError, match="nothing to draw"):
        nothing.plot()
    assert not plt.get_fignums(), "an empty figure was left"


@pytest.mark.parametrize(
    "result",
    [
        ln.solve(PATIENT, WELL, START),
        ln.regret(descent(), ln.Objective(), BOWL),
        ln.compare({"a": PATIENT}, WELL, START),
    ],
    ids=lambda result: type(result).__name__,
)
def test_a_notebook_gets_a_small_picture_and_nothing_stays_open(result):
    picture = result._repr_png_()
    assert picture is not None and picture.startswith(b"\x89PNG") and len(picture) < 60_000
    assert not plt.get_fignums()
    assert plt.rcParams["axes.spines.top"], "the reader's own style was changed"


def test_numbers_to_take_away():
    path = ln.solve(PATIENT, WELL, START)
    stored = json.loads(json.dumps(path.to_dict(), allow_nan=False))
    assert stored["action"] == path.action and stored["end"] == "inf" and stored["method"] == path.method
    assert np.array_equal(np.column_stack([stored["theta_1"], stored["theta_2"]]), path(path.times))
    frame = path.to_frame()
    assert np.array_equal(frame["kinetic"], path.kinetic(path.times)) and frame.attrs["action"] == path.action
    row = ln.regret(descent(), ln.Objective(), BOWL).to_frame()
    assert len(row) == 1 and row["total"][0] > 0


def test_to_dict_has_what_a_result_says_and_nothing_of_how_it_is_drawn():
    reading = ln.fingerprint(torch.optim.LBFGS)
    assert [name for name in reading.to_dict() if name.startswith("_")] == []
    assert repr(ln.drifts.Function(lambda x: -x, dim=2)) == "Function(dim=2)"


def test_results_can_still_be_pickled():
    paths = ln.compare({"patient": PATIENT}, WELL, START)
    again = pickle.loads(pickle.dumps(paths))
    assert np.array_equal(again["patient"](1.0), paths["patient"](1.0))


@pytest.mark.parametrize("name", ["euler_lagrange", "infer", "solve"])
def test_what_is_called_can_be_sent_to_another_process(name):
    function = getattr(ln, name)
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function


def test_what_a_rule_remembers_can_be_stored():
    rule = ln.derive(ln.Objective(gamma=0.5), curvature=ln.assume.SecondMoment(0.99), dt=0.1)
    theta = np.array([1.0, 2.0])
    _, state = rule(theta, rule.init(theta), theta)
    for again in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        np.testing.assert_array_equal(rule(theta, again, theta)[0], rule(theta, state, theta)[0])


def test_results_with_arrays_in_them_are_compared_by_identity():
    """What a dataclass makes of == has no truth value where a part is an array of several numbers."""
    names = [module.name for module in pkgutil.walk_packages(ln.__path__, "lossnav.") if "__main__" not in module.name]
    found = {thing for name in names for thing in vars(importlib.import_module(name)).values() if is_dataclass(thing)}
    arrays = "Array", "Tensor", "NDArray[np.float64]", "Numbers", "Split"
    kinds = [kind for kind in found if isinstance(kind, type) and not kind.__name__.startswith("_")]
    public = [kind for kind in kinds if any(one.type in arrays for one in fields(kind))]
    assert len(public) > 30
    assert not [kind for kind in public if "__eq__" in vars(kind)]


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_nothing_of_a_picture_is_cut_by_a_figure_of_matplotlib_s_own(dim):
    loss = ln.losses.Quadratic(np.diag(np.arange(1.0, 1.0 + dim)), minimum=np.zeros(dim))
    figure, ax = plt.subplots()
    ln.solve(PATIENT, loss, np.ones(dim)).plot(ax)
    drawn = ax.get_tightbbox(figure.canvas.get_renderer())
    assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= figure.bbox.x1 and drawn.y1 <= figure.bbox.y1


def test_axes_of_one_s_own():
    figure, axes = plt.subplots(1, 2)
    path = ln.solve(PATIENT, WELL, START)
    assert path.plot(axes[1]) is axes[1] and axes[1].get_lines() and not axes[0].get_lines()
    with pytest.raises(ValueError, match="ax = "):
        path.plot(figure)


def watched(said):
    weights = torch.nn.Parameter(torch.tensor([1.0, 1.0], dtype=torch.float64))
    descent = torch.optim.SGD([weights], lr=0.1)
    with ln.watch(descent) as watch:
        for _ in range(12):
            descent.zero_grad()
            value = (weights**2 * torch.tensor([0.5, 2.0])).sum()
            value.backward()
            if said:
                watch.note(value)
            descent.step()
    return watch


def test_a_watched_optimizer_shows_its_way():
    watch = watched(said=True)
    way = np.concatenate([[0.0], np.cumsum(watch.lengths)[:-1]])
    assert on_one_of(watch.plot(), np.column_stack([way, watch.losses]))
    assert np.array_equal(watch.to_frame()["length"], watch.lengths)


def test_without_losses_it_shows_the_lengths_of_its_steps():
    watch = watched(said=False)
    assert on_one_of(watch.plot(), np.column_stack([np.arange(1, 13), watch.lengths]))


def test_who_made_no_step_has_no_picture():
    with ln.watch(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])) as watch:
        pass
    assert watch._repr_png_() is None and watch.to_dict() == {"steps": 0}


def test_a_rule_is_drawn_by_the_speed_that_its_law_says():
    rule = ln.derive(ln.Objective(gamma=0.5), curvature=ln.assume.SecondMoment(0.99), dt=0.1)
    known = {"eta": 1, "k": 1, "gamma": 0.5, "c": 1, "m": 1}
    law = -rule.velocity.subs({symbol: known.get(str(symbol), symbol) for symbol in rule.velocity.free_symbols})
    (curvature,) = law.free_symbols
    speeds = [[v, float(law.subs(curvature, v))] for v in np.geomspace(1e-4, 1e4, 161)[::20]]
    assert on_one_of(rule.plot(), speeds)
    json.dumps(rule.to_dict())


@pytest.mark.parametrize(
    "assumed",
    [
        {"curvature": ln.assume.Known(np.diag([2.0, 1.0]))},
        {"belief": ln.assume.Filter(0.9, fading=[0.1, 0.2])},
        {"metric": ln.assume.RootMeanSquare(0.99), "belief": ln.assume.Filter(0.9, fading=[0.1, 0.2])},
    ],
    ids=["curvature", "fading", "metric"],
)
def test_a_rule_that_knows_its_coordinates_is_drawn_by_each(assumed):
    rule = ln.derive(ln.Objective(gamma=0.5), dt=0.1, **assumed)
    ax = rule.plot()
    v = np.geomspace(1e-4, 1e4, 161)[::20]
    for each in np.transpose([rule.gain([x, x], [x, x] if rule.metric else None) for x in v]):
        assert on_one_of(ax, np.column_stack([v, each]))
    labels = ax.get_legend_handles_labels()[1]
    assert labels.count("this rule") == 1 and len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    "rule",
    [
        ln.derive(
            ln.Objective(eta=0.3, gamma=0.5), belief=ln.assume.Filter(0.9, fading=0.2),
            curvature=ln.assume.Known([[2.0, 0.3], [0.3, 1.0]]), dt=0.1,
        ),
        ln.derive(ln.Objective(gamma=0.5), metric=ln.assume.RootMeanSquare(0.99), dt=0.1),
    ],
)  # fmt: skip
def test_a_rule_is_written_as_the_call_that_makes_it(rule):
    names = {"LearningRule": type(rule), "Objective": ln.Objective, "array": np.array, **vars(ln.assume)}
    for name in ("Filter", "Known", "RootMeanSquare"):
        names[name] = getattr(ln.assume, name)
    again = eval(repr(rule), names)
    g, theta = np.array([1.0, -2.0]), np.array([0.5, 0.1])
    assert "\n" not in repr(rule) and len(repr(rule)) < 170 and repr(again) == repr(rule)
    np.testing.assert_array_equal(again(g, again.init(theta), theta)[0], rule(g, rule.init(theta), theta)[0])


def test_a_rule_with_a_large_matrix_is_written_on_one_line():
    large = ln.derive(ln.Objective(metric=np.eye(50)), curvature=ln.assume.Known(np.eye(50)))
    assert "an array of shape (50, 50)" in repr(large) and len(repr(large)) < 200


def test_a_rule_with_an_averaged_metric_is_drawn_by_what_it_averages():
    """AdamW's reading: η/(√V + ε)(γ + j), and 1 + j of its own η is torch's lr."""
    (adamw,) = ln.explain(torch.optim.AdamW([torch.zeros(2, requires_grad=True)], lr=0.01))
    averaged = np.geomspace(1e-4, 1e4, 161)[::20]
    assert on_one_of(adamw.plot(), np.column_stack([averaged, 1 / (np.sqrt(averaged) + 1e-8)]))


@pytest.mark.parametrize(
    "rule",
    [
        ln.derive(ln.Objective(gamma=1.0, drift=ln.drifts.rotation(1.0)), dt=0.1),
        ln.derive(ln.Objective(price=ln.prices.Norm("linf", limit=1.0)), dt=0.1),
    ],
    ids=["coupled", "charged"],
)
def test_a_rule_that_no_gain_describes_has_no_picture_and_says_why(rule):
    with pytest.raises(ValueError, match=r"^this rule .*nothing to draw$"):
        rule.plot()


def test_a_row_of_a_table_has_numbers_where_a_part_is_not_known():
    row = ln.regret(descent(), ln.Objective(gamma=1.0), BOWL, dt=0.1).to_frame()
    assert np.isnan(row["timing"][0]) and row["timing"].dtype == float


def test_an_inferred_path_stands_in_its_table_beside_the_record():
    path, times = ln.solve(PATIENT, WELL, START), np.linspace(0.0, 4.0, 41)
    inferred = ln.infer(path(times), WELL, times=times)
    assert np.array_equal(inferred.to_frame()["theta_2"], path(times)[:, 1])
    assert np.abs(inferred.to_frame()["fit_1"] - inferred.to_frame()["theta_1"]).max() < 1e-6


def test_a_reading_is_drawn_as_its_rule_or_says_why_not():
    weights = [torch.zeros(2, requires_grad=True)]
    adam, adagrad = (ln.explain(kind(weights))[0] for kind in (torch.optim.Adam, torch.optim.Adagrad))
    for mine, its in zip(lines(adam.plot()), lines(adam.rule.plot()), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert adam.to_dict()["optimizer"] == "Adam" and adam.to_dict()["dt"] == adam.rule.dt
    with pytest.raises(ValueError, match="nothing to draw"):
        adagrad.plot()
