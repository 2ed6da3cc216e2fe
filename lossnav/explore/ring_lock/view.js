// The view of the ring that is tilted and runs: a point of the map, and beside it the paths from the top, time outward.

/** @import { Scale } from "../kit.js" */
/** @import { Orbit } from "./model.js" */

import { compact, curve, draw, drawLine, drawPanel, fixed, ink, isWide, lastOf, nameAcross, panelWindow, pixels, plainTicks, resize, samples, scale, stageWidth, ticksAcross, ticksUp, trace } from "../kit.js";
import { inPython } from "../life.js";
import { pairPoint } from "../point.js";
import { atTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { costRate, duration, intoRest, locks, restAngle, runningOrbit, timed } from "./model.js";

/** @typedef {{ gamma: number, current: number }} Traits */

const { lines, traits, rounds, hub } = SHARED;
const [GAMMAS, CURRENTS] = [traits.gamma.range, traits.current.range];

/** A place on the disk: the angle, at a radius that grows in time. @type {(angle: number, share: number) => number[]} */
const onDisk = (angle, share) => [Math.cos(angle), Math.sin(angle)].map((side) => side * (hub + (1 - hub) * share));

export default simple("RingLock", SHARED, (state) => ({
  legend: [lineTable(lines, [], inked).legend],
  lay({ root, stage, ground, width }) {
    const w = stageWidth(root, width, 300);
    const half = Math.min((w - 60) / 2, isWide(root) ? 300 : 250);
    const map = { left: 40, right: 40 + half, top: 22, bottom: 22 + half };
    const disk = { ...map, left: map.right + 12, right: map.right + 12 + half };
    resize(stage, w, map.bottom + 38);
    const [g, q] = [scale(GAMMAS, [map.left, map.right]), scale([0, lastOf(CURRENTS)], [map.bottom, map.top])];
    const [x, y] = [scale([-1.06, 1.06], [disk.left, disk.right]), scale([-1.06, 1.06], [disk.bottom, disk.top])];
    drawPanel(ground, map, "current q");
    ticksUp(ground, map, q, plainTicks([0, 1, 2]));
    ticksAcross(ground, map, g, plainTicks([0, 1, 2]));
    nameAcross(ground, map, "discount rate γ", 33);
    drawMap(panelWindow(ground, map), g, q);
    drawDisk(ground, disk, x, y);
    return { map, disk, g, q, x, y };
  },
  grips(stage) {
    const put = pairPoint(stage, {
      label: "discount rate and current",
      kind: "point of the map",
      ends: [traits.gamma.range, traits.current.range],
      steps: [[0.025, 0.025], [0.25, 0.25]],
      read: () => [state.get("gamma"), state.get("current")],
      go: ([gamma, current]) => [state.set("gamma", gamma), state.set("current", current)],
    });
    return ({ g, q }, { gamma, current }) => put({ x: g, y: q }, { now: current.toFixed(2), low: CURRENTS[0], high: lastOf(CURRENTS), text: `γ = ${fixed(gamma, 2)}, q = ${fixed(current, 2)}` });
  },
  show(at, { disk, x, y }, given) {
    const { gamma, current } = given;
    const rest = restAngle(given);
    const toRest = rest === null ? null : intoRest(given, rest, rest);
    const best = toRest && locks(given) ? toRest : runningOrbit(given);
    const until = (rounds * 2 * Math.PI) / current;
    const inner = panelWindow(at, disk);
    const pixel = pixels({ x, y });
    if (rest !== null) {
      drawLine(inner, [onDisk(rest, 0), onDisk(rest, 1)].map(pixel), { stroke: ink("ink"), "stroke-width": 1.5, "stroke-dasharray": "1 4" });
    }
    /** Draws a path [time, angle], and returns the track along it. @type {(key: "alone" | "resting" | "best", path: number[][]) => import("../runner.js").Track} */
    const shown = (key, path) => {
      const place = (/** @type {number} */ share) => pixel(onDisk(atTime(path, share * until)[0], share));
      drawLine(inner, samples(0, 1, 360).map(place), { ...inked(lines[key]), ...curve(key, x, y) });
      return { at: place, color: ink(lines[key].tint) };
    };
    const tracks = [shown("alone", [[0, 0], [until, rounds * 2 * Math.PI]])];
    if (toRest && best !== toRest) tracks.push(shown("resting", timed(toRest, until)));
    tracks.push(shown("best", timed(best, until)));
    return [verdict(toRest, best), [`γ = ${fixed(gamma, 2)}, q = ${fixed(current, 2)}; η = k = d = 1.`, ...costs(given, toRest, best)], tracks];
  },
  run: { seconds: 8, inside: ({ disk }) => disk },
  python: ({ gamma: rate }, { gamma, current }) => [
    "import numpy as np",
    "tilted = ln.losses.Function(lambda x: np.cos(x[..., 0]), dim=1)   # of the angle",
    `objective = ln.Objective(gamma=${gamma}, drift=ln.drifts.Linear([[0.0]], [${current}]), horizon=${inPython(rate > 0.05 ? Math.ceil(20 / rate) : 400)})`,
    "path = ln.solve(objective, tilted, [0.0])",
    "path.action, path(5.0)",
  ],
}));

/**
 * The two lines of the map, and what holds beside them.
 * @type {(at: Element, g: Scale, q: Scale) => void}
 */
function drawMap(at, g, q) {
  const border = SHARED.threshold.map(([gamma, current]) => [g(gamma), q(current)]);
  const floor = q(0);
  draw(at, "path", { d: `${trace([[border[0][0], floor], ...border, [lastOf(border)[0], floor]])}Z`, fill: ink("neutral"), "fill-opacity": 0.22 });
  drawLine(at, border, { ...inked(lines.threshold), ...curve("threshold", g, q) });
  const born = samples(1 / lastOf(CURRENTS), SHARED.crossover, 60).map((gamma) => [g(gamma), q(1 / gamma)]);
  drawLine(at, born, { ...inked(lines.birth), ...curve("birth", g, q) });
  draw(at, "text", { class: "ln-name", x: g(0) + 8, y: floor - 10 }, "rest");
  draw(at, "text", { class: "ln-name", x: g(lastOf(GAMMAS)) - 8, y: q(lastOf(CURRENTS)) + 20, "text-anchor": "end" }, "go round");
}

/**
 * The ring seen from above: the more shade, the higher the loss.
 * @type {(at: Element, box: import("../kit.js").Box, x: Scale, y: Scale) => void}
 */
function drawDisk(at, box, x, y) {
  const inner = panelWindow(at, box);
  const count = 48;
  const corner = (/** @type {number} */ part) => pixels({ x, y })(onDisk((2 * Math.PI * part) / count, 1));
  for (let i = 0; i < count; i++) {
    const loss = (1 + Math.cos((2 * Math.PI * i) / count)) / 2;
    draw(inner, "path", { d: `${trace([[x(0), y(0)], corner(i - 0.5), corner(i + 0.5)])}Z`, fill: ink("neutral"), "fill-opacity": (0.04 + 0.4 * loss).toFixed(3) });
  }
  draw(at, "text", { class: "ln-name", x: box.left, y: box.top - 7 }, "valley");
  draw(at, "text", { class: "ln-name", x: box.right, y: box.top - 7, "text-anchor": "end" }, "hill");
  nameAcross(at, box, "angle φ", 33);
}

/** @type {(toRest: Orbit | null, best: Orbit) => string} */
const verdict = (toRest, best) =>
  best === toRest ? "It comes to rest, against the current." : toRest ? "It goes round for ever, past a place to rest." : "It goes round for ever: there is no place to rest.";

/** @type {(given: Traits, toRest: Orbit | null, best: Orbit) => string[]} */
function costs(given, toRest, best) {
  const { gamma } = given;
  const unit = (/** @type {number} */ rate) => (gamma > 0 ? `J = ${compact(rate / gamma)}` : `${compact(rate)} per unit of time`);
  const said = (/** @type {Orbit} */ orbit) => unit(costRate(given, orbit));
  return [
    ...(best === toRest ? [] : [`One round takes ${fixed(duration(best), 2)}; going round costs ${said(best)}.`]),
    toRest ? `To rest costs ${said(toRest)}.` : "No rest: γq > 1.",
  ];
}
