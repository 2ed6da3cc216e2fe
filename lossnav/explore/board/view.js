// The view of the board: switches and known names, the formulas and the code that follow, the field and the path.

/** @import { Build } from "../life.js" */
/** @import { SquareFrame } from "../plane.js" */
/** @import { Corner } from "./model.js" */
/** @import { SwitchName } from "./corners.js" */

import { declaredDials } from "../controls.js";
import { curve, draw, drawDot, drawLine, entries, figure, ink, lastOf, layer, panelWindow, pixels, readout, samples, scaffold } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { bowlContours, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { between, runner } from "../runner.js";
import SHARED from "./constants.json" with { type: "json" };
import { SWITCHES, SWITCH_NAMES, calledAt, differing, shownAt } from "./corners.js";
import { BOARD_BOWL, firstVelocity, runBoard, stepsUntilEnd } from "./model.js";
import { boardWords, codeBox, formulaBox, knownList, switchRows } from "./parts.js";

/** @typedef {Corner & { start: number[], dt: number, noise: number }} Traits */

/** @type {Build<Traits>} */
const buildBoard = (root, state) => {
  /** The corner; a position that an address made up is the first one. */
  const corner = () => {
    const asked = state.pick(...SWITCH_NAMES);
    return /** @type {Corner} */ (Object.fromEntries(entries(SWITCHES).map(([name, [, positions]]) => [name, asked[name] in positions ? asked[name] : Object.keys(positions)[0]])));
  };
  /** @type {SwitchName[]} */
  let changed = [];
  const go = (/** @type {Corner} */ to) => {
    changed = differing(corner(), to);
    for (const name of changed) state.set(name, to[name]);
  };
  const switches = switchRows((name, position) => go({ ...corner(), [name]: position }));
  const known = knownList(go, (names) => switches.point(names));
  const dials = declaredDials(state, SHARED.traits);
  const [stage, says, formulas, code] = [figure(), readout(), formulaBox(), codeBox()];
  const [ground, moving] = [layer(stage), layer(stage)];
  const dots = runner(root, state, stage, SHARED.until);
  scaffold(root, {
    label: "assumptions, and the optimizer that follows from them",
    title: SHARED.title,
    hint: "Change an answer, or let a name take you to its answers.",
    stage: [stage],
    control: [switches.node],
    says,
    more: [known.node],
    rows: [dots.node, dials.dt.node, dials.noise.node],
    numbers: [formulas.node, code.node],
  });
  const putStart = planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold: SHARED.hold, small: 0.1 });
  root.addEventListener("reset", () => {
    changed = [];
    show();
  });
  /** @type {SquareFrame} */
  let frame;
  const show = () => {
    const at = corner();
    const run = state.pick("start", "dt", "noise");
    const shown = shownAt(at);
    const path = runBoard(at, run);
    switches.show(at, changed);
    known.show(at);
    dials.dt.show(run.dt);
    dials.noise.show(run.noise);
    formulas.show(shown);
    code.show(shown);
    says.say(...boardWords(at, run, path, shown, changed));
    moving.replaceChildren();
    const last = stepsUntilEnd(run.dt);
    dots.show(frame, shown ? [{ at: (share) => pixels(frame)(between(path, share * last)), color: ink("optimal") }] : []);
    if (shown) {
      boardField(moving, frame, at, run.dt);
      boardPath(moving, frame, path);
    }
    putStart(frame);
  };
  return {
    /** @param {number} width */
    layout(width) {
      ground.replaceChildren();
      const { edge, ticks } = SHARED;
      frame = squareFrame({ root, stage, ground, width }, { edge, ticks, names: ["θ₁ (h = 1/9)", "θ₂ (h = 1)"], aside: Math.round(width / 2) + 8, most: 440 });
      bowlContours(ground, frame, BOARD_BOWL);
    },
    update: show,
    leave: dots.leave,
    python() {
      const at = corner();
      const { start: from, dt, noise } = state.pick("start", "dt", "noise");
      const call = calledAt(at, inPython(dt));
      if (!shownAt(at)) return ["try:", ...call.map((line) => `    ${line}`), "except ln.NoMinimiser as reason:", "    print(reason)"];
      return [
        ...call,
        "h, theta = np.array([1 / 9, 1.0]), np.array([" + from.map(inPython).join(", ") + "])",
        ...(noise ? [`kicks = explore.Board(dt=${inPython(dt)}, noise=${inPython(noise)}).kicks()`] : []),
        "state, path = rule.init(theta), [theta]",
        `for n in range(${stepsUntilEnd(dt)}):`,
        `    step, state = rule(h * theta${noise ? " + kicks[n]" : ""}, state, theta)`,
        "    theta = theta + step",
        "    path.append(theta)",
        `    if np.max(np.abs(theta)) > ${SHARED.gone}:`,
        "        break",
        "print(rule.source)  # the step of rule.optimizer(model.parameters())",
      ];
    },
  };
};

/**
 * The first step from each place, as an arrow: its length saturates.
 * @type {(at: Element, f: SquareFrame, corner: Corner, dt: number) => void}
 */
function boardField(at, f, corner, dt) {
  const count = SHARED.field;
  const cell = f.size / count;
  const places = samples(-SHARED.edge, SHARED.edge, 2 * count).filter((_, i) => i % 2);
  let d = "";
  for (const x of places) {
    for (const y of places) {
      const [u, v] = firstVelocity(corner, [x, y], dt);
      const size = Math.hypot(u, v);
      if (!Number.isFinite(size) || size === 0) continue;
      const reach = (0.46 * cell * size) / (size + 0.7);
      const [dx, dy] = [(u / size) * reach, (-v / size) * reach];
      const [px, py] = [f.x(x), f.y(y)];
      const barb = (/** @type {number} */ side) => `L${(px + dx - 0.55 * dx - side * 0.4 * dy).toFixed(1)} ${(py + dy - 0.55 * dy + side * 0.4 * dx).toFixed(1)}`;
      const tip = `${(px + dx).toFixed(1)} ${(py + dy).toFixed(1)}`;
      d += `M${(px - dx).toFixed(1)} ${(py - dy).toFixed(1)}L${tip}${barb(1)}M${tip}${barb(-1)}`;
    }
  }
  draw(at, "path", { class: "ln-line ln-field", d });
}

/**
 * The path, with a dot at each step where there is room.
 * @type {(at: Element, f: SquareFrame, path: number[][]) => void}
 */
function boardPath(at, f, path) {
  const inner = panelWindow(at, f);
  const points = path.map(pixels(f));
  drawLine(inner, points, { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("path", f.x, f.y) });
  let [px, py] = points[0];
  for (const [x, y] of points.slice(1)) {
    if (Math.hypot(x - px, y - py) < 7) continue;
    [px, py] = [x, y];
    drawDot(inner, [x, y], 3.2, ink("optimal"));
  }
  drawDot(inner, lastOf(points), 5, ink("optimal"));
}

export default explorable("Board", buildBoard, SHARED);
