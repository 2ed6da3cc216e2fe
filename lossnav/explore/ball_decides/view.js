// The view of a limit of speed: its ball at the start, steepest descent in it, and the best path.

/** @import { SquareFrame } from "../plane.js" */

import { buttonRow, declaredDial } from "../controls.js";
import { curve, degrees, draw, drawLine, fixed, ink, panelWindow, pixels } from "../kit.js";
import { squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { evenly } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { compared, corners, piecesAfter } from "./model.js";

/** @typedef {keyof typeof SHARED.lines} Line */

export default simple("BallDecides", SHARED, (state) => {
  const { edge, hold, names } = SHARED;
  const choice = buttonRow(names.map((name, norm) => [name, `charge the speed in ${name}`, () => state.set("norm", norm)]));
  return {
    dials: { angle: declaredDial(state, SHARED.traits, "angle", { text: degrees }) },
    more: [choice.node],
    legend: [lineTable(SHARED.lines, [], inked).legend],
    grips: (stage) => planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold }),
    lay: (paper) => squareFrame(paper, { edge, ticks: [-1, 0, 1], names: ["θ₁", "θ₂"], aside: 300, most: 400 }),
    show(at, square, given) {
      const { rule, optimal, excess } = compared(given);
      const [inner, pixel] = [panelWindow(at, square), pixels(square)];
      contours(inner, square, given.angle);
      const ball = corners(given.norm).map(([x, y]) => [given.start[0] + SHARED.ball * x, given.start[1] + SHARED.ball * y]);
      for (const [name, line] of /** @type {[Line, number[][]][]} */ ([["ball", ball], ["optimal", optimal], ["rule", rule]])) {
        drawLine(inner, line.map(pixel), { ...inked(SHARED.lines[name]), ...curve(name, square.x, square.y) });
      }
      const tracks = [evenly(rule.map(pixel), ink("ink")), evenly(optimal.map(pixel), ink("optimal"))]
        .map((track) => ({ ...track, at: (/** @type {number} */ share) => track.at(piecesAfter(share)) }));
      choice.buttons.forEach((button, norm) => button.setAttribute("aria-pressed", String(norm === given.norm)));
      const share = fixed(100 * excess, 1);
      const verdict = share === "0.0" ? "Steepest descent costs what the best path costs." : `Steepest descent costs ${share} % too much.`;
      return [verdict, [
        `α = ${degrees(given.angle)}, γ = ${fixed(given.gamma, 2)}.`,
        `Ball: a ${SHARED.shapes[given.norm]} (${names[given.norm]}).`,
        `Excess: ${share} %.`,
      ], tracks];
    },
    run: { seconds: 5, inside: (square) => square },
    python({ norm }, { angle, gamma, start }) {
      const turn = `np.deg2rad(${angle})`;
      return [
        `turn = np.array([[np.cos(${turn}), -np.sin(${turn})], [np.sin(${turn}), np.cos(${turn})]])`,
        "bowl = ln.losses.Quadratic(turn @ np.diag([1.0, 30.0]) @ turn.T, minimum=[0.0, 0.0])",
        `limit = ln.prices.Norm("${["l1", "l2", "linf"][norm]}", limit=1.0)`,
        `limit.velocity(-bowl.gradient(${start}))  # steepest descent`,
        `ln.Objective(gamma=${gamma}, price=limit)`,
      ];
    },
  };
});

/** @type {(at: Element, square: SquareFrame, angle: number) => void} */
function contours(at, square, angle) {
  const [cx, cy] = [square.x(0), square.y(0)];
  for (let level = 0.5; level <= 10; level += 0.75) {
    const [rx, ry] = SHARED.curvatures.map((h) => square.x(level / Math.sqrt(h)) - cx);
    draw(at, "ellipse", { class: "ln-contour", cx, cy, rx, ry, transform: `rotate(${-angle} ${cx} ${cy})` });
  }
}
