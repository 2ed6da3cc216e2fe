// Labels that keep apart from each other, from handles and, as far as can be, from the lines.

import { clamp, draw } from "./kit.js";

const LINE = 16; // height of a label's box

/** At least the width of a label's text, in pixels. */
export const textWidth = (text) => 4 + 7.8 * [...text].length;

/**
 * Puts each label {text, x, y, dx, dy, color, far} near its tip (x, y), preferably ahead of it along (dx, dy): inside
 * `box` = [left, top, right, bottom], over neither another label nor one of the boxes `obstacles`, covering as few of
 * `strokes`, points of the lines, as can be. A label for which there is no such place is left out.
 */
export function placeLabels(at, box, labels, obstacles, strokes) {
  const taken = [...obstacles];
  const free = (b) => taken.every((t) => b[2] < t[0] || b[0] > t[2] || b[3] < t[1] || b[1] > t[3]);
  const covered = (b) => strokes.filter(([x, y]) => x > b[0] && x < b[2] && y > b[1] && y < b[3]).length;
  for (const label of labels) {
    const [best] = places(label, box).filter(free).sort((a, b) => covered(a) - covered(b));
    if (!best) continue;
    taken.push(best);
    const place = { x: (best[0] + best[2]) / 2, y: best[3] - 4, "text-anchor": "middle" };
    draw(at, "text", { class: "ln-text", ...place }, label.text).style.setProperty("--c", label.color);
  }
}

/** The box of a handle or dot, to keep labels off it. */
export const around = ([x, y], size = 12) => [x - size, y - size, x + size, y + size];

/** Points along the line between two pixels, for labels to keep off. */
export const along = (a, b) => Array.from({ length: 41 }, (_, i) => [0, 1].map((j) => a[j] + ((b[j] - a[j]) * i) / 40));

/** The boxes where a label could go, the likeliest first. */
function places({ text, x, y, dx, dy, far = 9 }, [left, top, right, bottom]) {
  const width = textWidth(text);
  const near = [[dx, dy], [1, 0], [-1, 0], [-dy, dx], [dy, -dx], [0.8, -0.6], [0.8, 0.6], [-0.8, -0.6], [-0.8, 0.6]];
  return [...near, [1, 1.8], [-1, 1.8], [1, -1.8], [-1, -1.8]].map(([sx, sy]) => {
    const [cx, cy] = [x + sx * (far + width / 2), y + sy * (far + LINE / 2)];
    const [from, over] = [clamp(cx - width / 2, left + 1, right - width - 1), clamp(cy - LINE / 2, top + 1, bottom - LINE - 1)];
    return [from, over, from + width, over + LINE];
  });
}
