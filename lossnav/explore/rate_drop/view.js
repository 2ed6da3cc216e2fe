// The view of a normalised layer after its learning rate has been lowered.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { angleAt, curves, fourthPower } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("RateDrop", SHARED, {
  curves,
  words(given) {
    const { drop, memory, n } = given;
    const angle = angleAt(given);
    return [`After ${n} ${n === 1 ? "step" : "steps"} it turns by ${fixed(angle, 3)} of the old angle.`, [
      `Its rest is 1/√F = ${fixed(drop ** -0.5, 3)}; if the radius stayed, it would be 1/F = ${fixed(1 / drop, 3)}.`,
      `The radius is ${fixed(fourthPower(given) ** 0.25, 3)} times its new rest.`,
      `Memory: ${fixed(memory, 0)} steps.`,
    ]];
  },
  python: (_, { drop, memory, n }) => [
    `rate = {"mass": ln.noether.mass(0.1, 0.9), "friction": ln.noether.friction(0.9)}`,
    `decay = rate["friction"] / (4 * 0.1 * ${memory})`,
    `rest = rate["mass"] / (decay * rate["friction"] ** 2)  # of r⁴, for gradients of size 1`,
    `square = ln.noether.radius_squared(0.1 * ${n}, initial=(${drop} * rest) ** 0.5, gradient_norm_squared=1.0, decay=decay, **rate)`,
    "(square**2 / rest) ** 0.25  # the radius over that of its new rest",
  ],
});
