/* A term of the text and a part of an explorable light each other up: by mouse, by focus, by tap.
 *
 * A term is `.ln-term[data-light="NAME:PART"]`, which the role {lights} writes. A part is what carries PART in its
 * `data-part` (sliders, points, rows of tables) or in its `data-curve` (lines), in the explorable called NAME. The light
 * is a rule of a style sheet, so that it outlives the redraws of what it falls on, and moves nothing.
 */
(function () {
  "use strict";
  const TERMS = ".ln-term[data-light]";
  const REACH = [0, 3, -3, 6, -6].flatMap((x) => [0, 3, -3, 6, -6].map((y) => [x, y])).slice(1); // pixels: lines have gaps
  const sheet = document.head.appendChild(document.createElement("style"));
  /** What asks for light, the first first: "NAME:PART" or null. */
  const wishes = { over: null, pinned: null, focus: null };
  const known = new Set();
  /** The names of the explorables among them. */
  const spokenOf = new Set();

  function rules(wish) {
    const [name, part] = wish.split(":").map((text) => CSS.escape(text));
    const root = `.lossnav-explorable[data-explorable="${name}"]`;
    const lit = `:is([data-part~="${part}"], [data-curve~="${part}"])`;
    return `
      ${root} svg:has([data-curve~="${part}"]) [data-curve]:not(${lit}) { opacity: 0.22; }
      ${root} svg path${lit} { stroke-width: 5px; }
      ${root} .ln-handle${lit} .ln-ring { fill-opacity: 0.4; }
      ${root} :is(label, tr, li)${lit} { border-radius: 4px; background: color-mix(in srgb, var(--ln-descent) 20%, transparent);
        box-shadow: 0 0 0 3px color-mix(in srgb, var(--ln-descent) 20%, transparent); }`;
  }

  function settle() {
    const wish = wishes.over || wishes.pinned || wishes.focus;
    sheet.textContent = wish ? rules(wish) : "";
    for (const term of document.querySelectorAll(TERMS)) {
      term.classList.toggle("ln-lit", term.dataset.light === wish);
      term.setAttribute("aria-pressed", String(term.dataset.light === wishes.pinned));
    }
  }

  function want(kind, wish) {
    if (wishes[kind] === wish) return;
    wishes[kind] = wish;
    settle();
  }

  /** The wish of what lies at an element of an explorable, if the text speaks of it. */
  function partAt(node) {
    const part = node && node.closest && node.closest("[data-part], [data-curve]");
    const root = part && part.closest(".lossnav-explorable");
    if (!root) return null;
    const words = `${part.dataset.part || ""} ${part.dataset.curve || ""}`.split(" ");
    return words.map((word) => `${root.dataset.explorable}:${word}`).find((wish) => known.has(wish)) || null;
  }

  /** The wish of what lies under the pointer; only of lines, which are thin, it looks around, since that takes time. */
  function under(event) {
    const at = (dx, dy) => document.elementFromPoint(event.clientX + dx, event.clientY + dy);
    const there = at(0, 0);
    const root = there && there.closest(".lossnav-explorable");
    if (!root || !spokenOf.has(root.dataset.explorable)) return null;
    const own = partAt(there);
    if (own || !there.closest("svg")) return own;
    for (const [dx, dy] of REACH) {
      const found = partAt(at(dx, dy));
      if (found) return found;
    }
    return null;
  }

  /** Pins the light or lets go of it; a picture that is out of sight comes into it, and what is folded away unfolds. */
  function press(term) {
    const wish = wishes.pinned === term.dataset.light ? null : term.dataset.light;
    Object.assign(wishes, { pinned: wish, over: null, focus: null });
    settle();
    const root = wish && document.querySelector(`.lossnav-explorable[data-explorable="${CSS.escape(wish.split(":")[0])}"]`);
    if (!root) return;
    root.querySelector(`[data-part~="${CSS.escape(wish.split(":")[1])}"]`)?.closest("details")?.setAttribute("open", "");
    const { top, bottom } = root.getBoundingClientRect();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (bottom < 80 || top > innerHeight - 80) root.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  }

  function start() {
    for (const term of document.querySelectorAll(TERMS)) {
      known.add(term.dataset.light);
      spokenOf.add(term.dataset.light.split(":")[0]);
      term.tabIndex = 0;
      term.setAttribute("role", "button");
      term.setAttribute("aria-pressed", "false");
      term.title = "Shown in the picture";
      term.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && want("over", term.dataset.light));
      term.addEventListener("pointerleave", () => want("over", null));
      term.addEventListener("click", () => press(term));
      term.addEventListener("focus", () => term.matches(":focus-visible") && want("focus", term.dataset.light));
      term.addEventListener("blur", () => want("focus", null));
      term.addEventListener("keydown", (event) => {
        if (event.key === "Escape") want("pinned", null);
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        press(term);
      });
    }
    if (!known.size) return;
    let asked = 0;
    document.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse" || event.buttons || event.target.closest?.(TERMS)) return;
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => want("over", under(event)));
    });
    document.addEventListener("pointerdown", (event) => event.pointerType === "mouse" || want("over", under(event)));
    document.addEventListener("focusin", (event) => {
      if (event.target.closest(".lossnav-explorable")) want("focus", event.target.matches(":focus-visible") ? partAt(event.target) : null);
    });
    document.addEventListener("focusout", (event) => event.target.closest(".lossnav-explorable") && want("focus", null));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
