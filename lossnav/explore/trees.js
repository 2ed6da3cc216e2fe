// Formulas that come from Python as trees, set as MathML.

import { accented, fraction, math, terms } from "./formula.js";

/** @type {Record<string, (...parts: Element[]) => Element>} */
const TREES = {
  "": (...parts) => math("mrow", ...parts),
  "(": (inner) => math("mrow", ...terms("("), inner, ...terms(")")),
  "/": fraction,
  "√": (inner) => math("msqrt", inner),
  "^": (base, upper) => math("msup", base, upper),
  _: (base, lower) => math("msub", base, lower),
  "˙": (base) => accented(base, "\u0307"),
  "¨": (base) => accented(base, "\u0308"),
};

/**
 * A formula that comes as a tree: text parted by spaces, or a list of a kind and its parts (typeset.py says which).
 * @param {unknown} tree
 * @returns {Element}
 */
export function treeNode(tree) {
  if (!Array.isArray(tree)) {
    const parts = terms(String(tree));
    return parts.length === 1 ? parts[0] : math("mrow", ...parts);
  }
  const [kind, ...parts] = tree;
  return TREES[kind](...parts.map(treeNode));
}
