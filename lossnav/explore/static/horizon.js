// The view of one optimal step on a quadratic: contours with the path and the three limits, and the regime plane.

import { arrowhead, clamp, compact, draw, explorable, fixed, handle, make, scale, setAll, slider, trace, unbroken } from "./kit.js";
import { BOWL, TOLERANCE, ballisticStep, descentStep, error, groups, newtonStep, optimalStep, rate } from "./horizon_model.js";
import { GROUPS, LIMITS, planeGround, planeSpots } from "./regime_plane.js";

const EDGE = 4;
const HOLD = 3.8; // farthest start
const MOST = 10; // largest γ
const SHORT = 0.01; // shortest Δt; the longest finite one is 10⁵ times that
const FOREVER = 0.97; // slider position from which Δt = ∞

const toTime = (u) => (u >= FOREVER ? Infinity : SHORT * 10 ** ((5 * u) / FOREVER));
const fromTime = (dt) => (dt === Infinity ? 1 : clamp((Math.log10(dt / SHORT) * FOREVER) / 5, 0, FOREVER - 0.001));
/** One entry of a step, never wider than six characters. */
function short(v) {
  const size = Math.abs(v);
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  if (size >= 99.95) return v > 0 ? "> 99" : "< −99";
  return fixed(v, size < 0.0995 ? 3 : size < 9.995 ? 2 : 1);
}
const pair = ([x, y]) => `(${short(x)}, ${short(y)})`;
function percent(e) {
  if (!Number.isFinite(e)) return "∞";
  if (e < 0.0005) return "< 0.1%";
  return e > 9.995 ? "> 10×" : `${fixed(100 * e, e < 0.1 ? 1 : 0)}%`;
}

function buildHorizon(root, state) {
  const step = () => state.get("dt") ?? Infinity; // JSON has no ∞: the trait travels as null
  const setStep = (dt) => state.set("dt", dt === Infinity ? null : dt);
  const gamma = slider({
    symbol: "γ",
    name: "discount rate",
    marks: [0, 0.5, 2, 5, 10].map((value) => ({ value, label: String(value) })),
    toPosition: (g) => Math.sqrt(g / MOST),
    toValue: (u) => MOST * u * u,
    text: (g) => fixed(g, 2),
    onInput: (g) => state.set("gamma", g),
  });
  const time = slider({
    symbol: "Δt",
    name: "until the next look",
    marks: [0.01, 0.1, 1, 10, 100, Infinity].map((value) => ({ value, label: value === Infinity ? "∞" : String(value) })),
    toPosition: fromTime,
    toValue: toTime,
    text: compact,
    onInput: setStep,
  });
  const stage = draw(make("div"), "svg", { class: "ln-figure" });
  const plane = draw(make("div"), "svg", { class: "ln-figure" });
  const readout = make("p", { class: "lossnav-readout", "aria-live": "polite" });
  const table = stepTable();
  root.setAttribute("aria-label", "Explorable: one optimal step and its three limits");
  root.append(
    make("p", { class: "ln-title" }, "One optimal step, three famous limits"),
    make("p", { class: "ln-hint" }, "Send Δt to ∞; then shrink it and compare γ = 0 with γ = 10. Drag the start, or the step."),
    make(
      "div",
      { class: "ln-grid-areas" },
      make("div", { class: "ln-control" }, gamma.node, time.node),
      make("div", { class: "ln-stage" }, stage),
      make("div", { class: "ln-words" }, readout),
      make("div", { class: "ln-map" }, plane),
      make("div", { class: "ln-rows" }, table.node),
    ),
  );

  const ground = draw(stage, "g", { "aria-hidden": "true" });
  const moving = draw(stage, "g", { "aria-hidden": "true" });
  const map = draw(plane, "g", { "aria-hidden": "true" });
  const spots = draw(plane, "g", { "aria-hidden": "true" });
  const move = (x, y) => state.set("start", [clamp(x, -HOLD, HOLD), clamp(y, -HOLD, HOLD)]);
  const tip = handle(stage, {
    label: "the optimal step, sets Δt",
    color: "var(--ln-optimal)",
    onDrag: (px, py) => setStep(nearestTime(frame, state.get("start"), state.get("gamma"), px, py)),
    onKey: ([dx, dy], big) => setStep(toTime(clamp(fromTime(step()) + (dx + dy) * (big ? 0.05 : 0.01), 0, 1))),
    onEnd: (side) => setStep(toTime(side < 0 ? 0 : 1)),
  });
  const start = handle(stage, {
    label: "start θ(0); arrow keys move it both ways",
    color: "var(--ln-ink)",
    onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
    onKey([dx, dy], big) {
      const [x, y] = state.get("start");
      move(x + dx * (big ? 0.5 : 0.1), y + dy * (big ? 0.5 : 0.1));
    },
    onEnd: (side) => move(side * HOLD, state.get("start")[1]),
  });

  let frame = null;
  return {
    layout(width) {
      frame = stepFrame(stage, plane, root, width);
      ground.replaceChildren();
      stepGround(ground, frame);
      map.replaceChildren();
      planeGround(map, frame.plane);
    },
    update() {
      const at = state.get("start");
      const [g, dt] = [state.get("gamma"), step()];
      const result = stepResult(at, g, dt);
      gamma.show(g);
      time.show(dt);
      moving.replaceChildren();
      stepMoving(moving, frame, result);
      spots.replaceChildren();
      planeSpots(spots, frame.plane, result);
      const now = (value, low, high, text) => ({ now: value, low, high, text });
      start.place(frame.x(at[0]), frame.y(at[1]), now(at[0].toFixed(2), -HOLD, HOLD, `θ₁ = ${fixed(at[0], 2)}, θ₂ = ${fixed(at[1], 2)}`));
      const end = at.map((v, i) => v + result.optimal[i]);
      tip.place(frame.x(end[0]), frame.y(end[1]), now(fromTime(dt).toFixed(3), 0, 1, `Δt = ${compact(dt)}`));
      readout.replaceChildren(...stepWords(result));
      table.show(result);
    },
  };
}

