// Draws formulas with KaTeX: a line of JSON in, a line of JSON out. node typeset.mjs PATH_OF_KATEX

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(process.argv[2]).href);

/** @param {{ formula: string, display: boolean }} wanted */
function draw({ formula, display }) {
  try {
    return { html: katex.renderToString(formula, { displayMode: display, strict: "ignore" }) };
  } catch (error) {
    return { error: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(draw(JSON.parse(line))) + "\n");
}
