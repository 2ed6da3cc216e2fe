// The view of one optimal step on a quadratic: contours with the path and the three limits, and the regime plane.

/** @import { Paper } from "../kit.js" */
/** @import { Label } from "../labels.js" */
/** @import { SquareFrame } from "../plane.js" */
/** @import { LimitName, RegimeFrame } from "./regimes.js" */

import { handle, traitDial } from "../controls.js";
import { clamp, compact, couple, curve, drawDot, drawLine, entries, fixed, ink, mapped, pixels, resize, scale } from "../kit.js";
import { around, dense, edges, placeLabels } from "../labels.js";
import { inPython } from "../life.js";
import { bowlContours, clip, drawArrow, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { restRate } from "../rates.js";
import { traitPlayer } from "../runner.js";
import { simple } from "../simple.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { BOWL, TOLERANCE, ballisticStep, descentStep, error, groups, newtonStep, optimalStep } from "./model.js";
import { GROUPS, LIMITS, planeGround, planeSpots } from "./regimes.js";

/** @typedef {{ start: number[], gamma: number, dt: number | null }} Traits */
/** @typedef {SquareFrame & { plane: RegimeFrame }} StepFrame */
/** @typedef {ReturnType<typeof stepResult>} StepResult */

const SHORT = SHARED.shortest; // Δt; the longest finite one is 10⁵ times that
const FOREVER = 0.97; // slider position from which Δt = ∞

const toTime = (/** @type {number} */ u) => (u >= FOREVER ? Infinity : SHORT * 10 ** ((5 * u) / FOREVER));
const fromTime = (/** @type {number} */ dt) => (dt === Infinity ? 1 : clamp((Math.log10(dt / SHORT) * FOREVER) / 5, 0, FOREVER - 0.001));

/**
 * One entry of a step, never wider than six characters.
 * @param {number} v
 */
function short(v) {
  const size = Math.abs(v);
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  if (size >= 99.95) return v > 0 ? "> 99" : "< −99";
  return fixed(v, size < 0.0995 ? 3 : size < 9.995 ? 2 : 1);
}

/** @param {number} e */
function percent(e) {
  if (!Number.isFinite(e)) return "∞";
  if (e < 0.0005) return "< 0.1%";
  return e > 9.995 ? "> 10×" : `${fixed(100 * e, e < 0.1 ? 1 : 0)}%`;
}

export default simple("Horizon", SHARED, (state, root) => {
  const step = () => state.get("dt") ?? Infinity; // JSON has no ∞: the trait travels as null
  const setStep = (/** @type {number} */ dt) => {
    play.pause();
    state.set("dt", /** @type {number} */ (dt === Infinity ? null : dt));
  };
  const along = (/** @type {number | null} */ dt) => fromTime(dt ?? Infinity);
  const value = (/** @type {number} */ u) => (u >= FOREVER ? null : toTime(u));
  const play = traitPlayer(root, state, "dt", { ends: [0, 1], along, value, seconds: 8 });
  const table = lineTable({ optimal: SHARED.optimal, ...LIMITS }, ["step", "Δθ", "off by"], ({ dash }, key) => ({ stroke: ink(key), "stroke-dasharray": dash }));
  const look = { symbol: "Δt", name: "until the next look", marks: [0.01, 0.1, 1, 10, 100, Infinity], text: compact };
  const label = (/** @type {number} */ dt) => (dt === Infinity ? "∞" : String(dt));
  const time = traitDial({ ...state, set: (_, dt) => setStep(dt) }, "dt", { ...look, label }, { toPosition: fromTime, toValue: toTime });
  /** @type {StepFrame} */
  let frame;
  return {
    dials: { dt: { node: time.node, show: (dt) => time.show(dt ?? Infinity) } },
    control: [play.node],
    table,
    two: "details",
    grips(stage) {
      const tip = handle(stage, {
        label: "the optimal step, sets Δt",
        color: ink("optimal"),
        onDrag: (px, py) => setStep(nearestTime(frame, state.get("start"), state.get("gamma"), px, py)),
        onKey: ([dx, dy], big) => setStep(toTime(clamp(Math.min(fromTime(step()), FOREVER) + (dx + dy) * (big ? 0.05 : 0.01), 0, 1))),
        onEnd: (side) => setStep(toTime(side < 0 ? 0 : 1)),
      });
      const putStart = planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold: SHARED.hold, small: 0.1 });
      return (_, { start: at, gamma }) => {
        const dt = step();
        putStart(frame);
        const [x, y] = pixels(frame)(at.map((v, i) => v + optimalStep(BOWL, BOWL.map((h, j) => h * at[j]), gamma, dt)[i]));
        tip.place(x, y, { now: fromTime(dt).toFixed(3), low: 0, high: 1, text: `Δt = ${compact(dt)}` });
      };
    },
    lay(paper, plane) {
      frame = stepFrame(paper, plane);
      bowlContours(paper.ground, frame, BOWL);
      planeGround(plane.ground, frame.plane);
      return frame;
    },
    show(at, f, { start, gamma }, over) {
      const result = stepResult(start, gamma, step());
      stepMoving(at, f, result);
      planeSpots(over, f.plane, result);
      const { optimal, steps, errors, nearest } = result;
      table.fill((key) => (key === "optimal" ? [couple(optimal, short), "–"] : [couple(steps[key], short), percent(errors[key])]), nearest);
      return stepWords(result);
    },
    leave: play.leave,
    python({ start }, { gamma, dt }) {
      const hessian = `np.diag([${BOWL.map(inPython).join(", ")}])`;
      const place = `np.array([${start.map(inPython).join(", ")}])`;
      const objective = `ln.Objective(gamma=${gamma})`;
      return [`hessian, start = ${hessian}, ${place}`, `ln.update(${objective}, hessian @ start, hessian, dt=${dt})`];
    },
  };
});

