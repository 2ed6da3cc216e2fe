// The view of steps and the path that they become: distance over time, and what each way costs.

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { declaredDial } from "../controls.js";
import { curve, drawDot, drawLine, entries, fixed, ink, panelWindow, plainTicks, samples } from "../kit.js";
import { overTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { limitRate, myopicFactor, plannedFactor, sumCost } from "./model.js";

export default simple("PlannedSteps", SHARED, (state) => {
  const table = lineTable(SHARED.lines, ["θ over time", "rate", "J"], inked);
  return {
    dials: { dt: declaredDial(state, SHARED.traits, "dt") },
    table,
    lay(paper) {
      const f = chartFrame(paper, { path: ["distance θ − μ, of 1 at the start", 250, 210] });
      const y = valueAxis(paper.ground, f.rows.path, [-0.03, 1.05], plainTicks([0, 0.5, 1], 1));
      return { f, x: timeAxis(paper.ground, f, 0, SHARED.span, 1, "time t"), y };
    },
    show(at, { f, x, y }, setting) {
      const inner = panelWindow(at, f.rows.path);
      const [rate, dt] = [limitRate(setting.gamma), setting.dt];
      const smooth = samples(0, SHARED.span, 200).map((t) => [x(t), y(Math.exp(-rate * t))]);
      const tracks = [overTime(smooth, f, ink(SHARED.lines.limit.tint))];
      drawLine(inner, smooth, { stroke: ink("optimal"), "stroke-width": 4, "stroke-opacity": 0.7, ...curve("limit", x, y) });
      const costs = { planned: [0, 0], limit: [rate, rate / 2], myopic: [0, 0] };
      for (const [name, m] of entries({ myopic: myopicFactor(setting), planned: plannedFactor(setting) })) {
        const steps = Array.from({ length: Math.floor(SHARED.span / dt) + 2 }, (_, n) => [x(n * dt), y(m ** n)]);
        drawLine(inner, steps, { ...inked(SHARED.lines[name]), "stroke-width": 1.6, ...curve(name, x, y) });
        const color = ink(SHARED.lines[name].tint);
        if (dt > 0.1) for (const step of steps) drawDot(inner, step, 3.6, color);
        tracks.push(overTime(steps, f, color));
        costs[name] = [-Math.log(m) / dt, sumCost(setting, m)];
      }
      table.fill((name) => costs[name].map((cost) => fixed(cost, 3)));
      const off = Math.abs(costs.planned[0] / rate - 1);
      return [`The planner's rate is ${fixed(100 * off, 1)} % off the limit's.`, [
        `Steps of Δt = ${fixed(dt, 2)} with γ = ${fixed(setting.gamma, 2)}: m = ${fixed(plannedFactor(setting), 4)}; one at a time, m = ${fixed(myopicFactor(setting), 4)}.`,
        "J of steps: the discounted sum, the loss charged where a step ends.",
      ], tracks];
    },
    run: { seconds: SHARED.span, inside: ({ f }) => f.rows.path },
    python: (_, { gamma }) => [`ln.rules.rates(ln.Objective(gamma=${gamma}), [[1.0]])  # the limit's`],
  };
});
