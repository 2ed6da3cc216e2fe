// The view of a metric: a bowl, the ellipse of equally dear velocities, the optimal path, and the steps that it turns.

import { arrowhead, clamp, compact, draw, explorable, fixed, handle, make, scale, setAll, slider, trace, unbroken } from "./kit.js";
import { VALLEY, between, ellipseThrough, metricLaw, restTimes } from "./metric_ellipse_model.js";

const EDGE = 3;
const HOLD = 2.6; // farthest start
const WIDEST = 8; // largest axis ratio
const MOST = 10; // largest γ
const SIZE = 0.7; // the drawn ellipse, in unit ellipses
const REACH = 1.7; // length of the arrows
const AGREE = 1; // degrees
const STEPS = {
  natural: { name: "natural gradient", dash: "8 3 2 3" },
  ballistic: { name: "ballistic", dash: "none" },
  newton: { name: "Newton", dash: "9 3 2 3 2 3" },
  descent: { name: "gradient descent", dash: "7 4" },
};

function buildMetricEllipse(root, state) {
  const angle = slider({
    symbol: "α",
    name: "angle of the cheap direction",
    marks: [-90, -45, 0, 45, 90].map((value) => ({ value, label: `${fixed(value, 0)}°` })),
    toPosition: (v) => (v + 90) / 180,
    toValue: (u) => 180 * u - 90,
    text: (v) => `${fixed(v, 1)}°`,
    onInput: (v) => state.set("angle", v),
    steps: 360,
  });
  const ratio = slider({
    symbol: "ρ",
    name: "axis ratio of the ellipse",
    marks: [1, 2, 4, 8].map((value) => ({ value, label: String(value) })),
    toPosition: (v) => Math.log(v) / Math.log(WIDEST),
    toValue: (u) => WIDEST ** u,
    text: (v) => fixed(v, 2),
    onInput: (v) => state.set("ratio", v),
  });
  const gamma = slider({
    symbol: "γ",
    name: "discount rate",
    marks: [0, 0.5, 2, 5, 10].map((value) => ({ value, label: String(value) })),
    toPosition: (v) => Math.sqrt(v / MOST),
    toValue: (u) => MOST * u * u,
    text: (v) => fixed(v, 2),
    onInput: (v) => state.set("gamma", v),
  });
  const stage = draw(make("div"), "svg", { class: "ln-figure" });
  const readout = make("p", { class: "lossnav-readout", "aria-live": "polite" });
  const table = turnTable();
  root.setAttribute("aria-label", "Explorable: how a metric turns the step");
  root.append(
    make("p", { class: "ln-title" }, "A metric turns the step"),
    make("p", { class: "ln-hint" }, "Turn the ellipse: at which angle do all directions agree? Drag its end, or the start; then send γ to 0."),
    make(
      "div",
      { class: "ln-grid-areas" },
      make("div", { class: "ln-control" }, angle.node, ratio.node, gamma.node),
      make("div", { class: "ln-stage" }, stage),
      make("div", { class: "ln-words" }, table.node, readout),
    ),
  );

  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  let frame = null;
  const move = (x, y) => state.set("start", [clamp(x, -HOLD, HOLD), clamp(y, -HOLD, HOLD)]);
  const start = handle(stage, {
    label: "start θ(0); arrow keys move it both ways",
    color: "var(--ln-ink)",
    onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
    onKey([dx, dy], big) {
      const [x, y] = state.get("start");
      move(x + dx * (big ? 0.5 : 0.05), y + dy * (big ? 0.5 : 0.05));
    },
    onEnd: (side) => move(side * HOLD, state.get("start")[1]),
  });
  const turn = (by) => state.set("angle", ((state.get("angle") + by + 270) % 180) - 90);
  const stretch = (by) => state.set("ratio", clamp(state.get("ratio") * by, 1, WIDEST));
  const tip = handle(stage, {
    label: "end of the metric's ellipse; arrow keys left and right turn it, up and down stretch it",
    color: "var(--ln-neutral)",
    onDrag(px, py) {
      const [x, y] = state.get("start");
      const found = ellipseThrough([frame.x.invert(px) - x, frame.y.invert(py) - y], SIZE, WIDEST);
      state.set("angle", found.angle);
      state.set("ratio", found.ratio);
    },
    onKey([dx, dy], big) {
      if (dx) turn(-dx * (big ? 15 : 2));
      else stretch((big ? 1.5 : 1.05) ** dy);
    },
    onEnd: (side) => state.set("ratio", side < 0 ? 1 : WIDEST),
  });

  return {
    layout(width) {
      frame = valleyFrame(stage, root, width);
      ground.replaceChildren();
      valleyGround(ground, frame);
    },
    update() {
      const given = Object.fromEntries(["start", "angle", "ratio", "gamma"].map((name) => [name, state.get(name)]));
      const law = metricLaw(given);
      angle.show(given.angle);
      ratio.show(given.ratio);
      gamma.show(given.gamma);
      moving.replaceChildren();
      valleyMoving(moving, frame, given, law);
      const [x, y] = given.start;
      start.place(frame.x(x), frame.y(y), { now: x.toFixed(2), low: -HOLD, high: HOLD, text: `θ₁ = ${fixed(x, 2)}, θ₂ = ${fixed(y, 2)}` });
      const [tx, ty] = ellipseTip(given);
      const text = `angle ${fixed(given.angle, 1)}°, ratio ${fixed(given.ratio, 2)}`;
      tip.place(frame.x(tx), frame.y(ty), { now: given.angle.toFixed(1), low: -90, high: 90, text });
      table.show(law.ways);
      readout.replaceChildren(...valleyWords(given, law));
    },
  };
}

