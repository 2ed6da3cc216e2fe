"""Explorables in which time runs, in a browser: their buttons, and what a reader who wants little motion gets."""

from __future__ import annotations

import json

import pytest
from handles import middle

from lossnav import explore

pytestmark = pytest.mark.browser

BUTTON = "[...document.querySelectorAll('#one .ln-button')].find((b) => ['%s', '%s'].includes(b.textContent))"


def press(page, *names):
    """Press a button by its name (or by either of two), with the keyboard."""
    page.evaluate(f"{BUTTON % (names[0], names[-1])}.focus()")
    page.key("Enter")


def test_stream_waits_for_readers_who_want_little_motion(stand):
    page = stand(explore.BeliefFilter(), (700, 900))
    assert page.evaluate("new Promise((done) => setTimeout(() => done(model.get('now')), 400))") == 120
    press(page, "Play")
    page.wait_until("model.get('now') > 122")
    assert page.evaluate("window.saved === undefined")  # Python is not told of every step
    assert page.evaluate("document.querySelector('#one .lossnav-readout').ariaLive") == "off"  # nor is a listener
    press(page, "Pause")
    stopped = page.evaluate("model.get('now')")
    page.wait_until(f"window.saved?.now === {stopped}")
    assert page.evaluate("new Promise((done) => setTimeout(() => done(model.get('now')), 300))") == stopped


def test_stream_runs_by_itself_while_it_can_be_seen(stand):
    page = stand(explore.BeliefFilter(), (700, 900), motion=True)
    page.wait_until("model.get('now') > 121")
    page.evaluate("document.getElementById('one').style.marginTop = '3000px'")
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    hidden = page.evaluate("model.get('now')")
    assert page.evaluate("new Promise((done) => setTimeout(() => done(model.get('now')), 400))") == hidden
    page.evaluate("document.getElementById('one').style.marginTop = '0'")
    page.wait_until(f"model.get('now') > {hidden}")
    page.evaluate("cleanup()")
    left = page.evaluate("model.get('now')")
    assert page.evaluate("new Promise((done) => setTimeout(() => done(model.get('now')), 300))") == left


def test_only_one_view_of_a_widget_runs(stand):
    page = stand(explore.BeliefFilter(), (700, 1800))
    page.evaluate("(() => { window.leave = widget.render({ model, el: document.getElementById('two') }); })()")
    first = "[...document.querySelectorAll('.ln-control .ln-button:first-child')]"
    page.evaluate(f"{first}[0].click()")
    assert page.evaluate(f"{first}.map((b) => b.textContent)") == ["Pause", "Play"]
    page.evaluate(f"{first}[1].click()")
    assert page.evaluate(f"{first}.map((b) => b.textContent)") == ["Play", "Pause"]


def test_step_and_jump(stand):
    page = stand(explore.BeliefFilter(), (700, 900))
    press(page, "Step")
    assert page.evaluate("model.get('now')") == 121
    press(page, "Jump")
    assert page.evaluate("model.get('now')") == 122
    ((step, size),) = page.evaluate("model.get('jumps')")
    assert step == 122 and abs(size) == 2.5
    explore.BeliefFilter(now=122, jumps=[(step, size)])  # a state that Python takes


@pytest.mark.parametrize("moving", [False, True])
def test_switch_comes_now_and_time_goes_on(stand, moving):
    page = stand(explore.TaskSwitch(curvature=0.5, minimum=2.0, now=1.0), (1000, 900), motion=moving)
    press(page, "Switch")
    assert page.evaluate("model.get('switches')") == [[1.0, 0.5, 2.0]]
    assert page.evaluate("model.get('now')") == pytest.approx(6.0) or moving
    page.wait_until("Math.abs(model.get('now') - 6) < 1e-9")  # runs for five units, then rests
    page.evaluate("model.set('curvature', 2)")
    press(page, "Switch")
    assert page.evaluate("model.get('switches').length") == 2
    page.wait_until("model.get('now') > 7")
    press(page, "Restart")
    assert page.evaluate("[model.get('now'), model.get('switches').length]") == [0, 0]


