// The view of a drift field: the plane with the field, the loss, the optimal path and where it ends.

/** @import { SquareFrame } from "../plane.js" */
/** @import { Track } from "../runner.js" */
/** @import { DriftLaw, Setting } from "./model.js" */

import { traitDial } from "../controls.js";
import { arrowhead, compact, couple, curve, draw, drawDot, drawLine, fixed, ink, lastOf, panelWindow, pixels } from "../kit.js";
import { inPython } from "../life.js";
import { squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { simple } from "../simple.js";
import { lineSample, sampleTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { driftLaw, driftTimes } from "./model.js";

const ALONE = { stroke: ink("neutral"), "stroke-width": 2, "stroke-dasharray": "2 4" };

/** @type {(u: number[], v: number[]) => number} */
const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);

export default simple("DriftField", SHARED, (state) => {
  const { traits, hold, edge } = SHARED;
  const fastest = lastOf(traits.rate.range);
  const turning = { symbol: "q", name: "rotation rate of the drift", marks: traits.rate.range };
  const table = placeTable();
  return {
    dials: {
      rate: traitDial(state, "rate", { ...turning, label: (v) => fixed(v, v % 1 ? 1 : 0) }, {
        // finer towards 0, the middle of its range
        toPosition: (q) => (1 + Math.sign(q) * Math.sqrt(Math.abs(q) / fastest)) / 2,
        toValue: (u) => fastest * (2 * u - 1) * Math.abs(2 * u - 1),
      }),
    },
    table,
    grips(stage) {
      const putStart = planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold });
      const putMinimum = planePoint(stage, state, "minimum", { label: "minimum θ* of the loss", color: ink("neutral"), hold });
      return (frame) => [putStart, putMinimum].forEach((put) => put(frame));
    },
    lay: (paper) => squareFrame(paper, { edge, ticks: [-2, -1, 0, 1, 2], names: ["θ₁", "θ₂"] }),
    show(at, frame, given) {
      const law = driftLaw(given);
      fieldMoving(at, frame, given, law);
      const places = { end: law.rest, effective: law.effective, minimum: given.minimum };
      table.fill((key) => (key === "alone" ? [] : [couple(places[key], (v) => fixed(v, 3))]));
      return [...fieldWords(given, law), sailors(frame, given, law)];
    },
    run: { seconds: 8, inside: (frame) => frame },
    python: (_, { start, minimum, rate, decay, gamma }) => [
      `q, j = ${rate}, ${decay}`,
      "drift = ln.drifts.Linear([[-j, -q], [q, -j]])",
      `bowl = ln.losses.Quadratic(${inPython(SHARED.stiffness)} * np.eye(2), minimum=${minimum})`,
      `path = ln.solve(ln.Objective(gamma=${gamma}, drift=drift), bowl, ${start})`,
      "path.asymptote",
    ],
  };
});

/**
 * Loss, field, the drift alone, the optimal path and the three places.
 * @type {(at: Element, f: SquareFrame, given: Setting, law: DriftLaw) => void}
 */
function fieldMoving(at, f, { minimum, rate, decay }, law) {
  const inner = panelWindow(at, f);
  const pixel = pixels(f);
  const unit = f.x(1) - f.x(0);
  const [cx, cy] = pixel(minimum);
  for (const r of [0.5, 1, 1.5, 2, 2.5, 3]) draw(inner, "circle", { class: "ln-contour", cx, cy, r: r * unit });
  const blue = `color-mix(in srgb, ${ink("descent")} 75%, ${ink("lean")})`; // stands out in the dark, too
  draw(inner, "path", { d: fieldArrows(f, law.drift), fill: blue, stroke: blue, "stroke-width": 1.1, opacity: 0.75 });
  drawLine(inner, driftTimes(decay, rate).map(law.alone).map(pixel), ALONE);
  const path = driftTimes(law.lambda, rate).map(law.place).map(pixel);
  drawLine(inner, path, { stroke: ink("optimal"), "stroke-width": 3.2, ...curve("path", f.x, f.y) });
  draw(inner, "path", { d: diamond(pixel(law.effective), 8), fill: ink("paper"), stroke: ink("ink"), "stroke-width": 2 });
  drawDot(inner, pixel(law.rest), 6, ink("optimal"));
}

/**
 * Where the best learner and one that only drifts are as time passes.
 * @type {(f: SquareFrame, given: Setting, law: DriftLaw) => Track[]}
 */
function sailors(f, { rate }, law) {
  const end = lastOf(driftTimes(law.lambda, rate));
  /** @type {(place: DriftLaw["place"], color: string) => Track} */
  const sailor = (place, color) => ({ at: (share) => pixels(f)(place(share * end)), color });
  return [sailor(law.alone, ink("neutral")), sailor(law.place, ink("optimal"))];
}

/** @type {(middle: number[], s: number) => string} */
const diamond = ([x, y], s) => `M${x} ${y - s}L${x + s} ${y}L${x} ${y + s}L${x - s} ${y}Z`;

/**
 * The field as one path: lengths are compressed, so that weak and strong drifts can be seen side by side.
 * @type {(f: SquareFrame, drift: DriftLaw["drift"]) => string}
 */
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

/** @type {(given: Setting, law: DriftLaw) => [string, string[]]} */
function fieldWords({ minimum, rate, decay, gamma }, law) {
  const gap = distance(law.rest, law.effective);
  const verdict =
    rate === 0 && decay === 0
      ? "No drift: the path ends at the minimum of the loss."
      : rate === 0
        ? "A gradient drift: the path ends at the minimum of the effective loss."
        : gap < 5e-4
          ? "The drift is no gradient; here the end hardly differs from the minimum of the effective loss."
          : `The drift is no gradient: the end misses the minimum of the effective loss by ${fixed(gap, 3)}.`;
  const turn = Math.abs(rate) / law.lambda / (2 * Math.PI);
  const cost = law.action === Infinity ? `J = ∞: resting costs ${compact(law.resting)} per time, the rest ${compact(law.excess)}` : `J = ${compact(law.action)}, of it resting ${compact(law.action - law.excess)}`;
  return [verdict, [
    `From θ* it is ${fixed(distance(law.rest, minimum), 3)} away.`,
    `λ = ${fixed(law.lambda, 3)}; ${fixed(turn, 2)} turns per e-fold.`,
    `h = ${SHARED.stiffness}, γ = ${fixed(gamma, 2)}: ${cost}.`,
  ]];
}

/** The table of the three places. */
function placeTable() {
  /** @type {(fill: string) => (at: SVGElement) => SVGElement} */
  const dot = (fill) => (at) => draw(at, "circle", { cx: 10, cy: 6, r: 5, fill });
  return sampleTable({
    end: { name: "end of the path, θ∞", sample: dot(ink("optimal")) },
    effective: { name: "effective minimum", sample: (at) => draw(at, "path", { d: diamond([10, 6], 5), fill: ink("paper"), stroke: ink("ink"), "stroke-width": 1.6 }) },
    minimum: { name: "minimum of L, θ*", sample: dot(ink("neutral")) },
    alone: { name: "drift alone", sample: lineSample(ALONE) },
  });
}