/** The end of the ellipse's long axis that lies farther inside the frame. */
function ellipseTip({ start, angle, ratio }) {
  const [turn, length] = [(angle * Math.PI) / 180, SIZE * Math.sqrt(ratio)];
  const ends = [1, -1].map((side) => [start[0] + side * length * Math.cos(turn), start[1] + side * length * Math.sin(turn)]);
  const out = (end) => Math.max(0, ...end.map((v) => Math.abs(v) - (EDGE - 0.1)));
  const best = out(ends[1]) < out(ends[0]) ? ends[1] : ends[0];
  return best.map((v) => clamp(v, -EDGE + 0.1, EDGE - 0.1));
}

/** Sizes and scales for one width. */
function valleyFrame(stage, root, width) {
  const wide = width >= 660;
  root.classList.toggle("ln-wide", wide);
  const w = Math.round(wide ? Math.min(width - 348, 500) : width - 24);
  root.style.setProperty("--ln-stage", `${w}px`);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  setAll(stage, { viewBox: `0 0 ${w} ${top + size + 36}`, width: w, height: top + size + 36 });
  return { left, top, size, x: scale([-EDGE, EDGE], [left, left + size]), y: scale([-EDGE, EDGE], [top + size, top]) };
}

/** A part of the drawing that clips what leaves the panel. */
const panelWindow = (at, f) => draw(at, "svg", { x: f.left, y: f.top, width: f.size, height: f.size, viewBox: `${f.left} ${f.top} ${f.size} ${f.size}` });

/** Contours and axes. */
function valleyGround(at, f) {
  const inner = panelWindow(at, f);
  draw(inner, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.size, height: f.size });
  for (let level = 0.5; level <= 4.5; level += 0.5) {
    const [rx, ry] = VALLEY.map((h) => f.x(level / Math.sqrt(h)) - f.x(0));
    draw(inner, "ellipse", { class: "ln-contour", cx: f.x(0), cy: f.y(0), rx, ry });
  }
  for (const value of [-3, -2, -1, 0, 1, 2, 3]) {
    const text = fixed(value, 0);
    draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.top + f.size + 16, "text-anchor": "middle" }, text);
    draw(at, "text", { class: "ln-tick", x: f.left - 6, y: f.y(value) + 4, "text-anchor": "end" }, text);
  }
  draw(at, "text", { class: "ln-name", x: f.x(0), y: f.top + f.size + 32, "text-anchor": "middle" }, "θ₁ (h = 1/4)");
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 7 }, "θ₂ (h = 2)");
  draw(at, "path", { class: "ln-cross", d: `M${f.x(0) - 5} ${f.y(0)}h10M${f.x(0)} ${f.y(0) - 5}v10` });
}

