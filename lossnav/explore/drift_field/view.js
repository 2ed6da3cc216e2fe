// The view of a drift field: the plane with the field, the loss, the optimal path and where it ends.

import { arrowhead, compact, discountDial, draw, explorable, figure, fixed, lineSample, readoutNode, rootDial, sampleTable, scaffold, slider, trace, verdictLines } from "../kit.js";
import { planePoint, squareFrame, squareGround, squareWindow } from "../plane.js";
import { STIFF, driftLaw, driftTimes } from "./model.js";

const EDGE = 2;
const HOLD = 1.9; // farthest start and minimum
const FASTEST = 10; // largest |q|

const pair = ([x, y]) => `(${fixed(x, 3)}, ${fixed(y, 3)})`;
const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);

function buildDriftField(root, state) {
  const rate = slider({
    symbol: "q",
    name: "rotation rate of the drift",
    marks: [-10, -2.5, 0, 2.5, 10].map((value) => ({ value, label: fixed(value, value % 1 ? 1 : 0) })),
    toPosition: (q) => (1 + Math.sign(q) * Math.sqrt(Math.abs(q) / FASTEST)) / 2,
    toValue: (u) => FASTEST * (2 * u - 1) * Math.abs(2 * u - 1),
    text: (q) => fixed(q, 2),
    onInput: (q) => state.set("rate", q),
  });
  const decay = rootDial(state, "decay", "j", "decay rate of the drift", [0, 0.25, 1, 4]);
  const gamma = discountDial(state);
  const [stage, readout, table] = [figure(), readoutNode(), placeTable()];
  scaffold(root, {
    label: "the optimal path under a drift",
    title: "Sailing with a drift",
    hint: "Set j = 0 and turn q up; then raise γ and watch the end leave the minimum of L_eff. Drag the start, or the minimum.",
    areas: { control: [rate.node, decay.node, gamma.node], stage: [stage], words: [table.node, readout] },
  });

  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  const start = planePoint(stage, state, "start", { label: "start θ(0)", color: "var(--ln-ink)", hold: HOLD });
  const minimum = planePoint(stage, state, "minimum", { label: "minimum θ* of the loss", color: "var(--ln-neutral)", hold: HOLD });

  let frame = null;
  return {
    layout(width) {
      frame = squareFrame(stage, root, width, { edge: EDGE });
      ground.replaceChildren();
      squareGround(ground, frame, [-2, -1, 0, 1, 2], ["θ₁", "θ₂"]);
    },
    update() {
      const given = Object.fromEntries(["start", "minimum", "rate", "decay", "gamma"].map((name) => [name, state.get(name)]));
      const law = driftLaw(given);
      rate.show(given.rate);
      decay.show(given.decay);
      gamma.show(given.gamma);
      moving.replaceChildren();
      fieldMoving(moving, frame, given, law);
      start.show(frame);
      minimum.show(frame);
      table.show({ end: law.rest, effective: law.effective, minimum: given.minimum });
      readout.replaceChildren(...fieldWords(given, law));
    },
  };
}

/** Loss, field, the drift alone, the optimal path and the three places. */
function fieldMoving(at, f, { minimum, rate, decay }, law) {
  const inner = squareWindow(at, f);
  const unit = f.x(1) - f.x(0);
  for (const r of [0.5, 1, 1.5, 2, 2.5, 3]) {
    draw(inner, "circle", { class: "ln-contour", cx: f.x(minimum[0]), cy: f.y(minimum[1]), r: r * unit });
  }
  const blue = "color-mix(in srgb, var(--ln-descent) 75%, var(--ln-lean))"; // stands out in the dark, too
  draw(inner, "path", { d: fieldArrows(f, law.drift), fill: blue, stroke: blue, "stroke-width": 1.1, opacity: 0.75 });
  const pixel = ([x, y]) => [f.x(x), f.y(y)];
  const line = (points, style) => draw(inner, "path", { class: "ln-line", d: trace(points.map(pixel)), ...style });
  const drifting = driftTimes(decay, rate).map(law.alone);
  line(drifting, { stroke: "var(--ln-neutral)", "stroke-width": 2, "stroke-dasharray": "2 4" });
  line(driftTimes(law.lambda, rate).map(law.place), { stroke: "var(--ln-optimal)", "stroke-width": 3.2 });
  const [ex, ey] = pixel(law.effective);
  draw(inner, "path", { d: diamond(ex, ey, 8), fill: "var(--ln-paper)", stroke: "var(--ln-ink)", "stroke-width": 2 });
  const [rx, ry] = pixel(law.rest);
  draw(inner, "circle", { class: "ln-dot", cx: rx, cy: ry, r: 6, fill: "var(--ln-optimal)" });
}

