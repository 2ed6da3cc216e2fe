"""Runs the explorables' own scripts in node, so that what is tested is what the page carries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from threading import Timer
from typing import Any

from paths import ROOT

# Answers each line of its input, {module, expression, given}, by a line {found} or {failed}.
SERVER = """
import { createInterface } from "node:readline";
const Expression = (async () => {}).constructor;
const spell = (key, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v);
for await (const line of createInterface({ input: process.stdin })) {
  const { module, expression, given } = JSON.parse(line);
  let told;
  try {
    const found = await new Expression("M", "given", `return (${expression}\\n)`)(await import(module), given);
    told = { found };
  } catch (error) {
    told = { failed: String(error?.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(told, spell) + "\\n");
}
"""
PATIENCE = 900.0  # seconds
# Points of each named line, in data: the script says at which pixels the origin and (1, 1) lie.
CURVES = """(frame) => [...frame.querySelectorAll("[data-curve]")].map((path) => {
  const [x0, y0, x1, y1] = path.dataset.units.split(" ").map(Number);
  const points = [...path.getAttribute("d").matchAll(/[ML]([-\\d.]+) ([-\\d.]+)/g)];
  return [path.dataset.curve, points.map(([, x, y]) => [(x - x0) / (x1 - x0), (y - y0) / (y1 - y0)])];
})"""
# What a script takes away as Python, for a state.
PYTHON = """(async () => {
  const { firstFrame, openPage } = await import(PAGE);
  const { el, leave } = firstFrame(openPage(1000), M.default, given);
  const [code] = el.querySelectorAll(".ln-code");
  code.select = () => {};
  globalThis.navigator ??= {};
  el.querySelectorAll("button").find((button) => button.textContent === "Python").dispatchEvent(new Event("click"));
  leave();
  return code.value;
})()"""
# What a script draws first, on a page of a width whose address may end in a state: its lines, its words, all that
# stands in its drawings, and the state that it takes.
FRAME = """(async () => {
  const { firstFrame, openPage } = await import(PAGE);
  const { el, held, leave } = firstFrame(openPage(given.width), M.default, given.state, given.hash);
  const words = el.textContent.replaceAll("\\u00a0", " ");
  const all = el.querySelectorAll(".ln-figure").flatMap((drawing) => [...drawing.all()]);
  const drawn = all.map((part) => [...part.attributes.values(), part.textContent].join(" ")).join(" ");
  const found = { curves: (CURVES)(el), words, drawn, state: held };
  leave();
  return found;
})()"""
PAGE = json.dumps((ROOT / "book" / "_tools" / "page.mjs").as_uri())
FRAME, PYTHON = FRAME.replace("PAGE", PAGE).replace("CURVES", CURVES), PYTHON.replace("PAGE", PAGE)


class Node:
    """One process for all scripts: to start one takes longer than most of them."""

    def __init__(self, command: list[str]):
        program, pipe = [*command, "--input-type=module", "-e", SERVER], subprocess.PIPE
        self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")

    def ask(self, **question: Any) -> dict[str, Any]:
        """What the server answers; nothing if it died, or was ended because it took too long."""
        assert self._process.stdin is not None and self._process.stdout is not None
        late = Timer(PATIENCE, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            late.cancel()
        return json.loads(answer) if answer else {"failed": "node has ended"}

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class Script:
    """A module under test; call it with a JavaScript expression over its exports ``M`` and JSON data ``given``.

    ``M.default`` is the module that pages and notebooks carry; the rest is what the files export of which it is made.
    """

    def __init__(self, node: Node, folder: Path, source: str, files: Iterable[Path] = ()):
        self._node = node
        self.path = folder / "module.mjs"
        (folder / "bundle.mjs").write_text(source, encoding="utf-8")
        lines = [f"export * from {json.dumps(file.as_uri())};" for file in files]
        self.path.write_text("\n".join([*lines, 'export { default } from "./bundle.mjs";', ""]), encoding="utf-8")

    def __call__(self, expression: str, given: Any = None) -> Any:
        answer = self._node.ask(module=self.path.as_uri(), expression=expression, given=given)
        if "failed" in answer:
            raise AssertionError(f"{expression}\n{answer['failed']}")
        return answer.get("found")