def test_two_switches_at_one_time_are_one(stand):
    page = stand(explore.TaskSwitch(switches=[(2.0, 0.5, 1.0)], now=2.0, curvature=4.0, minimum=-1.0), (1000, 900))
    press(page, "Switch")
    assert page.evaluate("model.get('switches')") == [[2.0, 4.0, -1.0]]


def test_there_is_an_end_to_switching(stand):
    life = [(float(i), 2.0 if i % 2 else 0.5, 0.0) for i in range(8)]
    page = stand(explore.TaskSwitch(switches=life, now=8.0), (1000, 900))
    button = BUTTON % ("Switch", "Switch")
    assert page.evaluate(f"{button}.disabled") is True
    press(page, "Restart")
    assert page.evaluate(f"{button}.disabled") is False


def test_bending_the_bowl_sets_the_curvature(stand):
    page = stand(explore.TaskSwitch(curvature=1.0, minimum=0.0), (1000, 900))
    x, y = middle(page, '[aria-label="curvature of the next task"]')
    page.drag((x, y), (x, y - 30))
    assert page.evaluate("model.get('curvature')") > 1.2
    assert page.evaluate("model.get('minimum')") == 0


@pytest.mark.parametrize(
    ("make", "trait"), [(explore.Certainty, "now"), (explore.RateDrop, "n"), (explore.FilterGains, "n")]
)
def test_a_mark_runs_when_it_is_asked_to_and_starts_again_at_its_end(stand, make, trait):
    end = make().traits()[trait].max
    page = stand(make(**{trait: end}), (700, 900))
    assert page.evaluate(f"new Promise((done) => setTimeout(() => done(model.get('{trait}')), 200))") == end
    press(page, "Play")
    page.wait_until(f"model.get('{trait}') > 0 && model.get('{trait}') < {end / 2}", 20.0)
    press(page, "Pause")
    stopped = page.evaluate(f"model.get('{trait}')")
    assert page.evaluate(f"new Promise((done) => setTimeout(() => done(model.get('{trait}')), 200))") == stopped


