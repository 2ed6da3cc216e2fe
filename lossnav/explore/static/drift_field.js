// The view of a drift field: the plane with the field, the loss, the optimal path and where it ends.

import { arrowhead, clamp, compact, draw, explorable, fixed, handle, make, scale, setAll, slider, trace, unbroken } from "./kit.js";
import { STIFF, driftLaw, driftTimes } from "./drift_field_model.js";

const EDGE = 2;
const HOLD = 1.9; // farthest start and minimum
const FASTEST = 10; // largest |q|
const HARDEST = 4; // largest j
const MOST = 10; // largest γ

const pair = ([x, y]) => `(${fixed(x, 3)}, ${fixed(y, 3)})`;
const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);

function buildDriftField(root, state) {
  const dial = (symbol, name, values, most, trait) =>
    slider({
      symbol,
      name,
      marks: values.map((value) => ({ value, label: String(value) })),
      toPosition: (v) => Math.sqrt(v / most),
      toValue: (u) => most * u * u,
      text: (v) => fixed(v, 2),
      onInput: (v) => state.set(trait, v),
    });
  const rate = slider({
    symbol: "q",
    name: "rotation rate of the drift",
    marks: [-10, -2.5, 0, 2.5, 10].map((value) => ({ value, label: fixed(value, value % 1 ? 1 : 0) })),
    toPosition: (q) => (1 + Math.sign(q) * Math.sqrt(Math.abs(q) / FASTEST)) / 2,
    toValue: (u) => FASTEST * (2 * u - 1) * Math.abs(2 * u - 1),
    text: (q) => fixed(q, 2),
    onInput: (q) => state.set("rate", q),
  });
  const decay = dial("j", "decay rate of the drift", [0, 0.25, 1, 4], HARDEST, "decay");
  const gamma = dial("γ", "discount rate", [0, 0.5, 2, 5, 10], MOST, "gamma");
  const stage = draw(make("div"), "svg", { class: "ln-figure" });
  const readout = make("p", { class: "lossnav-readout", "aria-live": "polite" });
  const table = placeTable();
  root.setAttribute("aria-label", "Explorable: the optimal path under a drift");
  root.append(
    make("p", { class: "ln-title" }, "Sailing with a drift"),
    make("p", { class: "ln-hint" }, "Set j = 0 and turn q up; then raise γ and watch the end leave the minimum of L_eff. Drag the start, or the minimum."),
    make(
      "div",
      { class: "ln-grid-areas" },
      make("div", { class: "ln-control" }, rate.node, decay.node, gamma.node),
      make("div", { class: "ln-stage" }, stage),
      make("div", { class: "ln-words" }, table.node, readout),
    ),
  );

  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  const point = (trait, label, color) => {
    const move = (x, y) => state.set(trait, [clamp(x, -HOLD, HOLD), clamp(y, -HOLD, HOLD)]);
    return handle(stage, {
      label: `${label}; arrow keys move it both ways`,
      color,
      onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
      onKey([dx, dy], big) {
        const [x, y] = state.get(trait);
        move(x + dx * (big ? 0.5 : 0.05), y + dy * (big ? 0.5 : 0.05));
      },
      onEnd: (side) => move(side * HOLD, state.get(trait)[1]),
    });
  };
  const start = point("start", "start θ(0)", "var(--ln-ink)");
  const minimum = point("minimum", "minimum θ* of the loss", "var(--ln-neutral)");

  let frame = null;
  return {
    layout(width) {
      frame = fieldFrame(stage, root, width);
      ground.replaceChildren();
      fieldGround(ground, frame);
    },
    update() {
      const given = Object.fromEntries(["start", "minimum", "rate", "decay", "gamma"].map((name) => [name, state.get(name)]));
      const law = driftLaw(given);
      rate.show(given.rate);
      decay.show(given.decay);
      gamma.show(given.gamma);
      moving.replaceChildren();
      fieldMoving(moving, frame, given, law);
      for (const [knob, at] of [[start, given.start], [minimum, given.minimum]]) {
        const text = `θ₁ = ${fixed(at[0], 2)}, θ₂ = ${fixed(at[1], 2)}`;
        knob.place(frame.x(at[0]), frame.y(at[1]), { now: at[0].toFixed(2), low: -HOLD, high: HOLD, text });
      }
      table.show({ end: law.rest, effective: law.effective, minimum: given.minimum });
      readout.replaceChildren(...fieldWords(given, law));
    },
  };
}

/** Sizes and scales for one width. */
function fieldFrame(stage, root, width) {
  const wide = width >= 660;
  root.classList.toggle("ln-wide", wide);
  const w = Math.round(wide ? Math.min(width - 348, 500) : width - 24);
  root.style.setProperty("--ln-stage", `${w}px`);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  setAll(stage, { viewBox: `0 0 ${w} ${top + size + 36}`, width: w, height: top + size + 36 });
  return { left, top, size, x: scale([-EDGE, EDGE], [left, left + size]), y: scale([-EDGE, EDGE], [top + size, top]) };
}

/** The panel and its axes. */
function fieldGround(at, f) {
  draw(at, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.size, height: f.size });
  for (const value of [-2, -1, 0, 1, 2]) {
    const text = fixed(value, 0);
    draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.top + f.size + 16, "text-anchor": "middle" }, text);
    draw(at, "text", { class: "ln-tick", x: f.left - 6, y: f.y(value) + 4, "text-anchor": "end" }, text);
  }
  draw(at, "text", { class: "ln-name", x: f.x(0), y: f.top + f.size + 32, "text-anchor": "middle" }, "θ₁");
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 7 }, "θ₂");
}

