// The view of the map of staying and crossing: a point to drag, and beside it, at its height, the paths that it stands for.

import { clamp, curve, draw, drawLine, drawPanel, entries, fixed, ink, isWide, nameAcross, panelWindow, plainTicks, resize, scale, stageWidth, ticksAcross, ticksUp, trace, upright } from "../kit.js";
import { pairPoint } from "../point.js";
import { overTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import { cheaper } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };
import { bothPlans, plansAt, threshold, wells } from "./model.js";

/** @typedef {{ gamma: number, start: number }} Traits */

const [SLOW, FAST] = SHARED.traits.gamma.range;
const [WEST, EAST] = SHARED.traits.start.range;

export default simple("StayMap", SHARED, (state) => {
  const rests = wells();
  return {
    legend: [lineTable(SHARED.lines, [], inked).legend],
    lay({ root, stage, ground, width }) {
      const [w, tall] = [stageWidth(root, width, 320), isWide(root) ? 290 : 250];
      const middle = 40 + (w - 50) / 2;
      const map = { left: 40, right: middle - 8, top: 22, bottom: 22 + tall };
      const time = { ...map, left: middle + 8, right: w - 10 };
      resize(stage, w, map.bottom + 38);
      const y = scale(SHARED.theta, [map.bottom, map.top]);
      const [g, t] = [scale([SLOW, FAST].map(Math.log10), [map.left, map.right]), scale([0, SHARED.until], [time.left, time.right])];
      drawPanel(ground, map, "start θ₁(0)");
      drawPanel(ground, time, "θ₁ over time");
      ticksUp(ground, map, y, plainTicks([-1, 0, 1]));
      ticksAcross(ground, map, g, [0.3, 1, 3].map((v) => [Math.log10(v), String(v)]));
      ticksAcross(ground, time, t, plainTicks([0, 2, 4]));
      nameAcross(ground, map, "discount rate γ", 33);
      nameAcross(ground, time, "time t", 33);
      const line = SHARED.border.map(([gamma, theta]) => [g(Math.log10(gamma)), y(theta)]);
      draw(panelWindow(ground, map), "path", { d: `${trace([...line, [map.right, map.bottom], [line[0][0], map.bottom]])}Z`, fill: ink("neutral"), "fill-opacity": 0.22 });
      drawLine(ground, line, { ...inked(SHARED.lines.edge), ...curve("edge", g, y) });
      draw(ground, "text", { class: "ln-name", x: map.right - 6, y: map.bottom - 8, "text-anchor": "end" }, "stay");
      draw(ground, "text", { class: "ln-name", x: map.left + 6, y: map.top + 16 }, "cross");
      for (const rest of [rests.left, rests.barrier, rests.right]) draw(ground, "line", { class: "ln-grid", x1: time.left, x2: time.right, y1: y(rest), y2: y(rest) });
      return { map, time, y, g, t };
    },
    grips(stage) {
      const put = pairPoint(stage, {
        label: "discount rate and start",
        kind: "point of the map",
        ends: [[SLOW, FAST].map(Math.log10), [WEST, EAST]],
        steps: [[0.01, 0.01], [0.1, 0.1]],
        read: () => [Math.log10(state.get("gamma")), state.get("start")],
        go: ([power, start]) => [state.set("gamma", clamp(10 ** power, SLOW, FAST)), state.set("start", start)],
      });
      return ({ g, y }, { gamma, start }) => put({ x: g, y }, { now: start.toFixed(2), low: WEST, high: EAST, text: `γ = ${fixed(gamma, 2)}, θ₁ = ${fixed(start, 2)}` });
    },
    show(at, { map, time, y, g, t }, { gamma, start }) {
      const known = plansAt(gamma);
      const plans = bothPlans(known, start);
      const best = cheaper(plans);
      const inner = panelWindow(at, time);
      const tracks = entries(plans).flatMap(([name, plan]) => {
        if (!plan) return [];
        const [kind, line] = /** @type {const} */ ([name === best ? "best" : "other", plan.points.map(([when, x]) => [t(when), y(x)])]);
        drawLine(inner, line, { ...inked(SHARED.lines[kind]), ...curve(name, t, y) });
        return [overTime(line, time, ink(SHARED.lines[kind].tint))];
      });
      draw(at, "line", { class: "ln-plumb", x1: g(Math.log10(gamma)), x2: time.left, y1: y(start), y2: y(start) });
      upright(at, g(Math.log10(gamma)), map, "ln-plumb");
      const J = entries(plans).map(([name, plan]) => (plan ? `${name === "stay" ? "Staying" : "Crossing"} costs J = ${fixed(plan.action, 4)}.` : `No optimal path ${name === "stay" ? "stays" : "crosses"} from here.`));
      const edge = known.indifference;
      const where = edge === null ? `γ is below γₕₑₜ = ${fixed(threshold(), 3)}: no start stays.` : `Both cost the same at θₛ = ${fixed(edge, 3)}.`;
      return [best === "stay" ? "It is right to stay." : start > rests.barrier ? "Downhill to the deep well." : "It is right to cross.", [`γ = ${fixed(gamma, 2)}, θ₁(0) = ${fixed(start, 2)}.`, ...J, where], tracks];
    },
    run: { seconds: SHARED.until, inside: ({ time }) => time },
    python: (_, { gamma, start }) => [
      "well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)",
      `path = ln.solve(ln.Objective(gamma=${gamma}), well, [${start}])`,
      "path.action, path.asymptote",
    ],
  };
});
