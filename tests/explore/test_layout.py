"""The views in a browser, away from any book: whatever the state and the width, nothing spills, jumps or breaks."""

from __future__ import annotations

import json

import pytest
from handles import HANDLES, LONG, moves_readout

from lossnav import explore

pytestmark = pytest.mark.browser

WIDGETS = [getattr(explore, name) for name in explore.__all__ if name != "Explorable"]
NARROWEST = 320
PHONES, DESKS = (NARROWEST, 340, 390), (700, 1100)

# The window has a width, and the explorable in it has been laid out for it: it is told of that between two frames.
TAKEN = """(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  while (document.documentElement.clientWidth !== %d) await frame();
  await frame();
  await frame();
})()"""

# For each state the view is looked at unfolded, and folded where that is asked for.
FUZZ = """(folds) => {
  const root = document.querySelector(".lossnav-explorable"), details = root.querySelector(".ln-details");
  const heights = new Set(), spilled = new Set(), collided = new Set();
  let seed = 7 + innerWidth;  // other states at each width
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const between = (low, high) => (random() < 0.1 ? low : random() < 0.1 ? high : low + (high - low) * random());
  const oneOf = (...things) => things[Math.floor(random() * things.length)];
  const draw = { Acceleration: () => ({ kappa: 1000 ** between(0, 1), guess: 0.5 * 8 ** between(0, 1),
                                        curvature: 0.001 ** between(0, 1) }),
                 BeliefFilter: () => ({ gamma: 2 * between(0, 1) ** 2, decay: 0.5 * between(0, 1) ** 2,
                                        diffusion: 0.02 * 50 ** between(0, 1), noise: 0.1 * 50 ** between(0, 1),
                                        now: Math.round(1 + 19999 * between(0, 1) ** 4) }),
                 Board: () => ({ horizon: oneOf("far", "discounted"), metric: oneOf("plain", "rms"),
                                 drift: oneOf("none", "decay"), belief: oneOf("exact", "average", "fading"),
                                 curvature: oneOf("none", "average", "instant", "signal"),
                                 time: oneOf("first", "exact"),
                                 start: [between(-3.8, 3.8), between(-3.8, 3.8)],
                                 dt: 0.02 * 100 ** between(0, 1), noise: 2 * between(0, 1) }),
                 DoubleWell: () => ({ start: between(-1.5, 1.5), gamma: 0.05 * 100 ** between(0, 1) }),
                 DriftField: () => ({ start: [between(-1.9, 1.9), between(-1.9, 1.9)],
                                      minimum: [between(-1.9, 1.9), between(-1.9, 1.9)], rate: between(-10, 10),
                                      decay: 4 * between(0, 1) ** 2, gamma: 10 * between(0, 1) ** 2 }),
                 MetricEllipse: () => ({ start: [between(-2.6, 2.6), between(-2.6, 2.6)], angle: between(-90, 90),
                                         ratio: between(1, 8), gamma: 10 * between(0, 1) ** 2 }),
                 MovingNetwork: () => ({ eta: 0.001 * 30 ** between(0, 1), batch: Math.round(8 * 32 ** between(0, 1)),
                                         beta: 1 - 0.5 * 0.02 ** between(0, 1),
                                         n: Math.round(2 * 750 ** between(0, 1)) }),
                 NoiseSpectrum: () => ({ eta: 0.001 * 100 ** between(0, 1), beta: 1 - 0.01 ** between(0, 1),
                                         slope: between(0, 1), own: Math.round(random()),
                                         n: Math.round(2 * 1500 ** between(0, 1)) }),
                 BrokenCharge: () => ({ start: [between(-2.2, 2.2), between(-2.2, 2.2)],
                                        eta: 0.001 * 100 ** between(0, 1), beta: 1 - 0.1 ** between(0, 1),
                                        decay: 0.1 * between(0, 1) ** 2, noise: between(0, 1) }),
                 ScaleCone: () => ({ eta: 0.01 * 100 ** between(0, 1), beta: 1 - 0.01 ** between(0, 1),
                                     decay: 0.001 * 100 ** between(0, 1), noise: between(0, 1),
                                     start: 0.25 * 8 ** between(0, 1) }),
                 Race: () => ({ start: [between(-1.6, 1.6), between(-1, 1)], gamma: 0.05 * 200 ** between(0, 1),
                                tilt: random() < 0.15 ? 0 : between(-1.2, 1.2), now: between(0, 5),
                                dug: [between(-1.4, 1.4), random() < 0.3 ? 0 : between(-0.8, 1.5)] }),
                 TaskSwitch: () => {
                   const task = () => [0.25 * 16 ** between(0, 1), between(-3, 3)], switches = [];
                   for (let time = between(0, 9); random() < 0.6 && switches.length < 8; time += between(0, 13))
                     switches.push([time, ...task()]);
                   const [curvature, minimum] = random() < 0.2 && switches.length ? switches.at(-1).slice(1) : task();
                   return { gamma: 10 * between(0, 1) ** 2, entropy: 0.2 * 10 ** between(0, 1), curvature, minimum,
                            now: (switches.at(-1)?.[0] ?? 0) + between(0, 13), switches };
                 },
                 NoisyOscillator: () => ({ start: [between(-1.8, 1.8), between(-1.8, 1.8)],
                                           eta: 0.001 * 1000 ** between(0, 1), beta: 1 - 0.01 ** between(0, 1),
                                           rho: 0.1 * 100 ** between(0, 1) }),
                 NoisyValley: () => ({ start: [between(-1.6, 1.6), between(-1.6, 1.6)], angle: between(-90, 90),
                                       ratio: 16 ** between(0, 1) }),
                 Horizon: () => ({ start: [between(-3.8, 3.8), between(-3.8, 3.8)], gamma: 10 * between(0, 1) ** 2,
                                   dt: random() < 0.15 ? null : 0.01 * 1e5 ** between(0, 1) }) };
  // What is not named here is drawn evenly from the ranges of its traits.
  const any = (range) => {
    if (Array.isArray(range[0])) return range.map(any);
    const value = between(range[0], range[1]);
    return range[2] ? Math.round(value) : value;
  };
  const evenly = () => Object.fromEntries(Object.entries(limits).map(([name, range]) => [name, any(range)]));
  let broken = null;
  for (let i = 0; i < 10; i++) {
    const state = (draw[root.dataset.explorable] ?? evenly)();
    model.put(state);
    for (const folded of folds) {
      details.open = !folded;
      heights.add(`${folded ? "folded" : "unfolded"}: ${root.offsetHeight}`);
      if (/NaN|undefined|Infinity/.test(root.innerHTML)) broken ??= JSON.stringify(state);
      const frame = root.getBoundingClientRect();
      const texts = root.querySelectorAll("p, td, th, li, text, output, button, math");
      const seen = [...texts].filter((text) => text.checkVisibility());
      for (const text of seen) {
        const box = text.getBoundingClientRect();
        if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5) spilled.add(text.textContent);
      }
      const labels = seen.filter((text) => text.ownerSVGElement).map((text) => {
        const style = getComputedStyle(text), box = text.getBoundingClientRect();
        const rim = style.stroke === "none" ? 0 : parseFloat(style.strokeWidth) / 2;  // its halo may touch a neighbour
        return [text.textContent, new DOMRect(box.x + rim, box.y + rim, box.width - 2 * rim, box.height - 2 * rim)];
      });
      labels.forEach(([one, a], j) => labels.slice(0, j).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // A line is taller than its letters.
        if (across > 1 && down > 3) collided.add(`${other} | ${one} | ${JSON.stringify(state)}`);
      }));
    }
  }
  const wide = document.documentElement.scrollWidth - innerWidth;
  return { heights: [...heights], spilled: [...spilled], collided: [...collided].slice(0, 3), broken, wide };
}"""


