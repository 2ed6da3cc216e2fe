// The view of a normalised layer after its learning rate has been lowered.

/** @import { Setting } from "./model.js" */

import { logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { angleAt, curves, fourthPower } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function dropWords(given) {
  const { drop, memory, n } = given;
  const angle = angleAt(given);
  return [`After ${n} ${n === 1 ? "step" : "steps"} it turns by ${fixed(angle, 3)} of the old angle.`, [
    `Its rest is 1/√F = ${fixed(drop ** -0.5, 3)}; if the radius stayed, it would be 1/F = ${fixed(1 / drop, 3)}.`,
    `The radius is ${fixed(fourthPower(given) ** 0.25, 3)} times its new rest.`,
    `Memory: ${fixed(memory, 0)} steps.`,
  ]];
}

export default explorable("RateDrop", ...curvesView(SHARED, {
  dials: (state) => ({
    drop: logDial(state, "drop", { symbol: "F", name: "the rate drops by", marks: SHARED.traits.drop.range }),
    memory: logDial(state, "memory", { symbol: "μ/4kη", name: "memory, in steps", marks: SHARED.traits.memory.range, digits: 0 }),
  }),
  curves,
  words: dropWords,
  python: ({ drop, memory, n }) => [
    `rate = {"mass": ln.noether.mass(0.1, 0.9), "friction": ln.noether.friction(0.9)}`,
    `decay = rate["friction"] / (4 * 0.1 * ${inPython(memory)})`,
    `rest = rate["mass"] / (decay * rate["friction"] ** 2)  # of r⁴, for gradients of size 1`,
    `square = ln.noether.radius_squared(0.1 * ${inPython(n)}, initial=(${inPython(drop)} * rest) ** 0.5, gradient_norm_squared=1.0, decay=decay, **rate)`,
    "(square**2 / rest) ** 0.25  # the radius over that of its new rest",
  ],
}));