/** The optimal step and its limits from `start`, with their errors and the nearest one. */
function stepResult(start, gamma, dt) {
  const g = start.map((x, i) => BOWL[i] * x);
  const optimal = optimalStep(BOWL, g, gamma, dt);
  const steps = {
    newton: newtonStep(BOWL, g),
    descent: descentStep(BOWL, g, gamma, dt),
    ballistic: ballisticStep(BOWL, g, gamma, dt),
  };
  const errors = Object.fromEntries(Object.entries(steps).map(([key, limit]) => [key, error(limit, optimal)]));
  const nearest = Object.keys(errors).reduce((a, b) => (errors[b] < errors[a] ? b : a));
  // The way each limit points, which survives where its length is infinite.
  const ways = { newton: steps.newton, descent: g.map((v) => -v), ballistic: ballisticStep(BOWL, g, gamma, 1) };
  return { start, gamma, dt, optimal, steps, ways, errors, nearest };
}

/** Sizes and scales of both drawings for one width. */
function stepFrame(stage, plane, root, width) {
  const wide = width >= 660;
  root.classList.toggle("ln-wide", wide);
  const w = Math.round(wide ? Math.min(width - 338, 520) : width - 24);
  root.style.setProperty("--ln-stage", `${w}px`);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  setAll(stage, { viewBox: `0 0 ${w} ${top + size + 36}`, width: w, height: top + size + 36 });
  const pw = wide ? Math.min(width - 38 - w, 380) : w;
  const ph = wide ? clamp(size - 100, 200, 320) : 220;
  setAll(plane, { viewBox: `0 0 ${pw} ${ph}`, width: pw, height: ph });
  const box = { left: 44, right: pw - 8, top: 22, bottom: ph - 38 };
  return {
    left, top, size,
    x: scale([-EDGE, EDGE], [left, left + size]),
    y: scale([-EDGE, EDGE], [top + size, top]),
    plane: { ...box, x: scale(GROUPS.damping, [box.left, box.right]), y: scale(GROUPS.progress, [box.bottom, box.top]) },
  };
}

/** Contours and axes. */
function stepGround(at, f) {
  const inner = draw(at, "svg", { x: f.left, y: f.top, width: f.size, height: f.size, viewBox: `${f.left} ${f.top} ${f.size} ${f.size}` });
  draw(inner, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.size, height: f.size });
  for (let level = 0.5; level <= 4.5; level += 0.5) {
    const [rx, ry] = BOWL.map((h) => Math.abs(f.x(level / Math.sqrt(h)) - f.x(0)));
    draw(inner, "ellipse", { class: "ln-contour", cx: f.x(0), cy: f.y(0), rx, ry });
  }
  for (const value of [-4, -2, 0, 2, 4]) {
    const text = fixed(value, 0);
    draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.top + f.size + 16, "text-anchor": "middle" }, text);
    draw(at, "text", { class: "ln-tick", x: f.left - 6, y: f.y(value) + 4, "text-anchor": "end" }, text);
  }
  draw(at, "text", { class: "ln-name", x: f.x(0), y: f.top + f.size + 32, "text-anchor": "middle" }, "θ₁ (h = 1/9)");
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 7 }, "θ₂ (h = 1)");
  draw(at, "path", { class: "ln-cross", d: `M${f.x(0) - 5} ${f.y(0)}h10M${f.x(0)} ${f.y(0) - 5}v10` });
}

