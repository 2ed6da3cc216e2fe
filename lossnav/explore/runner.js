// Play: for a trait that is a time or a number of steps, and for a figure in which whole paths are on show.

/** @import { Box, Figure } from "./kit.js" */
/** @import { State } from "./life.js" */

import { player } from "./chart.js";
import { buttonRow } from "./controls.js";
import { clamp, drawDot, layer, panelWindow } from "./kit.js";

/** @typedef {{ at: (share: number) => number[], color: string }} Track where it is, in pixels, after a share of the time */

/**
 * A button that lets a dot run along each path, all in the same time, and how to say what the paths are. Make it after
 * the layers that its dots pass over.
 * @param {HTMLElement} root
 * @param {State<any>} state
 * @param {Figure} stage
 * @param {number} seconds
 */
export function runner(root, state, stage, seconds) {
  const at = layer(stage);
  at.classList.add("ln-run");
  /** @type {{ box: Box, tracks: Track[] }} */
  let drawn = { box: { left: 0, right: 0, top: 0, bottom: 0 }, tracks: [] };
  let share = 0; // of the time
  const place = () => {
    at.replaceChildren();
    if (!share) return;
    const inner = panelWindow(at, drawn.box);
    for (const track of drawn.tracks) drawDot(inner, track.at(share), 6, track.color);
  };
  const time = playRow(root, state, "let time pass along the paths", {
    advance(passed) {
      share = Math.min(1, share + passed / seconds);
      place();
      return share < 1;
    },
    begin() {
      if (share === 1) share = 0;
    },
    reset() {
      share = 0;
      place();
    },
  });
  const show = (/** @type {Box} */ box, /** @type {Track[]} */ tracks) => {
    drawn = { box, tracks };
    place();
  };
  return { node: time.node, show, leave: time.leave };
}

/**
 * A button that moves a trait from one end of its axis to the other. `along` says where a value is on the axis, and
 * `value` what is there; between two whole numbers time passes, too.
 * @param {HTMLElement} root
 * @param {State<any>} state
 * @param {string} trait
 * @param {{ ends: number[], along: (value: any) => number, value: (u: number) => unknown, seconds: number }} axis
 */
export function traitPlayer(root, state, trait, { ends: [first, last], along, value, seconds }) {
  let u = first;
  return playRow(root, state, "let the mark run", {
    advance(passed) {
      if (state.get(trait) !== value(u)) u = along(state.get(trait));
      u = Math.min(last, u + (passed * (last - first)) / seconds);
      state.show(trait, value(u));
      return u < last;
    },
    begin() {
      if (along(state.get(trait)) >= last) state.show(trait, value(first));
    },
  });
}

/**
 * A Play button and its clock. `advance` gets the seconds that have passed and says whether there is more to come;
 * `begin` comes before the clock starts, and `reset` when the reader goes back to the first state.
 * @param {HTMLElement} root
 * @param {State<any>} state
 * @param {string} words what it does
 * @param {{ advance: (passed: number) => boolean, begin: () => void, reset?: () => void }} parts
 */
function playRow(root, state, words, { advance, begin, reset }) {
  const time = player(root, state, {
    advance(passed) {
      if (!advance(passed)) time.pause();
    },
    button: () => row.buttons[0],
    play: "Play",
  });
  const row = buttonRow([["Play", words, () => {
    if (time.wanted()) return time.pause();
    begin();
    time.want(true);
  }]]);
  if (reset) root.addEventListener("reset", reset);
  return { node: row.node, pause: time.pause, leave: time.leave };
}

/**
 * A place between two of `points`, number by number; before the first and after the last it rests.
 * @type {(points: number[][], index: number) => number[]}
 */
export function between(points, index) {
  const last = points.length - 1;
  const i = clamp(Math.floor(index), 0, Math.max(0, last - 1));
  const part = clamp(index - i, 0, 1);
  return points[i].map((v, axis) => v + part * (points[Math.min(i + 1, last)][axis] - v));
}

/**
 * What the rest of points [time, …] is at a time between two of them.
 * @type {(points: number[][], time: number) => number[]}
 */
export function atTime(points, time) {
  const next = points.findIndex(([t]) => t > time);
  const i = next < 0 ? points.length - 1 : Math.max(0, next - 1);
  const [from, to] = [points[i][0], points[Math.min(i + 1, points.length - 1)][0]];
  return between(points, to > from ? i + (time - from) / (to - from) : i).slice(1);
}

/**
 * A track along a line over time, whose points are pixels from left to right.
 * @type {(points: number[][], ends: { left: number, right: number }, color: string) => Track}
 */
export const overTime = (points, { left, right }, color) => ({
  at(share) {
    const x = left + share * (right - left);
    return [x, ...atTime(points, x)];
  },
  color,
});

/**
 * A track through points that are equally far apart in time.
 * @type {(points: number[][], color: string) => Track}
 */
export const evenly = (points, color) => ({ at: (share) => between(points, share * (points.length - 1)), color });
