/* What is too wide for the screen scrolls in its own box. The box says so: its text fades out at the side where more is,
 * and the keyboard reaches it. Where everything fits, nothing is marked.
 */
(function () {
  "use strict";
  const BOXES = ".bd-article :is(div.math, pre, table, .scroll, .cell_output > .output)";

  /** @param {HTMLElement} box */
  function mark(box) {
    const hidden = box.scrollWidth - box.clientWidth;
    const wide = hidden > 1 && getComputedStyle(box).overflowX !== "visible";
    if (!wide) {
      if (box.dataset.more === undefined) return;
      delete box.dataset.more;
      box.removeAttribute("tabindex");
      return;
    }
    const sides = [box.scrollLeft > 1 ? "left" : "", box.scrollLeft < hidden - 1 ? "right" : ""];
    box.dataset.more = sides.join(" ").trim();
    box.tabIndex = 0;
  }

  function start() {
    const watch = new ResizeObserver((seen) => seen.forEach((entry) => mark(entry.target)));
    for (const box of document.querySelectorAll(BOXES)) {
      watch.observe(box);
      box.addEventListener("scroll", () => mark(box), { passive: true });
    }
    // Letters that come late make what a box holds wider, and not the box: no observer of sizes tells.
    const all = () => document.querySelectorAll(BOXES).forEach(mark);
    document.fonts.ready.then(all);
    document.fonts.addEventListener("loadingdone", all);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