/** The ellipse, the optimal path, and the directions of the steps with their names. */
function valleyMoving(at, f, { start, angle, ratio }, law) {
  const inner = panelWindow(at, f);
  const pixel = ([x, y]) => [f.x(x), f.y(y)];
  const from = pixel(start);
  const unit = SIZE * (f.x(1) - f.x(0));
  const shape = { cx: 0, cy: 0, rx: unit * Math.sqrt(ratio), ry: unit / Math.sqrt(ratio) };
  const spot = `translate(${from[0]} ${from[1]}) rotate(${-angle})`;
  draw(inner, "ellipse", { ...shape, transform: spot, fill: "var(--ln-neutral)", "fill-opacity": 0.14, stroke: "var(--ln-ink)", "stroke-width": 1.8 });
  const line = restTimes(law.rates).map((t) => pixel(law.place(t)));
  draw(inner, "path", { class: "ln-line", d: trace(line), stroke: "var(--ln-optimal)", "stroke-width": 3.2 });
  const reach = Math.min(REACH, Math.hypot(...start)) * (f.x(1) - f.x(0));
  const taken = [];
  for (const [key, { name, dash }] of Object.entries(STEPS).reverse()) {
    const size = Math.hypot(...law.ways[key]);
    if (size < 1e-9) continue;
    const [dx, dy] = [law.ways[key][0] / size, -law.ways[key][1] / size];
    const [x, y] = [from[0] + reach * dx, from[1] + reach * dy];
    const color = `var(--ln-${key})`;
    const shaft = Math.max(0, reach - 9);
    draw(inner, "path", { class: "ln-line", d: trace([from, [from[0] + shaft * dx, from[1] + shaft * dy]]), stroke: color, "stroke-width": 2.4, "stroke-dasharray": dash });
    draw(inner, "path", { d: arrowhead(x, y, dx, dy, 11), fill: color });
    if (reach > 40) nameArrow(at, f, taken, { name, color, x, y, dx, dy });
  }
}

/** Writes a name beyond an arrow's tip, at the first place that no other name takes; leaves it out where none is free. */
function nameArrow(at, f, taken, { name, color, x, y, dx, dy }) {
  const width = 7.8 * name.length;
  for (const [far, side] of [[9, 0], [9, 17], [9, -17], [9, 34], [9, -34]]) {
    const left = clamp(x + dx * (far + width / 2) - width / 2, f.left + 1, f.left + f.size - width - 1);
    const top = clamp(y + dy * (far + 8) - 8 + side, f.top + 1, f.top + f.size - 17);
    if (taken.some((b) => left < b[2] && left + width > b[0] && top < b[3] && top + 16 > b[1])) continue;
    taken.push([left, top, left + width, top + 16]);
    const text = draw(at, "text", { class: "ln-text", x: left + width / 2, y: top + 12, "text-anchor": "middle" }, name);
    text.style.setProperty("--c", color);
    return;
  }
}

/** What the picture means, in words and numbers. */
function valleyWords({ start, gamma }, law) {
  const spread = between(law.ways.natural, law.ways.newton);
  const verdict =
    Math.hypot(...start) < 1e-9
      ? "At the minimum there is nowhere to go."
      : spread < AGREE
        ? "Natural gradient, ballistic and Newton's step agree."
        : `The natural gradient and Newton's step are ${fixed(spread, 1)}° apart.`;
  const couple = ([a, b]) => `(${compact(a)}, ${compact(b)})`;
  const lines = [
    `Curvatures of G⁻¹H: ${couple(law.curvatures)}.`,
    `γ = ${fixed(gamma, 2)}: rates r = ${couple(law.rates)}.`,
    `G and H ${law.commute ? "commute" : "do not commute"}; J = ${compact(law.action)}.`,
  ];
  return [make("b", {}, verdict), ...lines.map((words) => make("span", { class: "ln-soft ln-block" }, unbroken(words)))];
}

/** The table of the directions, as angles from Newton's. */
function turnTable() {
  const body = make("tbody");
  const all = { optimal: { name: "optimal path", dash: "none" }, ...STEPS };
  const cells = Object.fromEntries(
    Object.entries(all).map(([key, { name, dash }]) => {
      const sample = draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 8", width: 20, height: 8, "aria-hidden": "true" });
      draw(sample, "path", { class: "ln-line", d: "M0 4H20", stroke: `var(--ln-${key})`, "stroke-width": 2.6, "stroke-dasharray": dash });
      const cell = make("td");
      body.append(make("tr", {}, make("th", { scope: "row" }, sample, ` ${name}`), cell));
      return [key, cell];
    }),
  );
  const names = ["direction", "from Newton's"].map((name) => make("th", { scope: "col" }, name));
  const node = make("table", { class: "ln-table" }, make("thead", {}, make("tr", {}, ...names)), body);
  const show = (ways) => {
    for (const [key, cell] of Object.entries(cells)) cell.textContent = `${fixed(between(ways[key], ways.newton), 1)}°`;
  };
  return { node, show };
}

export default explorable("MetricEllipse", buildMetricEllipse);
