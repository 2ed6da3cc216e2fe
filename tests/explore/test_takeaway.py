"""What a reader takes away from an explorable: its state as Python that runs, as an address, and the way back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_layout import WIDGETS, address

from lossnav import explore

pytestmark = pytest.mark.browser

PRESS = """((name) => {
  [...document.querySelectorAll('#one .ln-take button')].find((button) => button.textContent === name).click();
  return document.querySelector('#one .ln-code').value;
})"""

MOVED = {
    "Acceleration": {"kappa": 30.0, "guess": 2.5, "curvature": 0.25},
    "BeliefFilter": {"gamma": 0.37, "noise": 1.25, "now": 77, "jumps": [[80, 2.5]]},
    "BelievedEllipse": {"gradient": [0.5, -0.25], "angle": -22.5, "turn": 12.5, "ratio": 2.5, "gamma": 0.3},
    "Board": {"horizon": "discounted", "metric": "rms", "drift": "decay", "dt": 0.37, "start": [0.5, -1.25]},
    "BrokenCharge": {"start": [0.5, -1.25], "eta": 0.02, "noise": 0.25},
    "Deadline": {"span": 4.5, "gamma": 0.37, "drawn": [0.0, 0.5, 1.0, 1.0, 0.5, 0.25, 0.0]},
    "DoubleWell": {"start": -1.1, "gamma": 2.5},
    "DriftField": {"start": [0.7, -1.2], "rate": -3.5, "gamma": 1.7},
    "Horizon": {"start": [1.5, -2.25], "gamma": 3.1, "dt": None},
    "MetricEllipse": {"angle": 22.5, "ratio": 4.5, "gamma": 0.3},
    "Certainty": {"curvature": 2.5, "entropy": 0.75, "now": 12.5},
    "CloudEdge": {"beta": 0.75, "stretch": 2.5},
    "DecayShrinks": {"decay": 0.75, "gamma": 2.5, "curvature": 0.25},
    "DiscountExponent": {"gamma": 2.5, "curvature": 0.25},
    "DiscountedRoot": {"epsilon": 0.25, "size": 2.5},
    "ExactStep": {"gamma": 2.5, "fading": 0.25, "dt": 3.5},
    "FadingBelief": {"epsilon": 0.25, "size": 2.5, "time": 3.5},
    "FilterGains": {"beta": 0.75, "n": 321},
    "ForgottenNoise": {"power": 0.75, "stiffness": 2.5, "share": 0.75},
    "FollowedBack": {"gamma": 0.37, "start": 0.25},
    "KappaSteps": {"digits": 4.5, "kappa": 321.0},
    "ModeMemory": {"bend": 0.025, "beta": 0.75, "n": 321},
    "MomentumWindow": {"beta": 0.75, "bend": 2.5},
    "MuonQuintic": {"sigma": 0.25, "before": 3, "n": 7},
    "Postponed": {"moved": 0.75, "every": 0.5, "now": 2.5},
    "PathPace": {"power": 0.25, "bend": 2.5, "pace": 1.25},
    "OtherSelves": {"beta": 0.75, "delta": 0.9, "curvature": 0.25, "n": 7},
    "ValueBounds": {"gamma": 0.75, "smoothness": 1.25, "pl": 0.25, "start": 2.5},
    "WhichDiscount": {"power": 0.75, "kappa": 25.0, "gamma": 2.5},
    "PullBack": {"certainty": 2.5, "curvature": 0.75, "place": -0.5},
    "PushAndBrake": {"gamma": 2.5, "now": 4.5},
    "RateDrop": {"drop": 2.5, "memory": 125.0, "n": 321.0},
    "Renamed": {"unit": 2.5, "mix": -0.5, "first": 0.75},
    "MovingNetwork": {"eta": 0.02, "batch": 128, "n": 37},
    "NormalArcs": {"mu": 0.5, "sigma": 1.25, "share": 0.25},
    "NoiseSpectrum": {"slope": 0.25, "own": 0, "n": 37},
    "NoisyOscillator": {"start": [0.5, -1.25], "eta": 0.2, "beta": 0.75, "rho": 3.5},
    "NoisyValley": {"start": [0.5, -1.25], "angle": -30.5, "ratio": 2.5},
    "RegretRace": {"start": [-0.5, 0.75], "gamma": 1.3, "kappa": 25.0},
    "ScaleCone": {"eta": 0.37, "noise": 0.25},
    "Race": {"start": [0.9, -0.25], "gamma": 1.3, "tilt": 0.4, "now": 1.5, "dug": [-0.4, 0.6]},
    "TaskSwitch": {"gamma": 1.2, "switches": [[1.5, 2.0, 1.0]], "now": 2.5},
}


def move(page, state):
    page.evaluate(f"Object.entries({json.dumps(state)}).forEach(([name, value]) => model.set(name, value))")


@pytest.mark.parametrize("make", WIDGETS)
def test_the_state_as_python_makes_the_same_explorable(browser, tmp_path, make):
    state = MOVED.get(make.__name__, {"gamma": 0.37})
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, make()))
        page.wait_until("window.ready === true")
        move(page, state)
        text = page.evaluate(f"{PRESS}('Python')")
    *lines, shown = text.split("\n")
    room: dict[str, object] = {}
    exec("\n".join(lines), room)
    widget = eval(shown, room)
    assert isinstance(widget, make)
    held = widget.get_state()
    assert all(
        np.array_equal(np.array(held[name], dtype=object), np.array(value, dtype=object))
        for name, value in state.items()
    )


def test_the_lines_of_python_compute_what_is_on_show(browser, tmp_path):
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, explore.DoubleWell()))
        page.wait_until("window.ready === true")
        move(page, MOVED["DoubleWell"])
        text = page.evaluate(f"{PRESS}('Python')")
        said = page.evaluate("document.querySelector('#one .ln-best td').textContent")
    room: dict[str, object] = {}
    exec(text, room)
    assert f"{room['path'].action:.4f}".replace("-", "−") == said


@pytest.mark.parametrize("make", WIDGETS)
def test_an_address_brings_the_state_back_and_reset_the_first_one(browser, tmp_path, make):
    state = MOVED.get(make.__name__, {"gamma": 0.37})
    read = f"({json.dumps(sorted(state))}).map((name) => model.get(name))"
    wanted = [state[name] for name in sorted(state)]
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, make()))
        page.wait_until("window.ready === true")
        first = page.evaluate(read)
        move(page, state)
        link = page.evaluate(f"{PRESS}('Link')")
        page.evaluate(f"{PRESS}('Reset')")
        assert page.evaluate(read) == first != wanted
        assert page.evaluate("document.querySelector('#one .ln-code').hidden")
        page.open("about:blank")
        page.open(link)
        page.wait_until("window.ready === true")
        assert page.evaluate(read) == wanted
        assert page.complaints() == []


@pytest.mark.parametrize(
    "hash", ["#explore=Horizon&gamma=much", "#explore=Horizon&start=[1]", "#explore=Other&gamma=3", "#a-section"]
)
def test_an_address_that_is_none_changes_nothing(browser, tmp_path, hash):
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, explore.Horizon()) + hash)
        page.wait_until("window.ready === true")
        assert page.evaluate("model.get('gamma') === 1 && model.get('start').length === 2")
        assert page.complaints() == []