/** The optimal path, the places of repeated steps, and the arrows. */
function stepMoving(at, f, { start, gamma, dt, optimal, steps, ways, nearest }) {
  const place = (t) => BOWL.map((h, i) => start[i] * Math.exp(-rate(h, gamma) * t));
  const pixel = ([x, y]) => [f.x(x), f.y(y)];
  const longest = 9 / rate(BOWL[0], gamma);
  const curve = Array.from({ length: 121 }, (_, i) => pixel(place(longest * (i / 120) ** 3)));
  draw(at, "path", { class: "ln-line", d: trace([...curve, pixel([0, 0])]), stroke: "var(--ln-optimal)", "stroke-width": 3.2 });
  let [px, py] = pixel(start);
  for (let n = 2; dt !== Infinity && n < 80; n++) {
    const [x, y] = pixel(place(n * dt));
    if (Math.hypot(x - px, y - py) < 7) break;
    [px, py] = [x, y];
    draw(at, "circle", { class: "ln-dot", cx: x, cy: y, r: 3.2, fill: "var(--ln-optimal)" });
  }
  const labels = [];
  for (const [key, { name, color, dash }] of Object.entries(LIMITS)) {
    const from = pixel(start);
    const ray = clip(f, from, pixel(start.map((v, i) => v + ways[key][i])), Math.hypot(...steps[key]) / Math.hypot(...ways[key]));
    if (!ray) continue;
    const [x, y] = ray.tip;
    const [dx, dy] = [x - from[0], y - from[1]];
    const wide = key === nearest ? 3 : 2;
    const style = { stroke: color, "stroke-width": wide, "stroke-dasharray": dash };
    const length = Math.hypot(dx, dy);
    if (length < 3) continue;
    const shaft = Math.max(0, 1 - 9 / length);
    draw(at, "path", { class: "ln-line", d: trace([from, [from[0] + dx * shaft, from[1] + dy * shaft]]), ...style });
    draw(at, "path", { d: arrowhead(x, y, dx, dy, 11), fill: ray.cut ? "var(--ln-paper)" : color, stroke: color, "stroke-width": 1.5 });
    if (length > 24) labels.push({ text: ray.cut ? `${name} …` : name, x, y, dx: dx / length, dy: dy / length, color });
  }
  const end = pixel(start.map((v, i) => v + optimal[i]));
  const [ox, oy] = [end[0] - pixel(start)[0], end[1] - pixel(start)[1]];
  const long = Math.hypot(ox, oy) || 1;
  labels.unshift({ text: "optimal step", x: end[0], y: end[1], dx: ox / long, dy: oy / long, color: "var(--ln-optimal)", far: 17 });
  const strokes = labels.slice(1).flatMap(({ x, y }) => between(pixel(start), [x, y]));
  placeLabels(at, f, labels, [pixel(start), end], [...strokes, ...curve]);
}

/** The part of an arrow from `from` through `through`, `length` times as long, that lies in the frame. */
function clip(f, from, through, length) {
  if (!(length > 0)) return null;
  const way = [through[0] - from[0], through[1] - from[1]];
  const low = [f.left, f.top];
  let most = Infinity;
  way.forEach((v, i) => {
    if (v !== 0) most = Math.min(most, ((v > 0 ? low[i] + f.size : low[i]) - from[i]) / v);
  });
  const cut = length > most;
  const reach = cut ? most : length;
  return { cut, tip: [from[0] + way[0] * reach, from[1] + way[1] * reach] };
}

const between = (a, b) => Array.from({ length: 41 }, (_, i) => [0, 1].map((j) => a[j] + ((b[j] - a[j]) * i) / 40));

/**
 * Puts each label near its tip, covering as few points of the strokes as can be, and neither another label nor a
 * handle; leaves it out where it cannot.
 */
