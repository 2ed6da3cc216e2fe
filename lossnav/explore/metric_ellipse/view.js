// The view of a metric: a bowl, the ellipse of equally dear velocities, the optimal path, and the steps that it turns.

import { clamp, compact, discountDial, draw, explorable, figure, fixed, handle, lineSample, readoutNode, sampleTable, scaffold, slider, trace, verdictLines } from "../kit.js";
import { around, dense, placeLabels } from "../labels.js";
import { bowlContours, drawArrow, planePoint, squareFrame, squareGround, squareWindow } from "../plane.js";
import { VALLEY, between, ellipseThrough, metricLaw, restTimes } from "./model.js";

const EDGE = 3;
const HOLD = 2.6; // farthest start
const WIDEST = 8; // largest axis ratio
const SIZE = 0.7; // the drawn ellipse, in unit ellipses
const REACH = 1.7; // length of the arrows
const AGREE = 1; // degrees
const STEPS = {
  natural: { name: "natural gradient", dash: "8 3 2 3" },
  ballistic: { name: "ballistic", dash: "none" },
  newton: { name: "Newton", dash: "9 3 2 3 2 3" },
  descent: { name: "gradient descent", dash: "7 4" },
};

function buildMetricEllipse(root, state) {
  const angle = slider({
    symbol: "α",
    name: "angle of the cheap direction",
    marks: [-90, -45, 0, 45, 90].map((value) => ({ value, label: `${fixed(value, 0)}°` })),
    toPosition: (v) => (v + 90) / 180,
    toValue: (u) => 180 * u - 90,
    text: (v) => `${fixed(v, 1)}°`,
    onInput: (v) => state.set("angle", v),
    steps: 360,
  });
  const ratio = slider({
    symbol: "ρ",
    name: "axis ratio of the ellipse",
    marks: [1, 2, 4, 8].map((value) => ({ value, label: String(value) })),
    toPosition: (v) => Math.log(v) / Math.log(WIDEST),
    toValue: (u) => WIDEST ** u,
    text: (v) => fixed(v, 2),
    onInput: (v) => state.set("ratio", v),
  });
  const gamma = discountDial(state);
  const [stage, readout, table] = [figure(), readoutNode(), turnTable()];
  scaffold(root, {
    label: "how a metric turns the step",
    title: "A metric turns the step",
    hint: "Turn the ellipse: at which angle do all directions agree? Drag its end, or the start; then send γ to 0.",
    areas: { control: [angle.node, ratio.node, gamma.node], stage: [stage], words: [table.node, readout] },
  });

  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  let frame = null;
  const start = planePoint(stage, state, "start", { label: "start θ(0)", color: "var(--ln-ink)", hold: HOLD });
  const turn = (by) => state.set("angle", ((state.get("angle") + by + 270) % 180) - 90);
  const stretch = (by) => state.set("ratio", clamp(state.get("ratio") * by, 1, WIDEST));
  const tip = handle(stage, {
    label: "end of the metric's ellipse; arrow keys left and right turn it, up and down stretch it",
    color: "var(--ln-neutral)",
    onDrag(px, py) {
      const [x, y] = state.get("start");
      const found = ellipseThrough([frame.x.invert(px) - x, frame.y.invert(py) - y], SIZE, WIDEST);
      state.set("angle", found.angle);
      state.set("ratio", found.ratio);
    },
    onKey([dx, dy], big) {
      if (dx) turn(-dx * (big ? 15 : 2));
      else stretch((big ? 1.5 : 1.05) ** dy);
    },
    onEnd: (side) => state.set("ratio", side < 0 ? 1 : WIDEST),
  });

  return {
    layout(width) {
      frame = squareFrame(stage, root, width, { edge: EDGE });
      ground.replaceChildren();
      squareGround(ground, frame, [-3, -2, -1, 0, 1, 2, 3], ["θ₁ (h = 1/4)", "θ₂ (h = 2)"]);
      bowlContours(ground, frame, VALLEY);
    },
    update() {
      const given = Object.fromEntries(["start", "angle", "ratio", "gamma"].map((name) => [name, state.get(name)]));
      const law = metricLaw(given);
      angle.show(given.angle);
      ratio.show(given.ratio);
      gamma.show(given.gamma);
      moving.replaceChildren();
      valleyMoving(moving, frame, given, law);
      start.show(frame);
      const [tx, ty] = ellipseTip(given);
      const text = `angle ${fixed(given.angle, 1)}°, ratio ${fixed(given.ratio, 2)}`;
      tip.place(frame.x(tx), frame.y(ty), { now: given.angle.toFixed(1), low: -90, high: 90, text });
      table.show(law.ways);
      readout.replaceChildren(...valleyWords(given, law));
    },
  };
}

