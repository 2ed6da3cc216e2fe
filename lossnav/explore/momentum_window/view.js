// The view of the window in which momentum treats all curvatures alike.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, keptAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("MomentumWindow", SHARED, {
  curves,
  words({ beta, bend }) {
    const [from, to] = [(1 - Math.sqrt(beta)) ** 2, (1 + Math.sqrt(beta)) ** 2];
    const inside = bend > from && bend < to;
    const { descent, nesterov, heavy } = keptAt(bend, beta);
    return [inside ? "In the window: the mode swings." : bend >= to ? "Beyond the window." : "Too flat for the window.", [
      `The window: from ${fixed(from, 3)} to ${fixed(to, 3)}; in it the heavy ball keeps √β = ${fixed(Math.sqrt(beta), 3)}.`,
      `At αh = ${fixed(bend, 2)}: heavy ball ${fixed(heavy, 3)}, Nesterov ${fixed(nesterov, 3)}, gradient descent ${fixed(descent, 3)}.`,
    ]];
  },
  python: (_, { beta, bend }) => [`ball = ln.acceleration.Method(1.0, ${beta})`, `ball.kept([${bend}])`],
});
