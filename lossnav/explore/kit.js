// What every explorable needs: elements, scales, a slider, a draggable handle, and the life cycle of a widget.
// Python joins this file with the others of an explorable into one module, so top-level names are unique across files.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAll(node, attributes);
  node.append(...children);
  return node;
}

/** An SVG element, appended to `parent`; `text` becomes its text content. */
export function draw(parent, tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  setAll(node, attributes);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/** A number with a true minus sign, and no minus before a rounded zero. */
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

/** About three significant digits over any range, for readouts. */
export function compact(value) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size >= 1e4 || size < 1e-3) {
    const [digits, power] = value.toExponential(1).split("e");
    const raised = [...String(Number(power))].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
    return `${digits.replace("-", "−")}·10${raised}`;
  }
  return fixed(value, Math.min(4, Math.max(0, 2 - Math.floor(Math.log10(size)))));
}

/** Keeps each equation of a sentence on one line. */
export const unbroken = (text) => text.replace(/ = /g, "\u00a0=\u00a0");

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** A linear map from data to pixels, with its inverse. */
export function scale([a, b], [from, to]) {
  const map = (value) => from + ((value - a) / (b - a)) * (to - from);
  map.invert = (pixel) => a + ((pixel - from) / (to - from)) * (b - a);
  return map;
}

/** SVG path data through pixel points [[x, y], …]. */
export function trace(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

/** A small closed triangle with its tip at (x, y), pointing along (dx, dy). */
export function arrowhead(x, y, dx, dy, size = 9) {
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const [bx, by] = [x - size * ux, y - size * uy];
  const half = size * 0.42;
  return `M${x} ${y}L${bx - half * uy} ${by + half * ux}L${bx + half * uy} ${by - half * ux}Z`;
}

/** A native range input with its label, live value and optional marks [{value, label}] under the track. */
export function slider({ symbol, name, marks = [], toPosition, toValue, text, onInput, steps = 1000 }) {
  const input = make("input", { type: "range", min: 0, max: steps, step: 1, "aria-label": `${symbol}, ${name}` });
  const shown = make("output", { class: "ln-value" });
  const track = make("span", { class: "ln-track" }, input);
  for (const mark of marks) {
    const at = make("span", { class: "ln-mark", "aria-hidden": "true" }, mark.label);
    at.style.setProperty("--at", toPosition(mark.value));
    track.append(at);
  }
  const head = make("span", { class: "ln-head" }, make("b", {}, symbol), ` ${name}`, shown);
  const node = make("label", { class: marks.length ? "ln-slider ln-marked" : "ln-slider" }, head, track);
  input.addEventListener("input", () => onInput(toValue(input.valueAsNumber / steps)));
  input.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = clamp(input.valueAsNumber + way * (event.shiftKey ? 50 : 5), 0, steps);
    input.value = next;
    onInput(toValue(next / steps));
  });
  const show = (value) => {
    // Positions between the input's own steps are left alone while it is being moved.
    const position = Math.round(toPosition(value) * steps);
    if (position !== input.valueAsNumber) input.value = position;
    input.setAttribute("aria-valuetext", text(value));
    shown.textContent = text(value);
  };
  return { node, input, show };
}

/** A slider for a trait from 0 to the last of `values`, finer towards 0; `values` are marked. */
export function rootDial(state, trait, symbol, name, values) {
  const most = values[values.length - 1];
  return slider({
    symbol,
    name,
    marks: values.map((value) => ({ value, label: String(value) })),
    toPosition: (v) => Math.sqrt(v / most),
    toValue: (u) => most * u * u,
    text: (v) => fixed(v, 2),
    onInput: (v) => state.set(trait, v),
  });
}

