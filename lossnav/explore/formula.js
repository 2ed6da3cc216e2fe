// Formulas as MathML, which browsers set themselves: nothing is loaded, and screen readers read it.

const MATHML = "http://www.w3.org/1998/Math/MathML";

/**
 * A MathML element.
 * @param {string} tag
 * @param {(string | Element)[]} children
 */
export function math(tag, ...children) {
  const node = document.createElementNS(MATHML, tag);
  node.append(...children);
  return node;
}

/** Letters, digits and signs, each as what it is: a space parts them. */
export const terms = (/** @type {string} */ text) => text.split(" ").map((part) => math(/^[\d.]+$/.test(part) ? "mn" : /^\p{L}/u.test(part) ? "mi" : "mo", part));

/** Parts in a row. */
export const inRow = (/** @type {(string | Element)[]} */ ...parts) => math("mrow", ...parts.flatMap((part) => (typeof part === "string" ? terms(part) : [part])));

/** A letter with a dot: its rate of change. */
export const dotted = (/** @type {string} */ letter) => accented(math("mi", letter), "\u0307");

/** @type {(over: Element, under: Element) => Element} */
export const fraction = (over, under) => math("mfrac", over, under);

/** A letter with something small at its upper right. */
export const raised = (/** @type {string} */ letter, /** @type {string} */ above) => math("msup", math("mi", letter), ...terms(above));

/** A formula on a line of its own. */
export function formula(/** @type {(string | Element)[]} */ ...parts) {
  const node = math("math", inRow(...parts));
  node.setAttribute("display", "block");
  return node;
}

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
 * A letter with a combining mark: an accent of MathML sits on the letter where a font has no tables for mathematics.
 * @type {(base: Element, mark: string) => Element}
 */
function accented(base, mark) {
  const node = math("mi", `${base.textContent}${mark}`);
  node.setAttribute("style", "font-style: italic"); // two characters are upright else
  return node;
}

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
