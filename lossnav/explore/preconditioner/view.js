// The view of the preconditioner over curvature, with its limits, and a curvature to drag along it.

/** @import { Setting } from "./model.js" */

import { chartFrame } from "../chart.js";
import { declaredDial } from "../controls.js";
import { clamp, compact, curve, drawLine, entries, fixed, ink, panelWindow, samples, upright } from "../kit.js";
import { logAxis, logUp } from "../logs.js";
import { axisPoint } from "../point.js";
import { simple } from "../simple.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { limits, preconditioner, slopeThere } from "./model.js";

const [FLAT, STEEP] = SHARED.traits.curvature.range;

export default simple("Preconditioner", SHARED, (state) => {
  const spell = (/** @type {number} */ v) => (v < 1 ? fixed(v, 3) : fixed(v, 2));
  const lines = { optimal: SHARED.optimal, ...SHARED.limits };
  const table = lineTable(lines, ["along this direction", "φ"], ({ dash }, key) => ({ stroke: ink(key), "stroke-dasharray": dash }));
  return {
    dials: {
      gamma: declaredDial(state, SHARED.traits, "gamma", { text: spell }),
      dt: declaredDial(state, SHARED.traits, "dt", { text: spell }),
    },
    table,
    lay(paper) {
      const f = chartFrame(paper, { phi: ["φ(h), by which a gradient is multiplied", 300, 250] });
      return { f, x: logAxis(paper.ground, f, SHARED.traits.curvature.range, "curvature h", 2), y: logUp(paper.ground, f.rows.phi, SHARED.phi) };
    },
    grips(stage) {
      const label = "h, the curvature of a direction; arrow keys move it";
      const read = () => Math.log10(state.get("curvature"));
      const go = (/** @type {number} */ power) => state.set("curvature", clamp(10 ** power, FLAT, STEEP));
      const put = axisPoint(stage, { label, ends: [FLAT, STEEP].map(Math.log10), steps: [0.1, 1], read, go });
      return ({ x, y }, given) => {
        const h = given.curvature;
        put(x, y(Math.log10(preconditioner(given))), { now: Number(h.toPrecision(3)), low: FLAT, high: STEEP, text: `h = ${compact(h)}` });
      };
    },
    show(at, { f, x, y }, given) {
      const inner = panelWindow(at, f.rows.phi);
      const powers = samples(Math.log10(FLAT), Math.log10(STEEP), 140);
      /** @type {(name: keyof typeof lines, phi: (setting: Setting) => number, width: number) => void} */
      const line = (name, phi, width) => {
        const points = powers.map((u) => [x(u), y(Math.log10(phi({ ...given, curvature: 10 ** u })))]);
        drawLine(inner, points, { stroke: ink(name), "stroke-dasharray": lines[name].dash, "stroke-width": width, ...curve(name, x, y) });
      };
      line("optimal", preconditioner, 4);
      for (const [name, phi] of entries(limits)) line(name, phi, 1.8);
      upright(inner, x(Math.log10(given.curvature)), f.rows.phi, "ln-plumb");
      const phi = preconditioner(given);
      const [off, next] = entries(limits).map(([name, limit]) => ({ name, by: Math.abs(limit(given) / phi - 1) })).sort((a, b) => a.by - b.by);
      table.fill((name) => [compact(name === "optimal" ? phi : limits[name](given))], off.by < SHARED.near ? off.name : "");
      const [one, other] = [off, next].map(({ name }) => (name === "ballistic" ? "the ballistic rule" : lines[name].name));
      const verdict = off.by < SHARED.near ? `Here it is ${one}, to ${off.by < 0.001 ? "less than 0.1" : fixed(100 * off.by, 1)} %.` : `Here it is between ${one} and ${other}.`;
      const { gamma, dt } = given;
      const corners = gamma * dt < 2 ? `Corners at h = γ²/4 = ${compact(gamma ** 2 / 4)} and h = 1/Δt² = ${compact(dt ** -2)}.` : `γΔt ≥ 2: no room for the ballistic rule; one corner, at h = γ/Δt = ${compact(gamma / dt)}.`;
      return [verdict, [`At h = ${compact(given.curvature)}, γ = ${spell(gamma)}, Δt = ${spell(dt)} the curve has the slope ${fixed(slopeThere(given), 2)}.`, corners]];
    },
    python: (_, { gamma, dt, curvature }) => [`-ln.update(ln.Objective(gamma=${gamma}), [1.0], [[${curvature}]], ${dt})  # φ(h)`],
  };
});