/** The end of the ellipse's long axis that lies farther inside the frame. */
function ellipseTip({ start, angle, ratio }) {
  const [turn, length] = [(angle * Math.PI) / 180, SIZE * Math.sqrt(ratio)];
  const ends = [1, -1].map((side) => [start[0] + side * length * Math.cos(turn), start[1] + side * length * Math.sin(turn)]);
  const out = (end) => Math.max(0, ...end.map((v) => Math.abs(v) - (EDGE - 0.1)));
  const best = out(ends[1]) < out(ends[0]) ? ends[1] : ends[0];
  return best.map((v) => clamp(v, -EDGE + 0.1, EDGE - 0.1));
}

/** The ellipse, the optimal path, and the directions of the steps with their names. */
function valleyMoving(at, f, given, law) {
  const { start, angle, ratio } = given;
  const inner = squareWindow(at, f);
  const pixel = ([x, y]) => [f.x(x), f.y(y)];
  const from = pixel(start);
  const unit = SIZE * (f.x(1) - f.x(0));
  const shape = { cx: 0, cy: 0, rx: unit * Math.sqrt(ratio), ry: unit / Math.sqrt(ratio) };
  const spot = `translate(${from[0]} ${from[1]}) rotate(${-angle})`;
  draw(inner, "ellipse", { ...shape, transform: spot, fill: "var(--ln-neutral)", "fill-opacity": 0.14, stroke: "var(--ln-ink)", "stroke-width": 1.8 });
  const line = restTimes(law.rates).map((t) => pixel(law.place(t)));
  draw(inner, "path", { class: "ln-line", d: trace(line), stroke: "var(--ln-optimal)", "stroke-width": 3.2 });
  const reach = Math.min(REACH, Math.hypot(...start)) * (f.x(1) - f.x(0));
  const labels = [];
  for (const [key, { name, dash }] of Object.entries(STEPS).reverse()) {
    const size = Math.hypot(...law.ways[key]);
    if (size < 1e-9) continue;
    const [dx, dy] = [law.ways[key][0] / size, -law.ways[key][1] / size];
    const [x, y] = [from[0] + reach * dx, from[1] + reach * dy];
    const color = `var(--ln-${key})`;
    drawArrow(inner, from, [x, y], { color, dash });
    labels.unshift({ text: name, color, x, y, dx, dy });
  }
  if (reach <= 40) return; // too short to be told apart by name
  const strokes = [...dense(line), ...labels.flatMap(({ x, y }) => dense([from, [x, y]]))];
  const box = [f.left, f.top, f.left + f.size, f.top + f.size];
  placeLabels(at, box, labels, [from, pixel(ellipseTip(given))].map((spot) => around(spot)), strokes);
}

/** What the picture means, in words and numbers. */
function valleyWords({ start, gamma }, law) {
  const spread = between(law.ways.natural, law.ways.newton);
  const verdict =
    Math.hypot(...start) < 1e-9
      ? "At the minimum there is nowhere to go."
      : spread < AGREE
        ? "Natural gradient, ballistic and Newton's step agree."
        : `The natural gradient and Newton's step are ${fixed(spread, 1)}° apart.`;
  const couple = ([a, b]) => `(${compact(a)}, ${compact(b)})`;
  const lines = [
    `Curvatures of G⁻¹H: ${couple(law.curvatures)}.`,
    `γ = ${fixed(gamma, 2)}: rates r = ${couple(law.rates)}.`,
    `G and H ${law.commute ? "commute" : "do not commute"}; J = ${compact(law.action)}.`,
  ];
  return verdictLines(verdict, lines);
}

/** The table of the directions, as angles from Newton's. */
function turnTable() {
  const all = Object.entries({ optimal: { name: "optimal path", dash: "none" }, ...STEPS });
  const lines = all.map(([key, { name, dash }]) => [key, { name, sample: lineSample({ stroke: `var(--ln-${key})`, "stroke-dasharray": dash }) }]);
  const { node, rows } = sampleTable(Object.fromEntries(lines), ["direction", "from Newton's"]);
  const show = (ways) => {
    for (const [key, { cells }] of Object.entries(rows)) cells[0].textContent = `${fixed(between(ways[key], ways.newton), 1)}°`;
  };
  return { node, show };
}

export default explorable("MetricEllipse", buildMetricEllipse);
