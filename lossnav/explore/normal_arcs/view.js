// The view of ways between normal distributions: the half-plane with an end to drag, and the distributions on the way.

/** @import { Way } from "./model.js" */

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { curve, draw, drawDot, drawLine, entries, fixed, ink, lastOf, mapped, panelWindow, plainTicks, samples } from "../kit.js";
import { pairPoint } from "../point.js";
import { traitPlayer } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { wayLength, ways } from "./model.js";

const { mu: means, sigma: spreads } = SHARED.traits;

export default simple("NormalArcs", SHARED, (state, root) => {
  const table = lineTable(SHARED.lines, ["way", "Fisher length"], inked);
  const [low, high] = [SHARED.traits.share.range[0], lastOf(SHARED.traits.share.range)];
  const same = (/** @type {number} */ s) => s;
  const time = traitPlayer(root, state, "share", { ends: [low, high], along: same, value: same, seconds: 6 });
  return {
    table,
    control: [time.node],
    lay(paper) {
      const { ground } = paper;
      const f = chartFrame(paper, { plane: ["spread σ", 230, 200], bells: ["density on the way", 110, 100] }, 66);
      const y = valueAxis(ground, f.rows.plane, [0, SHARED.high], plainTicks([0, 1, 2]));
      const p = valueAxis(ground, f.rows.bells, [0, SHARED.tall], plainTicks([0, 1, 2]));
      const x = timeAxis(ground, { ...f, bottom: f.rows.plane.bottom }, -SHARED.edge, 2 * SHARED.edge, 1, "mean μ");
      timeAxis(ground, f, -SHARED.edge, 2 * SHARED.edge, 1, "what is observed");
      return { f, x, y, p };
    },
    grips(stage) {
      const put = pairPoint(stage, {
        label: "end of the way",
        kind: "point of the half-plane",
        ends: [means.range, [spreads.range[0], lastOf(spreads.range)]],
        steps: [[0.05, 0.05], [0.5, 0.25]],
        read: () => [state.get("mu"), state.get("sigma")],
        go: ([mean, spread]) => [state.set("mu", mean), state.set("sigma", spread)],
      });
      return (scene, given) => put(scene, { now: given.mu.toFixed(2), low: means.range[0], high: lastOf(means.range), text: `μ = ${fixed(given.mu, 2)}, σ = ${fixed(given.sigma, 2)}` });
    },
    show(at, { f, x, y, p }, given) {
      const [plane, bells] = [panelWindow(at, f.rows.plane), panelWindow(at, f.rows.bells)];
      const roads = ways(given);
      for (const [cx, s] of samples(0, 1, 6).map(roads.arc)) {
        const r = SHARED.price * s; // velocities of one price: Fisher's |v|² = (v_μ² + 2v_σ²)/σ²
        draw(plane, "ellipse", { class: "ln-contour", cx: x(cx), cy: y(s), rx: x(r) - x(0), ry: y(0) - y(r / Math.SQRT2) });
      }
      const line = (/** @type {Way} */ way) => samples(0, 1, 160).map(way);
      for (const [name, way] of entries(roads)) {
        drawLine(plane, line(way).map(([m, s]) => [x(m), y(s)]), { ...inked(SHARED.lines[name]), ...curve(name, x, y) });
        const [m, s] = way(given.share);
        const bell = samples(-SHARED.edge, SHARED.edge, 160).map((v) => [x(v), p(Math.exp(-(((v - m) / s) ** 2) / 2) / (s * Math.sqrt(2 * Math.PI)))]);
        drawLine(bells, bell, { ...inked(SHARED.lines[name]), ...curve(`bell ${name}`, x, p) });
        drawDot(plane, [x(m), y(s)], 4.5, ink(SHARED.lines[name].tint));
      }
      drawDot(plane, [x(SHARED.from[0]), y(SHARED.from[1])], 6, ink("ink"));
      const lengths = mapped(roads, (way) => wayLength(way));
      table.fill((name) => [fixed(lengths[name], 3)]);
      const [m, s] = roads.arc(given.share);
      const longer = `The straight line in (μ, σ) is ${fixed(100 * (lengths.spread / lengths.arc - 1), 1)} % longer.`;
      return [lengths.arc > 1e-9 ? longer : "The end is the start.", [
        `From N(${fixed(SHARED.from[0], 2)}, ${fixed(SHARED.from[1], 2)}²) to N(${fixed(given.mu, 2)}, ${fixed(given.sigma, 2)}²); at s = ${fixed(given.share, 2)} the shortest way is at μ = ${fixed(m, 2)}, σ = ${fixed(s, 2)}.`,
        "Which line is straight depends on the names; which way is shortest does not.",
      ]];
    },
    python: (_, { mu, sigma, share }) => [
      "from lossnav.problem.metrics.geodesics import geodesic",
      `mean, variance = geodesic(${share}, ${SHARED.from[0]}, ${SHARED.from[1]}**2, ${mu}, ${sigma}**2)`,
    ],
    leave: time.leave,
  };
});
