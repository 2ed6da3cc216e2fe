// The view of a belief: a stream of noisy gradients, what the average and the smoother make of it, and their weights.

/** @import { Scale } from "../kit.js" */
/** @import { ChartFrame } from "../chart.js" */
/** @import { Build } from "../life.js" */
/** @import { BeliefLaw } from "./model.js" */

import { calm, chartFrame, follow, player, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, declaredDials, handle } from "../controls.js";
import { clamp, compact, curve, draw, drawDot, drawLine, entries, figure, fixed, ink, lastOf, layer, mapped, panelWindow, plainTicks, readout, scaffold, trace, upright } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { averageWeight, averages, beliefLaw, gradientStream, lookAhead, smoothed, smootherWeight } from "./model.js";

/** @typedef {{ gamma: number, decay: number, diffusion: number, noise: number, now: number }} Setting */
/** @typedef {{ seed: number, jumps: [number, number][] }} Source */
/** @typedef {Record<"gradients" | LineName, number[]>} Lines */
/** @typedef {keyof typeof SHARED.lines} LineName */
/** @typedef {{ average: number, smoother: number }} Scores */
/** @typedef {ChartFrame<"data" | "weights">} BeliefFrame */

const { span: SPAN, past: PAST, reach: REACH } = SHARED.window; // steps, steps before now, and the gradients' axis
const LAST = SHARED.steps;
const BEFORE = 30; // steps that stay in view before now
const PACE = 12; // steps per second
const LEAP = 2.5;
/** The step before those that are looked back on. */
const pastOf = (/** @type {number} */ now) => Math.max(0, now - PAST);
const LINES = mapped(SHARED.lines, inked);

/** @type {Build<Setting & Source>} */
const buildBeliefFilter = (root, state) => {
  const dials = declaredDials(state, SHARED.traits);
  const [stage, says, table] = [figure(), readout(), lineTable(SHARED.lines, ["line", "now", "error"], inked)];
  const at = () => state.get("now");
  const go = (/** @type {number} */ step) => state.set("now", clamp(Math.round(step), 1, LAST));
  let due = 0;
  const time = player(root, state, {
    advance(seconds) {
      due += PACE * seconds;
      const steps = Math.floor(due);
      due -= steps;
      if (steps) state.show("now", clamp(at() + steps, 1, LAST));
      if (at() === LAST) time.want(false);
    },
    button: () => row.buttons[0],
    play: "Play",
  });
  const goTo = (/** @type {number} */ step) => {
    time.pause();
    go(step);
  };
  const row = buttonRow([
    ["Play", "let the stream run", () => (time.wanted() ? goTo(at()) : time.want(true))],
    ["Step", "one gradient more", () => goTo(at() + 1)],
    ["Jump", "the hidden mean jumps with the next gradient", () => jump()],
  ]);
  scaffold(root, {
    label: "what a belief remembers of a stream of noisy gradients",
    title: SHARED.title,
    hint: "Send γ to 0: half the weight lies on the future. Raise it: what is left is a moving average, and a longer one. Then let the mean jump.",
    stage: [stage],
    legend: [table.legend],
    control: [row.node, dials.gamma.node],
    says,
    more: [dials.decay, dials.diffusion, dials.noise].map((dial) => dial.node),
    numbers: [table.node],
  });
  const [ground, moving] = [layer(stage), layer(stage)];
  const cursor = handle(stage, {
    label: "now: the newest gradient that the average has seen",
    color: ink("ink"),
    // Within the window that does not move on: a window that followed the hand would run away under it.
    onDrag: (px) => goTo(clamp(first + ((px - frame.left) / (frame.right - frame.left)) * SPAN, first && first + BEFORE, first + PAST)),
    onKey: ([dx, dy], big) => goTo(at() + (dx + dy) * (big ? 10 : 1)),
    onEnd: (side) => goTo(side < 0 ? 1 : first + PAST),
  });

  /** @type {(Source & ReturnType<typeof gradientStream>) | null} */
  let stream = null;
  const gradients = () => {
    const source = state.pick("seed", "jumps");
    if (stream?.seed !== source.seed || stream.jumps !== source.jumps) stream = { ...source, ...gradientStream(source.seed, source.jumps) };
    return stream;
  };
  const jump = () => {
    const { means } = gradients().upTo(at() + 1);
    const size = means[at()] > 0 ? -LEAP : LEAP;
    state.set("jumps", [...state.get("jumps").filter(([step]) => step !== at() + 1), [at() + 1, size]]);
    go(at() + 1);
  };

  /** @type {BeliefFrame} */
  let frame;
  let first = pastOf(at());
  if (!calm()) time.want(true);
  const view = {
    /** @param {number} width */
    layout(width) {
      ground.replaceChildren();
      frame = chartFrame({ root, stage, ground, width }, { data: ["gradients and beliefs about their mean", 300, 190], weights: [null, 150, 96] });
    },
    update() {
      const given = state.pick("gamma", "decay", "diffusion", "noise", "now");
      const law = beliefLaw(given);
      first = Math.max(0, follow(first, given.now, BEFORE, PAST));
      const data = gradients().upTo(first + SPAN + lookAhead(law));
      /** @type {Lines} */
      const found = { gradients: data.gradients, hidden: data.means, average: averages(law, data.gradients), smoother: smoothed(law, data.gradients) };
      for (const [trait, dial] of entries(dials)) dial.show(given[/** @type {keyof Setting} */ (trait)]);
      moving.replaceChildren();
      const x = timeAxis(moving, frame, first, SPAN, 50, "step");
      beliefData(moving, frame, x, first, given.now, found);
      beliefWeights(moving, frame, x, first, given.now, law);
      const { data: top } = frame.rows;
      upright(moving, x(given.now), { top: top.top, bottom: frame.bottom }, "ln-plumb");
      row.buttons[2].disabled = given.now === LAST || state.get("jumps").length === SHARED.traits.jumps.most;
      cursor.place(x(given.now), top.bottom, { now: given.now, low: 1, high: LAST, text: `step ${given.now}` });
      const scores = beliefScores(found, given.now);
      table.fill((key) => [fixed(found[key][given.now - 1], 2), key === "hidden" ? "–" : fixed(scores[key], 3)]);
      says.say(...beliefWords(given, law, scores));
    },
    python() {
      const { gamma, decay, diffusion, noise } = state.pick("gamma", "decay", "diffusion", "noise");
      const given = { decay, gamma, diffusion, noise };
      return [`weights = ln.belief.memory(${entries(given).map(([name, value]) => `${name}=${inPython(value)}`).join(", ")})`, "weights.beta, weights.gain, weights.causal_fraction"];
    },
    leave: time.leave,
  };
  root.addEventListener("reset", () => {
    first = pastOf(at());
    view.update();
  });
  return view;
};

