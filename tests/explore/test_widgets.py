"""The Python side: state, checks, static twins, and what a cell puts out."""

from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracles
import pytest
import traitlets
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output
from oracles.plans import course, laws

import lossnav as ln
from lossnav import explore, figures
from lossnav.explore import _scripts

WIDGETS = [getattr(explore, name) for name in explore.__all__ if name != "Explorable"]
LIMIT = 56_000  # bytes; each instance on a page brings its own
LIMITS = {"Board": 76_000}  # formulas and code of 176 rules: 20 kB when compressed


def test_importing_the_package_loads_no_widget_library():
    code = (
        "import sys, lossnav.explore as e; assert 'DoubleWell' in dir(e);"
        "print(sorted({'anywidget', 'ipywidgets', 'traitlets', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match="Nothing"):
        _ = explore.Nothing


@pytest.mark.parametrize("widget", WIDGETS)
def test_script_is_one_small_module(widget):
    script = widget()._esm
    assert len(script.encode()) < LIMITS.get(widget.__name__, LIMIT)
    assert not re.search(r"^import ", script, re.MULTILINE)
    assert script.count("export default ") == 1 and f'"{widget.__name__}"' in script
    assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1998/Math/MathML))", script)  # nothing from elsewhere


def test_a_script_that_was_not_bundled_says_what_bundles_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"pictures\.py write` makes it of view\.js"):
        _scripts.bundle(tmp_path)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("optimal", "optimal"),
        ("descent", "gradient descent"),
        ("ballistic", "ballistic"),
        ("newton", "newton"),
        ("natural", "natural gradient"),
        ("adam", "adam"),
        ("heavy", "potential"),
        ("belief", "belief"),
        ("uncertain", "uncertain"),
        ("neutral", "loss"),
    ],
)
def test_colours_are_those_of_the_figures(name, rule):
    match = re.search(rf"--ln-{name}: (#\w+);", _scripts.stylesheet())
    assert match is not None
    assert match[1].upper() == figures.COLOURS[rule].upper()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: explore.BeliefFilter(gamma=2.1), r"gamma = 2\.1"),
        (lambda: explore.BeliefFilter(decay=-0.1), r"decay = -0\.1"),
        (lambda: explore.BeliefFilter(diffusion=0), "diffusion = 0"),
        (lambda: explore.BeliefFilter(noise=math.inf), "noise = inf"),
        (lambda: explore.BeliefFilter(now=0), "now = 0, but it must be a whole number >= 1 and <= 20000"),
        (lambda: explore.BeliefFilter(seed=1.5), r"seed = 1\.5"),
        (lambda: explore.BeliefFilter(jumps=[(3,)]), r"jumps has an entry \(3,\)"),
        (lambda: explore.BeliefFilter(jumps=[(3, 9.0)]), r"jumps\[i\]\[1\] = 9"),
        (lambda: explore.BeliefFilter(jumps=[(3, 1.0)] * 61), "jumps has 61 entries"),
        (lambda: explore.BelievedEllipse(gradient=(2, 0)), r"gradient = \(2, 0\)"),
        (lambda: explore.BelievedEllipse(turn=61), "turn = 61"),
        (lambda: explore.Board(metric="round"), "metric = 'round'"),
        (lambda: explore.Board(dt=0.01), r"dt = 0\.01"),
        (lambda: explore.Board(noise=-1), "noise = -1"),
        (lambda: explore.Board(start=(0, 4)), r"start = \(0, 4\)"),
        (lambda: explore.BrokenCharge(start=(0, 2.3)), r"start = \(0, 2\.3\)"),
        (lambda: explore.BrokenCharge(decay=-0.1), r"decay = -0\.1"),
        (lambda: explore.DoubleWell(start=2), "start = 2"),
        (lambda: explore.DoubleWell(gamma=0), r"gamma = 0, .* >= 0\.05"),
        (lambda: explore.DoubleWell(gamma=math.nan), "gamma = nan"),
        (lambda: explore.DriftField(start=(0, 2)), r"start = \(0, 2\)"),
        (lambda: explore.DriftField(minimum=(0, 0, 0)), r"minimum has shape \(3,\)"),
        (lambda: explore.DriftField(rate=11), "rate = 11"),
        (lambda: explore.DriftField(decay=-0.1), r"decay = -0\.1"),
        (lambda: explore.DriftField(gamma=math.inf), "gamma = inf"),
        (lambda: explore.MetricEllipse(start=(0, 2.7)), r"start = \(0, 2\.7\)"),
        (lambda: explore.MetricEllipse(angle=91), "angle = 91"),
        (lambda: explore.MetricEllipse(ratio=0.5), r"ratio = 0\.5"),
        (lambda: explore.MetricEllipse(gamma=-1), "gamma = -1"),
        (lambda: explore.Certainty(entropy=-0.1), r"entropy = -0\.1"),
        (lambda: explore.CloudEdge(beta=1), "beta = 1"),
        (lambda: explore.DecayShrinks(decay=5), "decay = 5"),
        (lambda: explore.TunedRates(tries=4), "tries = 4"),
        (lambda: explore.DiscountExponent(gamma=0), "gamma = 0"),
        (lambda: explore.DiscountedRoot(epsilon=0), "epsilon = 0"),
        (lambda: explore.ExactStep(dt=0), "dt = 0"),
        (lambda: explore.FadingBelief(size=5), "size = 5"),
        (lambda: explore.FilterGains(n=0), "n = 0"),
        (lambda: explore.ForgottenNoise(power=1.5), r"power = 1\.5"),
        (lambda: explore.FollowedBack(gamma=0.01), r"gamma = 0\.01"),
        (lambda: explore.KappaSteps(kappa=1), "kappa = 1"),
        (lambda: explore.ModeMemory(n=1), "n = 1"),
        (lambda: explore.MomentumWindow(bend=5), "bend = 5"),
        (lambda: explore.MuonQuintic(sigma=1.5), r"sigma = 1\.5"),
        (lambda: explore.MuonQuintic(before=9), "before = 9"),
        (lambda: explore.Postponed(every=0), "every = 0"),
        (lambda: explore.PathPace(bend=11), "bend = 11"),
        (lambda: explore.WhichDiscount(gamma=0), "gamma = 0"),
        (lambda: explore.OtherSelves(n=1.5), r"n = 1\.5"),
        (lambda: explore.ValueBounds(start=0), "start = 0"),
        (lambda: explore.BallDecides(norm=3), "norm = 3"),
        (lambda: explore.LookBill(every=31), "every = 31"),
        (lambda: explore.OneMap(speed=4), "speed = 4"),
        (lambda: explore.PullBack(place=3), "place = 3"),
        (lambda: explore.PushAndBrake(now=13), "now = 13"),
        (lambda: explore.RateDrop(drop=0.5), r"drop = 0\.5"),
        (lambda: explore.Renamed(unit=0), "unit = 0"),
        (lambda: explore.MovingNetwork(eta=0.1), r"eta = 0\.1"),
        (lambda: explore.MovingNetwork(batch=8.5), r"batch = 8\.5"),
        (lambda: explore.MovingNetwork(n=1), "n = 1"),
        (lambda: explore.NoiseSpectrum(slope=1.1), r"slope = 1\.1"),
        (lambda: explore.NoiseSpectrum(own=2), "own = 2"),
        (lambda: explore.NoisyOscillator(beta=1), "beta = 1"),
        (lambda: explore.ScaleCone(beta=1), "beta = 1"),
        (lambda: explore.Acceleration(kappa=0.5), r"kappa = 0\.5"),
        (lambda: explore.ScaleCone(start=3), "start = 3"),
        (lambda: explore.NoisyOscillator(eta=0), "eta = 0"),
        (lambda: explore.NoisyValley(ratio=0.5), r"ratio = 0\.5"),
        (lambda: explore.NoisyValley(start=[2, 0]), "start = "),
        (lambda: explore.Race(start=(1.7, 0)), r"start = \(1\.7, 0\), .* must be in \[-1\.6, 1\.6\] and \[-1, 1\]"),
        (lambda: explore.Race(start=(0, -1.1)), r"start = \(0, -1\.1\), .* must be in \[-1\.6, 1\.6\] and \[-1, 1\]"),
        (lambda: explore.Race(gamma=0), r"gamma = 0, .* >= 0\.05"),
        (lambda: explore.Race(tilt=-1.3), r"tilt = -1\.3"),
        (lambda: explore.Race(now=5.1), r"now = 5\.1"),
        (lambda: explore.TaskSwitch(gamma=11), "gamma = 11"),
        (lambda: explore.TaskSwitch(entropy=0.1), r"entropy = 0\.1"),
        (lambda: explore.TaskSwitch(curvature=5), "curvature = 5"),
        (lambda: explore.TaskSwitch(minimum=-4), "minimum = -4"),
        (lambda: explore.TaskSwitch(now=14), "now = 14"),
        (lambda: explore.TaskSwitch(switches=[(1, 2)]), r"switches has an entry \(1, 2\)"),
        (lambda: explore.TaskSwitch(switches=[(2, 1, 0), (1, 1, 0)]), r"switches\[i\]\[0\] = 1"),
        (lambda: explore.TaskSwitch(switches=[(2, 9, 0)]), r"switches\[i\]\[1\] = 9"),
        (lambda: explore.TaskSwitch(switches=[(1, 1, 0)] * 9, now=1), "switches has 9 entries"),
        (lambda: explore.TaskSwitch(switches=[(2, 1, 0)], now=1), "now = 1"),
        (lambda: explore.Horizon(start=(1, 2, 3)), r"start has shape \(3,\)"),
        (lambda: explore.Horizon(start=(1, 5)), r"start = \(1, 5\)"),
        (lambda: explore.Horizon(gamma=-1), "gamma = -1"),
        (lambda: explore.Horizon(dt=0.001), r"dt = 0\.001, but it must be in \[0\.01, inf\]"),
    ],
)
def test_arguments_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_traits_are_the_constructors_arguments():
    signature = inspect.signature(explore.Horizon)
    assert str(signature) == ("(start: collections.abc.Sequence = (-3.0, -3.0), gamma: float = 1.0, dt: float = 1.0)")
    assert (explore.Horizon((1, 2)).start, explore.Horizon((1, 2)).gamma) == ((1.0, 2.0), 1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        explore.Horizon(colour=1)
    with pytest.raises(TypeError, match="multiple values for argument 'start'"):
        explore.Horizon((1, 2), start=(1, 2))
    own = type("Own", (explore.Horizon,), {"more": traitlets.Int(2).tag(sync=True, check=lambda name, value: value)})
    assert list(inspect.signature(own).parameters) == ["start", "gamma", "dt", "more"]
    assert (own().start, own().more, own(gamma=2).gamma) == ((-3.0, -3.0), 2, 2.0)


def test_state_travels_as_json_and_comes_back():
    widget = explore.Horizon(start=[1, -2], gamma=0.5, dt=math.inf)
    state = widget.get_state(["start", "gamma", "dt"])
    assert state == {"start": (1.0, -2.0), "gamma": 0.5, "dt": None}  # JSON has no ∞
    widget.set_state({"start": [0.25, 0.5], "dt": 2})
    assert (widget.start, widget.dt) == ((0.25, 0.5), 2.0)
    widget.set_state({"dt": None})
    assert widget.dt == math.inf
    assert repr(widget) == "explore.Horizon(dt=inf, gamma=0.5, start=(0.25, 0.5))"


@pytest.mark.parametrize(("gamma", "start"), [(0.3, -0.6), (0.7, -0.6), (0.7, 0.5)])
def test_double_well_says_what_the_solver_says(gamma, start):
    widget = oracles.DoubleWell(start=start, gamma=gamma)
    best = ln.solve(ln.Objective(gamma=gamma), ln.losses.DoubleWell(), [start, 0.0])
    assert widget.verdict() == ("cross" if best.asymptote[0] > 0 else "stay")
    assert widget.actions()[widget.verdict()] == pytest.approx(best.action, abs=1e-5)
    t, x = course(laws(gamma)[widget.verdict()], start)
    np.testing.assert_allclose(x, best(t)[:, 0], atol=2e-4)


@pytest.mark.parametrize(("rate", "decay", "gamma"), [(10.0, 0.0, 0.0), (2.5, 0.0, 2.0), (-3.0, 1.0, 5.0), (0, 0, 1)])
def test_drift_field_says_where_the_path_ends(rate, decay, gamma):
    widget = oracles.DriftField(minimum=(0.5, -1.5), rate=rate, decay=decay, gamma=gamma)
    drift = ln.drifts.Linear([[-decay, -rate], [rate, -decay]])
    loss = ln.losses.Quadratic(4 * np.eye(2), minimum=[0.5, -1.5])
    direct = ln.solve(ln.Objective(gamma=gamma, drift=drift), loss, [1.5, 1.5], method="action")
    np.testing.assert_allclose(widget.end(), direct.asymptote, atol=1e-6)
    shrink = 4 / (4 + rate**2 + decay * (decay + gamma))  # minimum of L + |f|²/2 + γj|θ|²/2
    np.testing.assert_allclose(widget.effective_minimum(), [0.5 * shrink, -1.5 * shrink], atol=1e-12)
    assert (np.linalg.norm(widget.end() - widget.effective_minimum()) > 1e-3) == (rate != 0 and gamma > 0)


def test_horizon_agrees_with_the_script(horizon):
    for start, gamma, dt in [((-3, -3), 1.0, 1.0), ((2, -1), 0.0, 0.05), ((1, 3), 9.0, 0.2), ((3, 1), 0.4, 500.0)]:
        widget = oracles.Horizon(start, gamma, dt)
        expression = """(() => {
            const [start, gamma, dt] = given, g = start.map((x, i) => M.BOWL[i] * x);
            return [M.optimalStep(M.BOWL, g, gamma, dt), M.newtonStep(M.BOWL, g),
                    M.descentStep(M.BOWL, g, gamma, dt), M.ballisticStep(M.BOWL, g, gamma, dt)];
        })()"""
        steps = horizon(expression, [start, gamma, dt])
        for name, values in zip(("optimal", "newton", "descent", "ballistic"), steps, strict=True):
            values = [float(str(v).replace("Infinity", "inf")) for v in values]
            np.testing.assert_allclose(widget.steps()[name], values, rtol=1e-12)


@pytest.mark.parametrize(
    ("gamma", "dt", "nearest"), [(1.0, math.inf, "newton"), (10.0, 0.1, "descent"), (0.0, 0.05, "ballistic")]
)
def test_horizon_names_the_nearest_limit(gamma, dt, nearest):
    assert oracles.Horizon(gamma=gamma, dt=dt).nearest() == nearest


@pytest.mark.parametrize("widget", WIDGETS)
def test_a_cell_shows_the_twin_first_and_then_the_widget(widget):
    start_ipython()
    from IPython.display import display

    with capture_output() as captured:
        display(widget())
    twin, live = captured.outputs
    assert "lossnav-fallback" in twin.data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in live.data
    assert live.data["text/plain"].startswith(f"explore.{widget.__name__}(")


def test_no_class_of_the_page_means_something_in_an_explorable():
    root = Path(__file__).parents[2]
    named = re.compile(r"\.(ln-[a-z-]+)")
    page = {
        name
        for sheet in [*root.glob("book/_ext/static/*.css"), root / "book/_static/lossnav.css"]
        for name in named.findall(sheet.read_text("utf-8"))
    }
    own = {name for sheet in root.glob("lossnav/explore/**/*.css") for name in named.findall(sheet.read_text("utf-8"))}
    own |= set(re.findall(r"\bln-[a-z-]+", "".join(f.read_text("utf-8") for f in root.glob("lossnav/explore/**/*.js"))))
    assert "ln-rows" in own and "ln-display" in page
    assert page & own <= {"ln-handle", "ln-ring", "ln-descent"}  # which a light in the text falls on


@pytest.mark.parametrize("widget", WIDGETS)
def test_the_docstring_says_the_ranges(widget):
    documented = dict(re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\n\n)", inspect.getdoc(widget) + "\n\n", re.M | re.S))
    assert set(inspect.signature(widget).parameters) <= documented.keys()
    for name, trait in widget().traits(check=lambda check: check is not None).items():
        ends = re.search(r"\[([−\d.e-]+), ([\d.e]+|inf)\]", documented[name])
        if isinstance(trait, traitlets.Float):
            assert (trait.min, trait.max) == tuple(float(end.replace("−", "-")) for end in ends.groups()), name
