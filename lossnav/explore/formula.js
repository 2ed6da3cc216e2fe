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

/**
 * A letter with a combining mark: an accent of MathML sits on the letter where a font has no tables for mathematics.
 * @type {(base: Element, mark: string) => Element}
 */
export function accented(base, mark) {
  const node = math("mi", `${base.textContent}${mark}`);
  node.setAttribute("style", "font-style: italic"); // two characters are upright else
  return node;
}
