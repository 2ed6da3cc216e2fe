// The view of a metric: a bowl, the ellipse of equally dear velocities, the optimal path, and the steps that it turns.

/** @import { Label } from "../labels.js" */
/** @import { SquareFrame } from "../plane.js" */
/** @import { MetricLaw, Setting } from "./model.js" */

import { handle } from "../controls.js";
import { clamp, compact, couple, curve, degrees, draw, drawLine, entries, fixed, ink, lastOf, panelWindow, pixels } from "../kit.js";
import { around, dense, edges, placeLabels } from "../labels.js";
import { inPython } from "../life.js";
import { angleBetween, radians } from "../pairs.js";
import { bowlContours, drawArrow, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { simple } from "../simple.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { VALLEY, ellipseThrough, metricLaw, restTimes } from "./model.js";

const { edge: EDGE, size: SIZE, steps: STEPS } = SHARED; // the drawn ellipse is SIZE unit ellipses long
const WIDEST = lastOf(SHARED.traits.ratio.range);
const AGREE = 1; // degrees

export default simple("MetricEllipse", SHARED, (state) => {
  const lines = { optimal: SHARED.optimal, ...STEPS };
  const table = lineTable(lines, ["direction", "from Newton's"], ({ dash }, key) => ({ stroke: ink(key), "stroke-dasharray": dash }));
  const turn = (/** @type {number} */ by) => state.set("angle", ((state.get("angle") + by + 270) % 180) - 90);
  const stretch = (/** @type {number} */ by) => state.set("ratio", clamp(state.get("ratio") * by, 1, WIDEST));
  /** @type {SquareFrame} */
  let frame;
  return {
    table,
    grips(stage) {
      const putStart = planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold: SHARED.hold });
      const tip = handle(stage, {
        label: "end of the metric's ellipse; arrow keys left and right turn it, up and down stretch it",
        color: ink("neutral"),
        onDrag(px, py) {
          const [x, y] = state.get("start");
          const found = ellipseThrough([frame.x.invert(px) - x, frame.y.invert(py) - y], SIZE, WIDEST);
          state.set("angle", found.angle);
          state.set("ratio", found.ratio);
        },
        onKey([dx, dy], big) {
          if (dx) turn(dx * (big ? 15 : 2)); // as its slider does
          else stretch((big ? 1.5 : 1.05) ** dy);
        },
        onEnd: (side) => state.set("ratio", side < 0 ? 1 : WIDEST),
      });
      return (_, given) => {
        putStart(frame);
        const [x, y] = pixels(frame)(ellipseTip(given));
        const text = `angle ${degrees(given.angle)}, ratio ${fixed(given.ratio, 2)}`;
        tip.place(x, y, { now: given.angle.toFixed(1), low: -90, high: 90, text });
      };
    },
    lay(paper) {
      frame = squareFrame(paper, { edge: EDGE, ticks: [-3, -2, -1, 0, 1, 2, 3], names: ["θ₁ (h = 1/4)", "θ₂ (h = 2)"] });
      bowlContours(paper.ground, frame, VALLEY);
      return frame;
    },
    show(at, _, given) {
      const law = metricLaw(given);
      valleyMoving(at, frame, given, law);
      table.fill((key) => [degrees(angleBetween(law.ways[key], law.ways.newton))]);
      const end = lastOf(restTimes(law.rates));
      return [...valleyWords(given, law), [{ at: (share) => pixels(frame)(law.place(share * end)), color: ink("optimal") }]];
    },
    run: { seconds: 6, inside: (f) => f },
    python: (_, { start, angle, ratio, gamma }) => [
      `turn, ratio = np.deg2rad(${angle}), ${ratio}`,
      "axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])",
      "metric = axes @ np.diag([1 / ratio, ratio]) @ axes.T",
      `valley = ln.losses.Quadratic(np.diag([${VALLEY.map(inPython).join(", ")}]), minimum=[0, 0])`,
      `path = ln.solve(ln.Objective(gamma=${gamma}, metric=metric), valley, ${start})`,
      "path.action, path.velocity(0.0)",
    ],
  };
});

/**
 * The end of the ellipse's long axis that lies farther inside the frame.
 * @param {Setting} setting
 */
function ellipseTip({ start, angle, ratio }) {
  const [turn, length] = [radians(angle), SIZE * Math.sqrt(ratio)];
  const ends = [1, -1].map((side) => [start[0] + side * length * Math.cos(turn), start[1] + side * length * Math.sin(turn)]);
  const out = (/** @type {number[]} */ end) => Math.max(0, ...end.map((v) => Math.abs(v) - (EDGE - 0.1)));
  const best = out(ends[1]) < out(ends[0]) ? ends[1] : ends[0];
  return best.map((v) => clamp(v, -EDGE + 0.1, EDGE - 0.1));
}

/**
 * The ellipse, the optimal path, and the directions of the steps with their names.
 * @type {(at: Element, f: SquareFrame, given: Setting, law: MetricLaw) => void}
 */
function valleyMoving(at, f, given, law) {
  const { start, angle, ratio } = given;
  const inner = panelWindow(at, f);
  const pixel = pixels(f);
  const from = pixel(start);
  const unit = SIZE * (f.x(1) - f.x(0));
  const shape = { cx: 0, cy: 0, rx: unit * Math.sqrt(ratio), ry: unit / Math.sqrt(ratio) };
  const spot = `translate(${from[0]} ${from[1]}) rotate(${-angle})`;
  draw(inner, "ellipse", { ...shape, transform: spot, fill: ink("neutral"), "fill-opacity": 0.14, stroke: ink("ink"), "stroke-width": 1.8 });
  const line = restTimes(law.rates).map((t) => pixel(law.place(t)));
  drawLine(inner, line, { stroke: ink("optimal"), "stroke-width": 3.2, ...curve("path", f.x, f.y) });
  const reach = Math.min(SHARED.reach, Math.hypot(...start)) * (f.x(1) - f.x(0));
  /** @type {Label[]} */
  const labels = [];
  for (const [key, { name, dash }] of entries(STEPS).reverse()) {
    const size = Math.hypot(...law.ways[key]);
    if (size < 1e-9) continue;
    const [dx, dy] = [law.ways[key][0] / size, -law.ways[key][1] / size];
    const [x, y] = [from[0] + reach * dx, from[1] + reach * dy];
    const color = ink(key);
    drawArrow(inner, from, [x, y], { color, dash, ...curve(key, f.x, f.y) });
    labels.unshift({ text: name, color, x, y, dx, dy });
  }
  if (reach <= 40) return; // too short to be told apart by name
  const strokes = [...dense(line), ...labels.flatMap(({ x, y }) => dense([from, [x, y]]))];
  placeLabels(at, edges(f), labels, [from, pixel(ellipseTip(given))].map((point) => around(point)), strokes);
}

/** @type {(given: Setting, law: MetricLaw) => [string, string[]]} */
function valleyWords({ start, gamma }, law) {
  const spread = angleBetween(law.ways.natural, law.ways.newton);
  const verdict =
    Math.hypot(...start) < 1e-9
      ? "At the minimum there is nowhere to go."
      : spread < AGREE
        ? "Natural gradient, ballistic and Newton's step agree."
        : `The natural gradient and Newton's step are ${degrees(spread)} apart.`;
  return [verdict, [
    `Curvatures of G⁻¹H: ${couple(law.curvatures, compact)}.`,
    `γ = ${fixed(gamma, 2)}: rates r = ${couple(law.rates, compact)}.`,
    `G and H ${law.commute ? "commute" : "do not commute"}; J = ${compact(law.action)}.`,
  ]];
}