@pytest.fixture(scope="module", params=WIDGETS)
def phone(request, stand):
    """A page of a phone with an explorable, for all of it."""
    return stand(request.param(), (PHONES[-1], 900), phone=True)


# What is to be seen at once: the plot and the sentence, the main control, and then the whole with "Details" folded.
SEEN = """(() => {
  const root = document.querySelector("#one .lossnav-explorable"), top = root.getBoundingClientRect().top;
  const [stage, said, control] = [".ln-stage", ".ln-verdict", ".ln-control"].map(
    (part) => root.querySelector(part).getBoundingClientRect().bottom - top);
  return [Math.max(stage, said), control, root.offsetHeight];
})()"""
RIMS = 16  # pixels of the page here, on both sides together
PHONE, COLUMN = 390 - 2 * 16 + RIMS, 704 + RIMS  # what a book's page leaves its text on a phone and on a desk


# On the page as it comes: it stands before the tests that move something.
def test_an_explorable_fits_one_screen(phone):
    long = phone.evaluate("document.querySelector('#one .lossnav-explorable').dataset.explorable")
    seen, moved, _ = at_width(phone, PHONE, SEEN)
    assert seen <= 700 and moved <= LONG.get(long, 700)
    *_, height = at_width(phone, COLUMN, SEEN)
    assert height <= LONG.get(long, 780)
    at_width(phone, PHONES[-1], "true")