/**
 * The gradients, seen and unseen, the hidden mean, and both beliefs; the average ends at now, the smoother does not.
 * @type {(at: Element, f: BeliefFrame, x: Scale, first: number, now: number, found: Lines) => void}
 */
function beliefData(at, f, x, first, now, { gradients, ...lines }) {
  const row = f.rows.data;
  const inView = lines.hidden.slice(first, first + SPAN + 1).map(Math.abs);
  const reach = Math.max(REACH, Math.ceil(Math.max(...inView)) + 1); // jumps add up
  const far = 4 * Math.floor(reach / 4);
  const y = valueAxis(at, row, [-reach, reach], plainTicks([-far, -far / 2, 0, far / 2, far]));
  const inner = panelWindow(at, row);
  draw(inner, "rect", { x: x(now), y: row.top, width: f.right - x(now), height: row.bottom - row.top, fill: ink("neutral"), "fill-opacity": 0.12 });
  const steps = Array.from({ length: SPAN + 2 }, (_, i) => first + i).filter((step) => step >= 1);
  const seen = steps.filter((step) => step <= now);
  /** @type {(values: number[], part: number[]) => number[][]} */
  const pixel = (values, part) => part.map((step) => [x(step), y(values[step - 1])]);
  const dots = (/** @type {number[]} */ part) => pixel(gradients, part).map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");
  const dot = { fill: "none", stroke: ink("ink"), "stroke-width": 3.6, "stroke-linecap": "round" };
  draw(inner, "path", { ...dot, d: dots(steps.filter((step) => step > now)), "stroke-opacity": 0.22 });
  draw(inner, "path", { ...dot, d: dots(seen), "stroke-opacity": 0.5 });
  for (const name of /** @type {LineName[]} */ (["hidden", "smoother", "average"])) {
    drawLine(inner, pixel(lines[name], name === "average" ? seen : steps), { ...LINES[name], ...curve(name, x, y) });
  }
  drawDot(inner, pixel(lines.average, [now])[0], 5, ink("belief"));
  draw(at, "text", { class: "ln-name", x: f.right - 4, y: row.bottom - 7, "text-anchor": "end" }, "not yet seen");
}

