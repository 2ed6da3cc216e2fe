// The view of a belief: a stream of noisy gradients, what the average and the smoother make of it, and their weights.

import { buttonRow, clamp, compact, draw, explorable, figure, fixed, handle, lineSample, logDial, make, readoutNode, rootDial, sampleTable, scaffold, trace, verdictLines } from "../kit.js";
import { calm, chartFrame, chartGround, follow, panelWindow, player, timeAxis, valueAxis } from "../chart.js";
import { averageWeight, averages, beliefLaw, gradientStream, smoothed, smootherWeight } from "./model.js";

const SPAN = 200; // steps shown
const LAST = 20000;
const PACE = 12; // steps per second
const REACH = 4.5; // of the gradients' axis
const LEAP = 2.5;
const MOST_JUMPS = 60;
const LINES = {
  hidden: { stroke: "var(--ln-neutral)", "stroke-width": 2, "stroke-dasharray": "5 3" },
  smoother: { stroke: "var(--ln-optimal)", "stroke-width": 2.2, "stroke-dasharray": "9 3 2 3" },
  average: { stroke: "var(--ln-belief)", "stroke-width": 3 },
};

function buildBeliefFilter(root, state) {
  const gamma = rootDial(state, "gamma", "γ", "discount rate", [0, 0.1, 0.5, 1, 2]);
  const decay = rootDial(state, "decay", "α", "believed decay", [0, 0.05, 0.2, 0.5]);
  const diffusion = logDial(state, "diffusion", "σ", "believed wandering", [0.02, 0.1, 0.5, 1]);
  const noise = logDial(state, "noise", "s", "believed noise", [0.1, 0.5, 2, 5]);
  const [stage, readout, table] = [figure(), readoutNode(), beliefTable()];
  const at = () => state.get("now");
  const go = (step) => state.set("now", clamp(Math.round(step), 1, LAST));
  let due = 0;
  const time = player(
    root,
    state,
    (seconds) => {
      due += PACE * seconds;
      const steps = Math.floor(due);
      due -= steps;
      if (steps) state.show("now", clamp(at() + steps, 1, LAST));
      if (at() === LAST) time.want(false);
    },
    (on) => {
      row.buttons[0].textContent = on ? "Pause" : "Play";
      readout.setAttribute("aria-live", on ? "off" : "polite"); // nobody wants every step read out
    },
  );
  const pause = () => time.wanted() && time.want(false);
  const row = buttonRow([
    ["Play", "let the stream run", () => (time.wanted() ? (time.want(false), go(at())) : time.want(true))],
    ["Step", "one gradient more", () => (pause(), go(at() + 1))],
    ["Jump", "the hidden mean jumps with the next gradient", () => jump()],
  ]);
  scaffold(root, {
    label: "what a belief remembers of a stream of noisy gradients",
    title: "How long does a belief remember?",
    hint: "Send γ to 0: half the weight lies on the future. Raise it: the kernel becomes a moving average, and a longer one. Then let the mean jump.",
    areas: { control: [row.node, gamma.node, decay.node, diffusion.node, noise.node], stage: [stage], words: [table.node, readout] },
  });
  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  const cursor = handle(stage, {
    label: "now: the newest gradient that the average has seen",
    color: "var(--ln-ink)",
    onDrag: (px) => (pause(), go(first + ((px - frame.left) / (frame.right - frame.left)) * SPAN)),
    onKey: ([dx, dy], big) => (pause(), go(at() + (dx + dy) * (big ? 10 : 1))),
    onEnd: (side) => (pause(), go(side < 0 ? 1 : first + 150)),
  });

  let stream = null;
  const gradients = () => {
    const [seed, jumps] = [state.get("seed"), state.get("jumps")];
    if (stream?.seed !== seed || stream.jumps !== jumps) stream = { seed, jumps, ...gradientStream(seed, jumps) };
    return stream;
  };
  const jump = () => {
    const { means } = gradients().upTo(at() + 1);
    const size = means[at()] > 0 ? -LEAP : LEAP;
    const jumps = state.get("jumps");
    if (jumps.length < MOST_JUMPS) state.set("jumps", [...jumps.filter(([step]) => step !== at() + 1), [at() + 1, size]]);
    go(at() + 1);
  };

  let [frame, first] = [null, Math.max(0, at() - 150)];
  if (!calm()) time.want(true);
  return {
    layout(width) {
      frame = chartFrame(stage, root, width, [
        ["data", "gradients and beliefs about their mean", 300, 190],
        ["weights", null, 150, 96],
      ]);
      ground.replaceChildren();
      chartGround(ground, frame);
    },
    update() {
      const given = Object.fromEntries(["gamma", "decay", "diffusion", "noise", "now"].map((name) => [name, state.get(name)]));
      const law = beliefLaw(given);
      first = Math.max(0, follow(first, given.now, 30, 150));
      // The smoother looks on until what it would add cannot be seen.
      const horizon = first + SPAN + Math.min(4000, Math.ceil(12 / law.fast));
      const data = gradients().upTo(horizon);
      const found = { ...data, average: averages(law, data.gradients), smoother: smoothed(law, data.gradients) };
      for (const [dial, trait] of [[gamma, "gamma"], [decay, "decay"], [diffusion, "diffusion"], [noise, "noise"]]) dial.show(given[trait]);
      moving.replaceChildren();
      const x = timeAxis(moving, frame, first, SPAN, 50, "step");
      beliefData(moving, frame, x, first, given.now, found);
      beliefWeights(moving, frame, x, first, given.now, law);
      const [px, py] = [x(given.now), frame.rows.data.bottom];
      draw(moving, "line", { class: "ln-plumb", x1: px, x2: px, y1: frame.rows.data.top, y2: frame.bottom });
      cursor.place(px, py, { now: given.now, low: 1, high: LAST, text: `step ${given.now}` });
      const scores = beliefScores(found, first, given.now);
      table.show(found, given.now, scores);
      readout.replaceChildren(...beliefWords(given, law, scores));
    },
    leave: time.leave,
  };
}