const diamond = (x, y, s) => `M${x} ${y - s}L${x + s} ${y}L${x} ${y + s}L${x - s} ${y}Z`;

/** The field as one path: lengths are compressed, so that weak and strong drifts can be seen side by side. */
function fieldArrows(f, drift) {
  const parts = [];
  for (let x = -1.75; x < 2; x += 0.5) {
    for (let y = -1.75; y < 2; y += 0.5) {
      const [u, v] = drift([x, y]);
      const size = Math.hypot(u, v);
      if (size < 1e-9) continue;
      const length = (0.42 * size) / (size + 1.5) / size;
      const [x0, y0, x1, y1] = [f.x(x - (u * length) / 2), f.y(y - (v * length) / 2), f.x(x + (u * length) / 2), f.y(y + (v * length) / 2)];
      parts.push(`M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`, arrowhead(x1, y1, x1 - x0, y1 - y0, 5));
    }
  }
  return parts.join("");
}

/** What the picture means, in words and numbers. */
function fieldWords({ minimum, rate, decay, gamma }, law) {
  const gap = distance(law.rest, law.effective);
  const verdict =
    rate === 0 && decay === 0
      ? "No drift: the path ends at the minimum of the loss."
      : rate === 0
        ? "A gradient drift: the path ends at the minimum of L_eff."
        : gap < 5e-4
          ? "The drift is no gradient; here the end hardly differs from the minimum of L_eff."
          : `The drift is no gradient: the end misses the minimum of L_eff by ${fixed(gap, 3)}.`;
  const turn = Math.abs(rate) / law.lambda / (2 * Math.PI);
  const cost = law.action === Infinity ? `J = ∞: resting costs ${compact(law.resting)} per time, the rest ${compact(law.excess)}` : `J = ${compact(law.action)}, of it resting ${compact(law.action - law.excess)}`;
  const lines = [
    `From θ* it is ${fixed(distance(law.rest, minimum), 3)} away.`,
    `λ = ${fixed(law.lambda, 3)}; ${fixed(turn, 2)} turns per e-fold.`,
    `h = ${STIFF}, γ = ${fixed(gamma, 2)}: ${cost}.`,
  ];
  return verdictLines(verdict, lines);
}

/** The table of the three places. */
function placeTable() {
  const { node, rows } = sampleTable({
    end: { name: "end of the path, θ∞", sample: (at) => draw(at, "circle", { cx: 10, cy: 6, r: 5, fill: "var(--ln-optimal)" }) },
    effective: { name: "minimum of L_eff", sample: (at) => draw(at, "path", { d: diamond(10, 6, 5), fill: "var(--ln-paper)", stroke: "var(--ln-ink)", "stroke-width": 1.6 }) },
    minimum: { name: "minimum of L, θ*", sample: (at) => draw(at, "circle", { cx: 10, cy: 6, r: 5, fill: "var(--ln-neutral)" }) },
    alone: { name: "drift alone", sample: lineSample({ stroke: "var(--ln-neutral)", "stroke-width": 2, "stroke-dasharray": "2 4" }) },
  });
  const show = (places) => {
    for (const [key, place] of Object.entries(places)) rows[key].cells[0].textContent = pair(place);
  };
  return { node, show };
}

export default explorable("DriftField", buildDriftField);