function placeLabels(at, f, labels, handles, strokes) {
  const taken = handles.map(([x, y]) => [x - 12, y - 12, x + 12, y + 12]);
  const free = (box) =>
    taken.every((b) => box[2] < b[0] || box[0] > b[2] || box[3] < b[1] || box[1] > b[3]);
  const covered = (box) => strokes.filter(([x, y]) => x > box[0] && x < box[2] && y > box[1] && y < box[3]).length;
  for (const { text, x, y, dx, dy, color, far = 9 } of labels) {
    const width = 7.8 * text.length;
    const near = [[dx, dy], [1, 0], [-1, 0], [-dy, dx], [dy, -dx], [0.8, -0.6], [0.8, 0.6], [-0.8, -0.6], [-0.8, 0.6]];
    const sides = [...near, [1, 1.8], [-1, 1.8], [1, -1.8], [-1, -1.8]];
    const boxes = sides.map(([sx, sy]) => {
      const [cx, cy] = [x + sx * (far + width / 2), y + sy * (far + 8)];
      const left = clamp(cx - width / 2, f.left + 1, f.left + f.size - width - 1);
      const top = clamp(cy - 8, f.top + 1, f.top + f.size - 17);
      return [left, top, left + width, top + 16];
    });
    const [best] = boxes.filter(free).sort((a, b) => covered(a) - covered(b));
    if (!best) continue;
    taken.push(best);
    const place = { x: (best[0] + best[2]) / 2, y: best[3] - 4, "text-anchor": "middle" };
    draw(at, "text", { class: "ln-text", ...place }, text).style.setProperty("--c", color);
  }
}

/** The Δt whose step ends nearest to a pixel: dragging the step along its path. */
function nearestTime(f, start, gamma, px, py) {
  let best = [Infinity, 1];
  for (let i = 0; i <= 400; i++) {
    const dt = toTime(i / 400);
    const [x, y] = BOWL.map((h, j) => start[j] * Math.exp(-rate(h, gamma) * dt));
    const gap = Math.hypot(f.x(x) - px, f.y(y) - py);
    if (gap < best[0] - 1e-9) best = [gap, dt];
  }
  return best[1];
}

/** The verdict in words. */
function stepWords({ start, gamma, dt, optimal, errors, nearest }) {
  const e = errors[nearest];
  const { name } = LIMITS[nearest];
  const off = `off by ${percent(e)}`;
  const words =
    e < TOLERANCE
      ? [make("b", {}, name), ` is the right picture, ${off}. `]
      : e < 0.5
        ? ["the step resembles ", make("b", {}, name), `, ${off}. `]
        : [make("b", {}, "no limit fits"), `; ${name} is the nearest, ${off}. `];
  const directions = BOWL.map((h, i) => {
    const { damping, progress } = groups(h, gamma, dt);
    const words = `θ${"₁₂"[i]}: γ²/(4ηkh) = ${compact(damping)}, rΔt = ${compact(progress)}`;
    return make("span", { class: "ln-soft ln-block" }, unbroken(words));
  });
  const where = unbroken(`From ${pair(start)} with γ = ${fixed(gamma, 2)}, Δt = ${compact(dt)}, the optimal step is ${pair(optimal)}: `);
  return [where, ...words, ...directions];
}

/** The table of the optimal step and its limits. */
function stepTable() {
  const body = make("tbody");
  const all = { optimal: { name: "optimal, Eq. 6", color: "var(--ln-optimal)", dash: "none" }, ...LIMITS };
  const rows = Object.fromEntries(
    Object.entries(all).map(([key, { name, color, dash }]) => {
      const sample = draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 8", width: 20, height: 8, "aria-hidden": "true" });
      const style = { stroke: color, "stroke-width": 2.6, "stroke-dasharray": dash };
      draw(sample, "path", { class: "ln-line", d: "M0 4H20", ...style });
      const cells = [make("td"), make("td")];
      body.append(make("tr", {}, make("th", { scope: "row" }, sample, ` ${name}`), ...cells));
      return [key, { cells, row: body.lastChild }];
    }),
  );
  const names = ["step", "Δθ", "off by"].map((name) => make("th", { scope: "col" }, name));
  const node = make("table", { class: "ln-table" }, make("thead", {}, make("tr", {}, ...names)), body);
  const show = ({ optimal, steps, errors, nearest }) => {
    for (const [key, { cells, row }] of Object.entries(rows)) {
      const step = key === "optimal" ? optimal : steps[key];
      cells[0].textContent = pair(step);
      cells[1].textContent = key === "optimal" ? "–" : percent(errors[key]);
      row.classList.toggle("ln-best", key === nearest);
    }
  };
  return { node, show };
}

export default explorable("Horizon", buildHorizon);