/**
 * The weights of both beliefs at `now`, under the gradients that they weigh.
 * @type {(at: Element, f: BeliefFrame, x: Scale, first: number, now: number, law: BeliefLaw) => void}
 */
function beliefWeights(at, f, x, first, now, law) {
  const row = f.rows.weights;
  const most = Math.max(averageWeight(law, 0), smootherWeight(law, -1));
  const y = valueAxis(at, row, [0, 1.35 * most], [[0, "0"], [most, ""]]);
  draw(at, "text", { class: "ln-name", x: f.left, y: row.top - 7 }, `weight of each gradient, up to ${compact(most)}`);
  const inner = panelWindow(at, row);
  const steps = Array.from({ length: SPAN + 2 }, (_, i) => first + i);
  // A datum holds for the step that ends with it.
  /** @type {(part: number[], weight: typeof averageWeight) => number[][]} */
  const bars = (part, weight) => part.flatMap((step) => [[x(step - 1), y(weight(law, now - step))], [x(step), y(weight(law, now - step))]]);
  const sides = [steps.filter((step) => step <= now), steps.filter((step) => step > now)];
  sides.forEach((side, i) => {
    const outline = bars(side, smootherWeight);
    const base = [[lastOf(outline)[0], row.bottom], [outline[0][0], row.bottom]];
    draw(inner, "path", { d: `${trace([...outline, ...base])}Z`, fill: ink("optimal"), "fill-opacity": i ? 0.75 : 0.45 });
  });
  drawLine(inner, [...bars(sides[0], averageWeight), [x(now), row.bottom]], { ...LINES.average, "stroke-width": 2 });
  const ahead = 100 * (1 - law.causal);
  const share = (/** @type {number} */ part) => `${fixed(part, part < 1 || part > 99 ? 1 : 0)}%`;
  const [past, future] = [`past ${share(100 - ahead)}`, `future ${share(ahead)}`];
  /** @type {(anchor: string, shift: number, words: string) => void} */
  const label = (anchor, shift, words) => {
    const place = { x: x(now) + shift, y: row.top + 15, "text-anchor": anchor };
    draw(at, "text", { class: "ln-text", ...place }, words).style.setProperty("--c", ink("optimal"));
  };
  const room = 92;
  if (x(now) - f.left < room) label("start", 7, `${past}, ${future}`);
  else if (f.right - x(now) < room) label("end", -7, `${past}, ${future}`);
  else {
    label("end", -7, past);
    label("start", 7, future);
  }
}

/**
 * Root mean square distance from the hidden mean, over the last steps.
 * @type {(found: Lines, now: number) => Scores}
 */
function beliefScores({ hidden, average, smoother }, now) {
  const first = pastOf(now);
  const score = (/** @type {number[]} */ values) => {
    let sum = 0;
    for (let step = first + 1; step <= now; step++) sum += (values[step - 1] - hidden[step - 1]) ** 2;
    return Math.sqrt(sum / (now - first));
  };
  return { average: score(average), smoother: score(smoother) };
}

/** @type {(given: Setting, law: BeliefLaw, scores: Scores) => [string, string[]]} */
function beliefWords({ gamma, now }, law, scores) {
  const ahead = 1 - law.causal;
  const verdict =
    ahead > 0.4999
      ? "Half of the smoother's weight lies on the future."
      : ahead < 0.02
        ? "The moving average is nearly the smoother."
        : `${fixed(100 * ahead, 0)}% of the smoother's weight lies on the future.`;
  const steps = 1 / law.rate;
  return [verdict, [
    `γ = ${fixed(gamma, 2)}: β = ${fixed(law.beta, 4)}, memory ${compact(steps)} steps.`,
    `κ = B/A = ${fixed(law.gain, 3)}, B = σ²/s² = ${compact(law.evidence)}.`,
    `Error in steps ${pastOf(now) + 1} to ${now}: ${compact(scores.average / scores.smoother)} times the smoother's.`,
  ]];
}

export default explorable("BeliefFilter", buildBeliefFilter, SHARED);
