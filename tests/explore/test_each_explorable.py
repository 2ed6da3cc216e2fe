"""What every explorable does on a page of its own, which is opened once for all of it.

It draws what node draws, hands its state on as Python and as an address, keeps its views in step, and leaves.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from handles import HANDLES, assert_answers_the_keyboard, moves_readout
from javascript import CURVES
from test_layout import WIDGETS
from test_takeaway import PRESS, move

pytestmark = pytest.mark.browser

# What one moves where there is no γ, and how it is then told.
KNOB = {
    "Acceleration": ("guess", 2.5, "2.50"),
    "AssumptionPlot": ("rate", 2.5, "2.50"),
    "Certainty": ("now", 2.5, "2.50"),
    "CloudEdge": ("stretch", 1.25, "1.25"),
    "DecayShrinks": ("curvature", 2.5, "2.50"),
    "DiscountedRoot": ("epsilon", 0.25, "0.250"),
    "FadingBelief": ("epsilon", 0.25, "0.25"),
    "FilterGains": ("n", 321, "321"),
    "ForgottenNoise": ("share", 0.75, "0.75"),
    "KappaSteps": ("digits", 4.5, "4.5"),
    "ModeMemory": ("n", 321, "321"),
    "MomentumWindow": ("bend", 1.25, "1.25"),
    "Postponed": ("now", 2.5, "2.50"),
    "PathPace": ("pace", 1.25, "1.25"),
    "WhichDiscount": ("gamma", 2.5, "2.50"),
    "OtherSelves": ("n", 7, "n\u00a0=\u00a07"),
    "ValueBounds": ("start", 2.5, "2.50"),
    "MuonQuintic": ("n", 12, "n\u00a0=\u00a012"),
    "PullBack": ("place", 0.75, "0.75"),
    "RateDrop": ("n", 321, "321"),
    "Renamed": ("unit", 2.5, "2.50"),
    "MovingNetwork": ("batch", 96, "S\u00a0=\u00a096"),
    "NormalArcs": ("sigma", 0.9, "0.90²"),
    "NoiseSpectrum": ("n", 321, "After 321 steps"),
    "Board": ("dt", 0.9, "Δt\u00a0=\u00a00.90"),
    "BrokenCharge": ("noise", 0.75, "ν\u00a0=\u00a00.75"),
    "ScaleCone": ("start", 1.5, "From 1.50"),
    "NoisyOscillator": ("beta", 0.9, "0.90"),
    "NoisyValley": ("angle", 12.5, "12.5°"),
    "TunedRates": ("tries", 2, "up to 5 rates"),
}
# A state for each, to be taken away and brought back; where none is given, another γ.
MOVED = {
    "Acceleration": {"kappa": 30.0, "guess": 2.5, "curvature": 0.25},
    "AssumptionPlot": {"gamma": 2.5, "decay": 0.5, "friction": 9.5, "impatience": 2.5, "rate": 4.5},
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
    "TunedRates": {"tries": 1, "rate": -2},
    "RateDrop": {"drop": 2.5, "memory": 125.0, "n": 321},
    "Renamed": {"unit": 2.5, "mix": -0.5, "first": 0.75},
    "MovingNetwork": {"eta": 0.02, "batch": 128, "n": 37},
    "NormalArcs": {"mu": 0.5, "sigma": 1.25, "share": 0.25},
    "NoiseSpectrum": {"slope": 0.25, "own": 0, "n": 37},
    "NoisyOscillator": {"start": [0.5, -1.25], "eta": 0.2, "beta": 0.75, "rho": 3.5},
    "NoisyValley": {"start": [0.5, -1.25], "angle": -30.5, "ratio": 2.5},
    "BallDecides": {"angle": -12.5, "gamma": 0.37, "norm": 0, "start": [0.5, -0.75]},
    "LookBill": {"gamma": 0.37, "price": 0.05, "eta": 2.5, "every": 1.25},
    "OneMap": {"gamma": 0.37, "speed": 1.5, "start": [0.5, -1.25]},
    "RegretRace": {"start": [-0.5, 0.75], "gamma": 1.3, "kappa": 25.0},
    "ScaleCone": {"eta": 0.37, "noise": 0.25},
    "Race": {"start": [0.9, -0.25], "gamma": 1.3, "tilt": 0.4, "now": 1.5, "dug": [-0.4, 0.6]},
    "TaskSwitch": {"gamma": 1.2, "switches": [[1.5, 2.0, 1.0]], "now": 2.5},
}


HIDDEN = "getComputedStyle(document.querySelector('.lossnav-fallback')).display === 'none'"
SAID = """[...document.querySelectorAll('.lossnav-explorable')].map((root) =>
  [...root.querySelectorAll('.lossnav-readout')].map((e) => e.textContent).join('|'))"""
# The arrow that moves what has the focus, if it stands at an end.
INWARD = """(({ value, ariaValueNow, min, ariaValueMin }) =>
  Number(value ?? ariaValueNow) === Number(min ?? ariaValueMin) ? 'ArrowRight' : 'ArrowLeft')(document.activeElement)"""


@pytest.fixture(scope="module", params=WIDGETS)
def shown(request, stand):
    """An explorable's class, and a page on which it has been drawn for the first time."""
    return request.param, stand(request.param())