/** The gradients, seen and unseen, the hidden mean, and both beliefs; the average ends at now, the smoother does not. */
function beliefData(at, f, x, first, now, { means, gradients, average, smoother }) {
  const row = f.rows.data;
  const y = valueAxis(at, f, row, [-REACH, REACH], [-4, -2, 0, 2, 4].map((v) => [v, fixed(v, 0)]));
  const inner = panelWindow(at, f, row);
  draw(inner, "rect", { x: x(now), y: row.top, width: f.right - x(now), height: row.bottom - row.top, fill: "var(--ln-neutral)", "fill-opacity": 0.12 });
  const steps = Array.from({ length: SPAN + 2 }, (_, i) => first + i).filter((step) => step >= 1);
  const pixel = (values) => (step) => [x(step), y(values[step - 1])];
  const dots = (part) => part.map(pixel(gradients)).map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");
  const dot = { fill: "none", stroke: "var(--ln-ink)", "stroke-width": 3.6, "stroke-linecap": "round" };
  draw(inner, "path", { ...dot, d: dots(steps.filter((step) => step > now)), "stroke-opacity": 0.22 });
  draw(inner, "path", { ...dot, d: dots(steps.filter((step) => step <= now)), "stroke-opacity": 0.5 });
  const line = (part, values, style) => draw(inner, "path", { class: "ln-line", d: trace(part.map(pixel(values))), ...style });
  line(steps, means, LINES.hidden);
  line(steps, smoother, LINES.smoother);
  const seen = steps.filter((step) => step <= now);
  line(seen, average, LINES.average);
  const end = pixel(average)(now);
  draw(inner, "circle", { class: "ln-dot", cx: end[0], cy: end[1], r: 5, fill: "var(--ln-belief)" });
  draw(at, "text", { class: "ln-name", x: f.right - 4, y: row.bottom - 7, "text-anchor": "end" }, "not yet seen");
}