# Where no time passes, and what the picture is of instead. Every other explorable has a button that lets time pass.
STILL = {
    "AssumptionPlot": "curvature over rate, over the rate",
    "BelievedEllipse": "one step from one gradient, by five beliefs",
    "CloudEdge": "a law that holds at all times, over the step",
    "DecayShrinks": "where a path ends, over curvature",
    "DiscountExponent": "a rate, over curvature",
    "DiscountedRoot": "a step's length, over the size of gradients",
    "FollowedBack": "the energy of two plans over places: time has been eliminated",
    "KappaSteps": "how many steps it takes, over the condition number",
    "LookBill": "what it costs to look every T, over T",
    "MomentumWindow": "what one step keeps, over curvature",
    "PathPace": "what a whole path costs, over its pace",
    "Preconditioner": "a rate, over curvature",
    "PullBack": "what a weight costs, over its place",
    "Renamed": "where five rules go, whatever their pace: names change the path",
    "TunedRates": "what recorded runs reached, over their learning rate",
    "ValueBounds": "a least cost, over the start",
    "WhichDiscount": "what a whole path costs, over the discount rate",
}
# Explorables whose paths are drawn: dots run along them. The three of the noisy valley leave its lines.
DOTS = {
    "Acceleration": 5,
    "BallDecides": 2,
    "Board": 1,
    "BrokenCharge": 1,
    "Deadline": 3,
    "DoubleWell": 2,
    "DriftField": 2,
    "Extremals": 3,
    "MetricEllipse": 1,
    "NoisyOscillator": 2,
    "NoisyValley": 3,
    "OneMap": 3,
    "PlannedSteps": 3,
    "RegretRace": 7,
    "ScaleCone": 1,
    "RingLock": 3,
    "StayMap": 2,
}
SEVERAL = """<!doctype html><html lang="en"><meta charset="utf-8">
<style>%s .box { position: absolute; width: 700px; }</style>
<script>
  window.mount = async (name, module, state) => {
    const model = { get: (trait) => state[trait], set(trait, value) { state[trait] = value; } };
    for (const unused of ["save_changes", "on", "off"]) model[unused] = () => {};
    const el = document.body.appendChild(document.createElement("div"));
    [el.id, el.className, el.state] = [name, "box", state];
    const { default: widget } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
    widget.render({ model, el });
    return [...el.querySelectorAll(".ln-button")].map((button) => button.textContent);
  };
  const places = ({ cx, cy }) => [cx.baseVal.value, cy.baseVal.value];
  const dots = (el) => [...el.querySelectorAll(".ln-run .ln-dot")].map(places);
  const press = (el, text) => [...el.querySelectorAll(".ln-button")].find((b) => b.textContent === text).click();
  const away = ([x, y], path) => {  // how far a point of the drawing is from a line of it
    const length = path.getTotalLength(), count = Math.ceil(length / 2) || 1;
    const found = Array.from({ length: count + 1 }, (_, i) => path.getPointAtLength((length * i) / count));
    return Math.min(...found.map((at) => Math.hypot(at.x - x, at.y - y)));
  };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  window.reset = async (name, trait) => {
    const el = document.getElementById(name), values = [el.state[trait]];
    press(el, "Play");
    for (let i = 0; i < 400 && el.state[trait] === values[0]; i++) await wait(50);
    values.push(el.state[trait]);
    press(el, "Reset");
    for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame);
    return [...values, el.state[trait]];
  };
  window.play = async (names) => {
    const els = names.map((name) => document.getElementById(name));
    els.forEach((el) => press(el, "Play"));
    const until = async (right) => { for (let i = 0; i < 400 && !els.every(right); i++) await wait(50); };
    await until((el) => dots(el).length);
    const before = els.map(dots);
    await until((el, i) => `${dots(el).at(-1)}` !== `${before[i].at(-1)}`);
    els.forEach((el) => press(el, "Pause"));
    const after = els.map(dots);
    await wait(100);
    const rested = els.map(dots);
    els.forEach((el) => press(el, "Reset"));
    return els.map((el, i) => {
      const lines = [...el.querySelectorAll("svg path.ln-line")];
      const off = after[i].map((dot) => Math.min(...lines.map((path) => away(dot, path))));
      return { before: before[i], after: after[i], rested: rested[i], off, left: dots(el).length };
    });
  };
</script></html>"""


@pytest.fixture(scope="module")
def several(stand, tmp_path_factory):
    """A page on which all explorables lie above each other, where all of them can be seen; and the buttons of each."""
    folder, buttons = tmp_path_factory.mktemp("several"), {}
    (folder / "page.html").write_text(SEVERAL % explore.MetricEllipse()._css, encoding="utf-8")
    with stand.browser().page((700, 900)) as page:
        page.open((folder / "page.html").as_uri())
        for name in sorted(set(explore.__all__) - {"Explorable"}):
            widget = getattr(explore, name)()
            arguments = ", ".join(map(json.dumps, (name, widget._esm, widget.get_state(widget._state_names()))))
            buttons[name] = page.evaluate(f"window.mount({arguments})")
        yield page, buttons


def test_time_can_be_let_pass_or_there_is_none(several):
    page, buttons = several
    first, later, last = page.evaluate("window.reset('NormalArcs', 'share')")
    assert first != later and last == first, "Reset does not stop the time"
    assert set(buttons) >= STILL.keys()
    assert [name for name in buttons if {"Play", "Pause", "Run"}.isdisjoint(buttons[name])] == sorted(STILL)


def test_dots_run_along_drawn_paths_while_they_are_asked_to(several):
    page, _ = several
    for name, dots in zip(DOTS, page.evaluate(f"window.play({json.dumps(list(DOTS))})"), strict=True):
        assert len(dots["before"]) == len(dots["after"]) == DOTS[name], name
        assert dots["before"][-1] != dots["after"][-1], name
        assert dots["rested"] == dots["after"], name
        assert dots["left"] == 0, f"{name}: Reset leaves dots"
        if name != "NoisyValley":
            assert max(dots["off"]) < 2, (name, dots["off"])