/**
 * The optimal step and its limits from `start`, with their errors and the nearest one.
 * @param {number[]} start
 * @param {number} gamma
 * @param {number} dt
 */
function stepResult(start, gamma, dt) {
  const g = start.map((x, i) => BOWL[i] * x);
  const optimal = optimalStep(BOWL, g, gamma, dt);
  /** @type {Record<LimitName, number[]>} */
  const steps = {
    newton: newtonStep(BOWL, g),
    descent: descentStep(BOWL, g, gamma, dt),
    ballistic: ballisticStep(BOWL, g, gamma, dt),
  };
  const errors = mapped(steps, (limit) => error(limit, optimal));
  const nearest = entries(errors).reduce((a, b) => (b[1] < a[1] ? b : a))[0];
  // The way each limit points, which survives where its length is infinite.
  const ways = { newton: steps.newton, descent: g.map((v) => -v), ballistic: ballisticStep(BOWL, g, gamma, 1) };
  return { start, gamma, dt, optimal, steps, ways, errors, nearest };
}

/** @type {(paper: Paper, plane: Paper) => StepFrame} */
function stepFrame(paper, plane) {
  const frame = squareFrame(paper, { edge: SHARED.edge, ticks: [-4, -2, 0, 2, 4], names: ["θ₁ (h = 1/9)", "θ₂ (h = 1)"] });
  const [pw, ph] = [Math.min(plane.width - 24, 520), 220];
  resize(plane.stage, pw, ph);
  const box = { left: 44, right: pw - 8, top: 22, bottom: ph - 38 };
  const scales = { x: scale(GROUPS.damping, [box.left, box.right]), y: scale(GROUPS.progress, [box.bottom, box.top]) };
  return { ...frame, plane: { ...box, ...scales } };
}

/**
 * The optimal path, the places of repeated steps, and the arrows.
 * @type {(at: Element, f: StepFrame, result: StepResult) => void}
 */
