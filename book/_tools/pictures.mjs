// Draws the static twins: an explorable's first frame, by its own script, as one picture. Reads a list of
// {module, state, style} and writes the list of the pictures, as JSON. (pictures.py says of what, and keeps them.)
//
// A picture has no layout of its own: drawings stand where the script drew them, one under the other, and beside or
// below them in lines of text what the page has as legend, controls and readout. Nothing is behind "Details" there.

import { text } from "node:stream/consumers";
import { firstFrame, openPage, written } from "./page.mjs";

const WIDTH = 720; // pixels: of the frame and of the picture
const EDGE = 12;
const LINE = 19;
const LETTER = 6.9; // pixels, a mean width at the size of the words
const BOLD_LETTER = 8; // in the widest of the fonts that systems have

/** Lines of at most `most` letters. */
function wrapped(words, most) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}

/** What the frame's controls stand at: sliders with their values, switches with the choices that are pressed. */
function settings(frame) {
  const said = frame.querySelectorAll(".ln-head").map((head) => head.childNodes.map(({ textContent }) => textContent.trim()));
  const sliders = said.map(([symbol, name, value]) => `${symbol} = ${value} (${name})`);
  const pressed = (row) => row.querySelectorAll('.ln-choice[aria-pressed="true"]').map(({ textContent }) => textContent);
  const switches = frame.querySelectorAll(".ln-switch").map((row) => `${row.firstChild.textContent}: ${pressed(row).join(", ")}`);
  return [...sliders, ...switches];
}

/** The paragraphs of a readout: its sentence, and each line of detail. */
function paragraphs(frame) {
  const lines = frame.querySelectorAll(".ln-block").map(({ textContent }) => ({ words: textContent }));
  return [{ words: frame.querySelector(".ln-verdict").textContent, bold: true }, ...lines];
}

/** One picture of a frame: [drawn parts, height, words]. */
function picture(frame) {
  const parts = [];
  const put = (x, y, words, style = {}) => {
    const node = document.createElement("text");
    for (const [name, value] of Object.entries({ x, y, "font-size": 13, ...style })) node.setAttribute(name, value);
    node.append(words);
    parts.push(node);
  };
  const place = (x, y, drawing) => {
    drawing.setAttribute("x", x);
    drawing.setAttribute("y", y);
    parts.push(drawing);
  };
  const title = frame.querySelector(".ln-title").textContent;
  put(EDGE, 24, title, { "font-size": 17, "font-weight": 650 });
  const top = 38;
  let bottom = top;
  let stage = 0;
  for (const drawing of frame.querySelector(".ln-body").querySelectorAll(".ln-figure")) {
    place(EDGE, bottom, drawing);
    stage = Math.max(stage, Number(drawing.getAttribute("width")));
    bottom += Number(drawing.getAttribute("height")) + 6;
  }
  const beside = WIDTH - stage - 3 * EDGE > 250;
  const left = beside ? stage + 2 * EDGE : EDGE;
  const right = WIDTH - EDGE;
  let y = beside ? top + 14 : bottom + 14;
  const write = (words, style) => {
    const letter = style["font-weight"] ? BOLD_LETTER : LETTER;
    for (const line of wrapped(words, (right - left) / letter)) {
      put(left, y, line, style);
      y += LINE;
    }
  };
  const tables = frame.querySelectorAll(".ln-table").flatMap((table) => table.querySelectorAll("tr"));
  for (const row of tables.length ? tables : frame.querySelectorAll("li")) {
    const sample = row.querySelector(".ln-sample");
    const [head, ...cells] = row.tagName === "tr" ? row.children : [row];
    if (sample) {
      place(left, y - 10, sample);
      put(left + 26, y, head.textContent.trim());
    }
    [...cells].reverse().forEach((cell, i) => put(right - 84 * i, y, cell.textContent, { "text-anchor": "end" }));
    y += LINE;
  }
  y += tables.length || frame.querySelector("li") ? 6 : 0;
  const set = settings(frame);
  write(set.join(", "), { class: "ln-name" });
  y += 6;
  const said = paragraphs(frame);
  for (const { words, bold } of said) write(words, bold ? { "font-weight": 650 } : { class: "ln-name" });
  const about = frame.getAttribute("aria-label").replace("Explorable: ", "");
  const words = [title, about, ...set].join("; ") + ". " + said.map((one) => one.words).join(" ");
  return { parts, height: Math.ceil(Math.max(bottom, y) + EDGE - 6), words };
}

/** The SVG document of a frame, in the light colours of the style sheet. */
function document_(frame, style) {
  const { parts, height, words } = picture(frame);
  const group = document.createElement("g");
  group.setAttribute("class", "lossnav-explorable");
  group.append(...parts);
  const about = document.createElement("desc");
  about.append(words.replace(/\s+/g, " "));
  const size = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  const ground = '<rect width="100%" height="100%" fill="#fff"/>';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${written(about)}<style>${style}</style>${ground}${written(group)}</svg>\n`;
}

const body = openPage(WIDTH);
const drawn = [];
for (const { module, state, style } of JSON.parse(await text(process.stdin))) {
  const { el, leave } = firstFrame(body, (await import(module)).default, state);
  drawn.push(document_(el.firstChild, style));
  leave();
}
process.stdout.write(JSON.stringify(drawn));
