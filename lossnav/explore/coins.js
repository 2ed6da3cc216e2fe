// Chance that is the same in the script and in Python.

/** +1 or −1, which belongs to a step: the same in Python. */
export function coin(/** @type {number} */ step) {
  let x = Math.imul(step + 1, 0x9e3779b1);
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) & 1 ? 1 : -1;
}