/** Loss, field, the drift alone, the optimal path and the three places. */
function fieldMoving(at, f, { minimum, rate, decay }, law) {
  const view = { x: f.left, y: f.top, width: f.size, height: f.size, viewBox: `${f.left} ${f.top} ${f.size} ${f.size}` };
  const inner = draw(at, "svg", view); // clips what leaves the panel
  const unit = f.x(1) - f.x(0);
  for (const r of [0.5, 1, 1.5, 2, 2.5, 3]) {
    draw(inner, "circle", { class: "ln-contour", cx: f.x(minimum[0]), cy: f.y(minimum[1]), r: r * unit });
  }
  const blue = "color-mix(in srgb, var(--ln-descent) 75%, var(--ln-lean))"; // stands out in the dark, too
  draw(inner, "path", { d: fieldArrows(f, law.drift), fill: blue, stroke: blue, "stroke-width": 1.1, opacity: 0.75 });
  const pixel = ([x, y]) => [f.x(x), f.y(y)];
  const line = (points, style) => draw(inner, "path", { class: "ln-line", d: trace(points.map(pixel)), ...style });
  const drifting = driftTimes(decay, rate).map(law.alone);
  line(drifting, { stroke: "var(--ln-neutral)", "stroke-width": 2, "stroke-dasharray": "2 4" });
  line(driftTimes(law.lambda, rate).map(law.place), { stroke: "var(--ln-optimal)", "stroke-width": 3.2 });
  const [ex, ey] = pixel(law.effective);
  draw(inner, "path", { d: diamond(ex, ey, 8), fill: "var(--ln-paper)", stroke: "var(--ln-ink)", "stroke-width": 2 });
  const [rx, ry] = pixel(law.rest);
  draw(inner, "circle", { class: "ln-dot", cx: rx, cy: ry, r: 6, fill: "var(--ln-optimal)" });
}

const diamond = (x, y, s) => `M${x} ${y - s}L${x + s} ${y}L${x} ${y + s}L${x - s} ${y}Z`;

/** The field as one path: lengths are compressed, so that weak and strong drifts can be seen side by side. */
function fieldArrows(f, drift) {
  const parts = [];
  for (let x = -1.75; x < 2; x += 0.5) {
    for (let y = -1.75; y < 2; y += 0.5) {
      const [u, v] = drift([x, y]);
      const size = Math.hypot(u, v);
      if (size < 1e-9) continue;
      const length = (0.42 * size) / (size + 1.5) / size;
      const [x0, y0, x1, y1] = [f.x(x - (u * length) / 2), f.y(y - (v * length) / 2), f.x(x + (u * length) / 2), f.y(y + (v * length) / 2)];
      parts.push(`M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`, arrowhead(x1, y1, x1 - x0, y1 - y0, 5));
    }
  }
  return parts.join("");
}

/** What the picture means, in words and numbers. */
function fieldWords({ minimum, rate, decay, gamma }, law) {
  const gap = distance(law.rest, law.effective);
  const verdict =
    rate === 0 && decay === 0
      ? "No drift: the path ends at the minimum of the loss."
      : rate === 0
        ? "A gradient drift: the path ends at the minimum of L_eff."
        : gap < 5e-4
          ? "The drift is no gradient; here the end hardly differs from the minimum of L_eff."
          : `The drift is no gradient: the end misses the minimum of L_eff by ${fixed(gap, 3)}.`;
  const turn = Math.abs(rate) / law.lambda / (2 * Math.PI);
  const cost = law.action === Infinity ? `J = ∞: resting costs ${compact(law.resting)} per time, the rest ${compact(law.excess)}` : `J = ${compact(law.action)}, of it resting ${compact(law.action - law.excess)}`;
  const lines = [
    `From θ* it is ${fixed(distance(law.rest, minimum), 3)} away.`,
    `λ = ${fixed(law.lambda, 3)}; ${fixed(turn, 2)} turns per e-fold.`,
    `h = ${STIFF}, γ = ${fixed(gamma, 2)}: ${cost}.`,
  ];
  return [make("b", {}, verdict), ...lines.map((words) => make("span", { class: "ln-soft ln-block" }, unbroken(words)))];
}

/** The table of the three places. */
function placeTable() {
  const body = make("tbody");
  const rows = {
    end: ["end of the path, θ∞", (at) => draw(at, "circle", { cx: 10, cy: 6, r: 5, fill: "var(--ln-optimal)" })],
    effective: ["minimum of L_eff", (at) => draw(at, "path", { d: diamond(10, 6, 5), fill: "var(--ln-paper)", stroke: "var(--ln-ink)", "stroke-width": 1.6 })],
    minimum: ["minimum of L, θ*", (at) => draw(at, "circle", { cx: 10, cy: 6, r: 5, fill: "var(--ln-neutral)" })],
    alone: ["drift alone", (at) => draw(at, "path", { d: "M0 6H20", stroke: "var(--ln-neutral)", "stroke-width": 2, "stroke-dasharray": "2 4" })],
  };
  const cells = Object.fromEntries(
    Object.entries(rows).map(([key, [name, symbol]]) => {
      const sample = draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" });
      symbol(sample);
      const cell = make("td");
      body.append(make("tr", {}, make("th", { scope: "row" }, sample, ` ${name}`), cell));
      return [key, cell];
    }),
  );
  const node = make("table", { class: "ln-table" }, body);
  const show = (places) => {
    for (const [key, place] of Object.entries(places)) cells[key].textContent = pair(place);
  };
  return { node, show };
}

export default explorable("DriftField", buildDriftField);