function stepMoving(at, f, { start, gamma, dt, optimal, steps, ways, nearest }) {
  const place = (/** @type {number} */ t) => BOWL.map((h, i) => start[i] * Math.exp(-restRate(gamma, h) * t));
  const pixel = pixels(f);
  const longest = 9 / restRate(gamma, BOWL[0]);
  const line = Array.from({ length: 121 }, (_, i) => pixel(place(longest * (i / 120) ** 3)));
  drawLine(at, [...line, pixel([0, 0])], { stroke: ink("optimal"), "stroke-width": 3.2, ...curve("path", f.x, f.y) });
  const from = pixel(start);
  let [px, py] = from;
  for (let n = 2; dt !== Infinity && n < 80; n++) {
    const [x, y] = pixel(place(n * dt));
    if (Math.hypot(x - px, y - py) < 7) break;
    [px, py] = [x, y];
    drawDot(at, [x, y], 3.2, ink("optimal"));
  }
  /** @type {Label[]} */
  const labels = [];
  for (const [key, { name, dash }] of entries(LIMITS)) {
    const ray = clip(f, from, pixel(start.map((v, i) => v + ways[key][i])), Math.hypot(...steps[key]) / Math.hypot(...ways[key]));
    if (!ray) continue;
    const [x, y] = ray.tip;
    const [dx, dy] = [x - from[0], y - from[1]];
    const length = Math.hypot(dx, dy);
    if (length < 3) continue;
    drawArrow(at, from, [x, y], { color: ink(key), dash, width: key === nearest ? 3 : 2, hollow: ray.cut, ...curve(key, f.x, f.y) });
    if (length > 24) labels.push({ text: ray.cut ? `${name} …` : name, x, y, dx: dx / length, dy: dy / length, color: ink(key) });
  }
  const end = pixel(start.map((v, i) => v + optimal[i]));
  const [ox, oy] = [end[0] - from[0], end[1] - from[1]];
  const long = Math.hypot(ox, oy) || 1;
  const strokes = labels.flatMap(({ x, y }) => dense([from, [x, y]]));
  labels.unshift({ text: "optimal step", x: end[0], y: end[1], dx: ox / long, dy: oy / long, color: ink("optimal"), far: 17 });
  placeLabels(at, edges(f), labels, [from, end].map((spot) => around(spot)), [...strokes, ...dense(line)]);
}

/**
 * The Δt whose step ends nearest to a pixel: dragging the step along its path.
 * @type {(f: StepFrame, start: number[], gamma: number, px: number, py: number) => number}
 */
function nearestTime(f, start, gamma, px, py) {
  let best = [Infinity, 1];
  for (let i = 0; i <= 400; i++) {
    const dt = toTime(i / 400);
    const [x, y] = BOWL.map((h, j) => start[j] * Math.exp(-restRate(gamma, h) * dt));
    const gap = Math.hypot(f.x(x) - px, f.y(y) - py);
    if (gap < best[0] - 1e-9) best = [gap, dt];
  }
  return best[1];
}

/** @type {(result: StepResult) => [string, string[]]} */
function stepWords({ start, gamma, dt, optimal, errors, nearest }) {
  const e = errors[nearest];
  const { name } = LIMITS[nearest];
  const rests = !Math.hypot(...start);
  const verdict = rests ? "At the minimum there is no step." : e < TOLERANCE ? `The step is that of ${name}.` : e < 0.5 ? `The step resembles that of ${name}.` : `No limit fits; ${name} is the nearest.`;
  const directions = BOWL.map((h, i) => {
    const { damping, progress } = groups(h, gamma, dt);
    return `θ${"₁₂"[i]}: γ²/(4ηkh) = ${compact(damping)}, rΔt = ${compact(progress)}`;
  });
  const from = `From ${couple(start, short)} with γ = ${fixed(gamma, 2)}, Δt = ${compact(dt)}, the optimal step is ${couple(optimal, short)}: ${name} is off by ${percent(e)}.`;
  return [verdict, rests ? directions : [from, ...directions]];
}