/** A slider for a trait from the first to the last of `values`, the same factor a step; `values` are marked. */
export function logDial(state, trait, symbol, name, values, digits = 3) {
  const [least, most] = [values[0], values[values.length - 1]];
  return slider({
    symbol,
    name,
    marks: values.map((value) => ({ value, label: String(value) })),
    toPosition: (v) => Math.log(v / least) / Math.log(most / least),
    toValue: (u) => least * (most / least) ** u,
    text: (v) => fixed(v, digits),
    onInput: (v) => state.set(trait, v),
  });
}

/** The slider of γ in the explorables that allow γ = 0. */
export const discountDial = (state) => rootDial(state, "gamma", "γ", "discount rate", [0, 0.5, 2, 5, 10]);

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * A draggable, focusable point. `onDrag(x, y)` receives where its centre should go, in pixels of the drawing;
 * `onKey([dx, dy], big)` one arrow press; `onEnd(-1 | 1)` Home or End.
 */
export function handle(svg, { label, color, onDrag, onKey, onEnd }) {
  const node = draw(svg, "g", { class: "ln-handle", role: "slider", tabindex: 0, "aria-label": label });
  node.style.setProperty("--c", color);
  draw(node, "circle", { class: "ln-reach", r: 22 });
  draw(node, "circle", { class: "ln-ring", r: 13 });
  draw(node, "circle", { class: "ln-knob", r: 8 });
  let [x, y] = [0, 0];
  let grip = null;
  const pixel = (event) => {
    const box = svg.getBoundingClientRect();
    const zoom = svg.viewBox.baseVal.width / box.width || 1;
    return [(event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [px, py] = pixel(event);
    grip = [px - x, py - y];
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    node.classList.add("ln-held");
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const [px, py] = pixel(event);
    onDrag(px - grip[0], py - grip[1]);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    node.addEventListener(end, () => {
      grip = null;
      node.classList.remove("ln-held");
    });
  }
  // Older Safari ignores touch-action inside SVG; without this a drag would scroll the page.
  node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  node.addEventListener("keydown", (event) => {
    if (event.key in ARROWS) onKey(ARROWS[event.key], event.shiftKey);
    else if (event.key === "PageUp") onKey([0, 1], true);
    else if (event.key === "PageDown") onKey([0, -1], true);
    else if (event.key === "Home") onEnd(-1);
    else if (event.key === "End") onEnd(1);
    else return;
    event.preventDefault();
  });
  const place = (px, py, { now, low, high, text }) => {
    [x, y] = [px, py];
    setAll(node, {
      transform: `translate(${px.toFixed(2)} ${py.toFixed(2)})`,
      "aria-valuemin": low,
      "aria-valuemax": high,
      "aria-valuenow": now,
      "aria-valuetext": text,
    });
  };
  return { node, place };
}

/** The title, the hint and the named areas {control, stage, words, …} of an explorable; each area holds its nodes. */
export function scaffold(root, { label, title, hint, areas }) {
  root.setAttribute("aria-label", `Explorable: ${label}`);
  const boxes = Object.entries(areas).map(([name, nodes]) => make("div", { class: `ln-${name}` }, ...nodes));
  root.append(
    make("p", { class: "ln-title" }, title),
    make("p", { class: "ln-hint" }, hint),
    make("div", { class: "ln-grid-areas" }, ...boxes),
  );
}

/** A row of buttons [[text, what it does in words, onClick], …]; returns its node and the buttons. */
export function buttonRow(buttons) {
  const made = buttons.map(([text, words, onClick]) => {
    const node = make("button", { type: "button", class: "ln-button", title: words }, text);
    node.addEventListener("click", onClick);
    return node;
  });
  return { node: make("div", { class: "ln-buttons" }, ...made), buttons: made };
}

/** An empty drawing. */
export const figure = () => draw(make("div"), "svg", { class: "ln-figure" });

/** The paragraph that says what the picture means. */
export const readoutNode = () => make("p", { class: "lossnav-readout", "aria-live": "polite" });

/** A verdict, and lines of detail under it. */
export const verdictLines = (verdict, lines) => [make("b", {}, verdict), ...lines.map((words) => make("span", { class: "ln-soft ln-block" }, unbroken(words)))];

/** Chooses the wide or the narrow arrangement; returns the width of the stage, which leaves `aside` beside it. */
export function stageWidth(root, width, aside, most = Infinity) {
  const wide = width >= 660;
  root.classList.toggle("ln-wide", wide);
  const w = Math.round(wide ? Math.min(width - aside, most) : width - 24);
  root.style.setProperty("--ln-stage", `${w}px`);
  return w;
}

/** A row's sample in a table: a piece of its line. */
export const lineSample = (style) => (at) => draw(at, "path", { class: "ln-line", d: "M0 6H20", "stroke-width": 2.6, ...style });

/** A table of rows {key: {name, sample}}, `sample` drawing into 20 × 12 pixels; `heads` name the columns, if given. */
export function sampleTable(rows, heads = []) {
  const body = make("tbody");
  const found = Object.entries(rows).map(([key, { name, sample }]) => {
    const box = draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" });
    const drawn = sample(box);
    const cells = (heads.length ? heads.slice(1) : [""]).map(() => make("td"));
    const row = make("tr", {}, make("th", { scope: "row" }, box, ` ${name}`), ...cells);
    body.append(row);
    return [key, { row, cells, drawn }];
  });
  const names = heads.map((head) => make("th", { scope: "col" }, head));
  const node = make("table", { class: "ln-table" }, ...(names.length ? [make("thead", {}, make("tr", {}, ...names))] : []), body);
  return { node, rows: Object.fromEntries(found) };
}

/** Hides the last static twin before `root` in the page, with the box of its output; returns how to bring it back. */
function replaceTwin(root) {
  const before = (twin) => twin.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_FOLLOWING;
  const twins = document.querySelectorAll(`.lossnav-fallback[data-for="${root.dataset.explorable}"]`);
  const twin = [...twins].filter(before).pop();
  if (!twin) return () => {};
  const box = twin.parentElement;
  const hidden = box.childElementCount === 1 && !box.contains(root) ? [twin, box] : [twin];
  hidden.forEach((node) => node.classList.add("lossnav-replaced"));
  return () => hidden.forEach((node) => node.classList.remove("lossnav-replaced"));
}

/**
 * An anywidget module. `build(root, state)` makes the view and returns {layout(width), update(), leave()}: the first
 * draws what depends on the size, the second what depends on the state, the third, if there is one, stops what runs
 * by itself. The state lives in the widget's traits, so views
 * of one widget, and Python where there is a kernel, stay in step.
 */
export function explorable(name, build) {
  return {
    render({ model, el }) {
      const root = make("div", { class: "lossnav-explorable", "data-explorable": name, role: "group" });
      let timer = null;
      const save = () => model.save_changes();
      const state = {
        get: (trait) => model.get(trait),
        set(trait, value) {
          model.set(trait, value);
          clearTimeout(timer);
          timer = setTimeout(save, 60); // Python needs the place where the hand rests, not every pixel on the way
        },
        show: (trait, value) => model.set(trait, value), // for what moves by itself: Python hears of it at the next set
        shared: model, // the same for all views of a widget
      };
      el.append(root);
      const view = build(root, state);
      const update = () => view.update();
      model.on("change", update);
      let width = 0;
      const fit = (next) => {
        if (!next || Math.abs(next - width) < 1) return;
        width = next;
        view.layout(width);
        view.update();
      };
      fit(root.clientWidth || 640);
      let restoreTwin = null;
      const observer = new ResizeObserver(() => {
        fit(root.clientWidth);
        if (root.isConnected) restoreTwin ??= replaceTwin(root);
      });
      observer.observe(root);
      return () => {
        view.leave?.();
        clearTimeout(timer);
        observer.disconnect();
        model.off("change", update);
        restoreTwin?.();
      };
    },
  };
}