/** The weights of both beliefs at `now`, under the gradients that they weigh. */
function beliefWeights(at, f, x, first, now, law) {
  const row = f.rows.weights;
  const most = averageWeight(law, 0);
  const top = roundUp(Math.max(most, smootherWeight(law, -1)));
  const y = valueAxis(at, f, row, [0, top], [[0, "0"]]);
  draw(at, "text", { class: "ln-name", x: f.left, y: row.top - 7 }, `weight of each gradient (top: ${Number(top.toPrecision(1))})`);
  const inner = panelWindow(at, f, row);
  const steps = Array.from({ length: SPAN + 2 }, (_, i) => first + i);
  // A datum holds for the step that ends with it.
  const bars = (part, weight) => part.flatMap((step) => [[x(step - 1), y(weight(law, now - step))], [x(step), y(weight(law, now - step))]]);
  const sides = [steps.filter((step) => step <= now), steps.filter((step) => step > now)];
  sides.forEach((side, i) => {
    const outline = bars(side, smootherWeight);
    const base = [[outline[outline.length - 1][0], row.bottom], [outline[0][0], row.bottom]];
    draw(inner, "path", { d: `${trace([...outline, ...base])}Z`, fill: "var(--ln-optimal)", "fill-opacity": i ? 0.75 : 0.45 });
  });
  const d = trace([...bars(sides[0], averageWeight), [x(now), row.bottom]]);
  draw(inner, "path", { class: "ln-line", ...LINES.average, d, "stroke-width": 2 });
  const ahead = 100 * (1 - law.causal);
  const share = (part) => `${fixed(part, part < 1 || part > 99 ? 1 : 0)}%`;
  const [past, future] = [`past ${share(100 - ahead)}`, `future ${share(ahead)}`];
  const label = (anchor, shift, words) => {
    const place = { x: x(now) + shift, y: row.top + 15, "text-anchor": anchor };
    draw(at, "text", { class: "ln-text", ...place }, words).style.setProperty("--c", "var(--ln-optimal)");
  };
  const room = 92;
  if (x(now) - f.left < room) label("start", 7, `${past}, ${future}`);
  else if (f.right - x(now) < room) label("end", -7, `${past}, ${future}`);
  else {
    label("end", -7, past);
    label("start", 7, future);
  }
}

/** The next of 1, 2, 5, 10 … times a power of ten. */
function roundUp(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= value * (1 - 1e-12));
}

/** Root mean square distance from the hidden mean, over what is shown and seen. */
function beliefScores({ means, average, smoother }, first, now) {
  const score = (values) => {
    let sum = 0;
    for (let step = first + 1; step <= now; step++) sum += (values[step - 1] - means[step - 1]) ** 2;
    return Math.sqrt(sum / (now - first));
  };
  return { average: score(average), smoother: score(smoother) };
}

/** What the picture means, in words and numbers. */
function beliefWords({ gamma, now }, law, scores) {
  const ahead = 1 - law.causal;
  const verdict =
    ahead > 0.4999
      ? "Half of the smoother's weight lies on the future."
      : ahead < 0.02
        ? "The moving average is nearly the smoother."
        : `${fixed(100 * ahead, 0)}% of the smoother's weight lies on the future.`;
  const steps = 1 / law.rate;
  return verdictLines(verdict, [
    `γ = ${fixed(gamma, 2)}: β = ${fixed(law.beta, 4)}, memory ${compact(steps)} steps.`,
    `κ = B/A = ${fixed(law.gain, 3)}, B = σ²/s² = ${compact(law.evidence)}.`,
    `Error to step ${now}: ${compact(scores.average / scores.smoother)} times the smoother's.`,
  ]);
}

/** The table of the lines: where each is now, and how far from the hidden mean it has been. */
function beliefTable() {
  const names = { hidden: "hidden mean", average: "moving average", smoother: "smoother" };
  const lines = Object.entries(names).map(([key, name]) => [key, { name, sample: lineSample(LINES[key]) }]);
  const { node, rows } = sampleTable(Object.fromEntries(lines), ["line", "now", "error"]);
  const show = ({ means, average, smoother }, now, scores) => {
    for (const [key, values] of Object.entries({ hidden: means, average, smoother })) {
      rows[key].cells[0].textContent = fixed(values[now - 1], 2);
      rows[key].cells[1].textContent = key === "hidden" ? "–" : fixed(scores[key], 3);
    }
  };
  return { node, show };
}

export default explorable("BeliefFilter", buildBeliefFilter);