# A browser's own slider answers each pointer; test_each_explorable.py moves them all by mouse.
def test_handles_answer_the_finger(phone):
    ranges = phone.evaluate(f"[...document.querySelectorAll('#one :is({HANDLES})')].map((e) => e.type === 'range')")
    assert ranges
    for index in [n for n, own in enumerate(ranges) if not own or n == ranges.index(True)]:
        assert moves_readout(phone, 0, index, "finger"), f"handle {index} is dead to the finger"


# Unfolded, it shows all that it does folded.
def test_no_state_breaks_the_layout(phone):
    for width in (*PHONES, *DESKS):
        folds = [True, False] if width == PHONES[-1] else [False]
        layout = at_width(phone, width, f"({FUZZ})({json.dumps(folds)})")
        assert layout["broken"] is None
        assert layout["spilled"] == []
        if width > NARROWEST:  # there, nothing passes its box, and that is all
            assert layout["collided"] == []
            assert layout["wide"] <= 0
            assert len(layout["heights"]) == len(folds), f"the page below jumps at {width}: {layout['heights']}"
    assert (phone.failures(), phone.complaints()) == ([], [])


def at_width(page, width, script):
    """What a script says once the explorable has taken another width of the window."""
    page.tab.set_viewport_size({"width": width, "height": 900})
    return page.evaluate(f"(async () => {{ await {TAKEN % width}; return {script}; }})()")


@pytest.mark.parametrize("make", [explore.DriftField, explore.Horizon, explore.MetricEllipse, explore.NoisyValley])
def test_a_plane_has_most_of_the_column_of_the_book(stand, make):
    page = stand(make(), (720, 900))
    plane = page.evaluate("document.querySelector('.ln-stage .ln-panel').getBoundingClientRect().width")
    assert plane > 0.5 * 704


# How many points of the drawn lines each label covers, the labels inside the plane being those that could.
COVERED = """(() => {
  const points = [...document.querySelectorAll("#one svg svg path, #one svg > g > path")].flatMap((path) => {
    const at = path.getScreenCTM(), length = path.getTotalLength();
    return Array.from({ length: 60 }, (_, i) => path.getPointAtLength((length * i) / 59).matrixTransform(at));
  });
  return Object.fromEntries([...document.querySelectorAll("#one .ln-stage .ln-text")].map((text) => {
    const box = text.getBoundingClientRect();
    const rim = 4;  // the halo and the air above and below the letters
    const inside = ({ x, y }) => x > box.left + rim && x < box.right - rim && y > box.top + rim && y < box.bottom - rim;
    return [text.textContent, points.filter(inside).length];
  }));
})()"""


@pytest.mark.parametrize("make", [explore.Horizon, explore.MetricEllipse, explore.TaskSwitch])
def test_labels_keep_off_the_lines(stand, make):
    page = stand(make(), (PHONES[1], 900), phone=True)
    for width in (*PHONES[1:], *DESKS):
        covered = at_width(page, width, COVERED)
        assert len(covered) > 1
        assert not any(covered.values()), (width, covered)