def anew(page, state: dict | None = None, hash: str = ""):
    """Take the views away, and draw the first frame of another state (None: of the page's first one)."""
    wanted = "window.first" if state is None else json.dumps(state)
    page.evaluate(f"anew({wanted}, {json.dumps(hash)})")


def test_a_browser_draws_what_node_draws(shown, frame):
    make, page = shown
    root = "document.querySelector('#one .lossnav-explorable')"
    drawn = frame(make(), page.evaluate(f"{root}.clientWidth"))
    assert page.evaluate(f"({CURVES})({root})") == drawn["curves"]
    words = page.evaluate(f"{root}.textContent").replace("\u00a0", " ")
    assert words == drawn["words"]


def test_the_state_as_python_makes_the_same_explorable(shown):
    make, page = shown
    state = MOVED.get(make.__name__, {"gamma": 0.37})
    anew(page)
    move(page, state)
    *lines, call = page.evaluate(f"{PRESS}('Python')").split("\n")
    room: dict[str, object] = {}
    exec("\n".join(lines), room)
    widget = eval(call, room)
    assert isinstance(widget, make)
    held = widget.get_state()
    assert all(
        np.array_equal(np.array(held[name], dtype=object), np.array(value, dtype=object))
        for name, value in state.items()
    )


def test_every_handle_answers_the_mouse_and_the_keyboard(shown):
    _, page = shown
    anew(page)
    count = page.evaluate(f"document.querySelectorAll('#one :is({HANDLES})').length")
    assert count
    for index in range(count):
        assert moves_readout(page, 0, index, "mouse"), f"handle {index} is dead to the mouse"
        assert_answers_the_keyboard(page, 0, index)


def test_views_of_one_widget_stay_in_step_and_leave_cleanly(shown):
    make, page = shown
    anew(page)
    page.wait_until(HIDDEN)
    page.evaluate("(() => { window.leave = widget.render({ model, el: document.getElementById('two') }); })()")
    before = page.evaluate(SAID)
    page.evaluate("document.querySelector('#one [role=slider], #one input[type=range]').focus()")
    page.key(page.evaluate(INWARD))
    first, second = page.evaluate(SAID)
    assert first == second != before[0] == before[1]
    # Python hears of it once the hand rests.
    page.wait_until("Object.keys(window.saved ?? {}).some((name) => window.saved[name] !== window.first[name])")
    trait, value, written = KNOB.get(make.__name__, ("gamma", 0.9, "0.90"))
    page.evaluate(f"model.set('{trait}', {value})")
    assert all(written in text for text in page.evaluate(SAID))
    page.evaluate("cleanup()")
    assert page.evaluate(HIDDEN) is False


def test_an_address_brings_the_state_back_and_reset_the_first_one(shown):
    make, page = shown
    state = MOVED.get(make.__name__, {"gamma": 0.37})
    read = f"({json.dumps(sorted(state))}).map((name) => model.get(name))"
    wanted = [state[name] for name in sorted(state)]
    anew(page)
    first = page.evaluate(read)
    move(page, state)
    link = page.evaluate(f"{PRESS}('Link')")
    page.evaluate(f"{PRESS}('Reset')")
    assert page.evaluate(read) == first != wanted
    assert page.evaluate("document.querySelector('#one .ln-code').hidden")
    assert page.complaints() == []  # of all that was done here
    address, mark, hash = link.partition("#")
    assert address == page.evaluate("location.href")
    anew(page, hash=mark + hash)
    assert page.evaluate(read) == wanted
    assert page.complaints() == []
