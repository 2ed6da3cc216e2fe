"""Explorables in a browser, away from any book: pages on which one is shown after another.

To open a page costs several times what an explorable on it does, and a browser ten times that.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import traitlets
from chrome import Browser, Page
from resources import need_a_browser

from lossnav.explore.base import Explorable

# A stand-in for the widget manager's model: what anywidget gives to render(), as far as the scripts use it.
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><style></style>
<div id="twin"></div><div id="one"></div><div id="two"></div>
<script>
  const scripts = new Map(), clear = () => {
    for (const id of ["twin", "one", "two"]) {
      document.getElementById(id).replaceChildren();
      document.getElementById(id).removeAttribute("style");
    }
    delete window.saved;
  };
  const load = (source) => import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  window.leaveAll = () => {
    for (const leave of ["cleanup", "leave"]) {
      const left = window[leave];
      window[leave] = undefined;
      left?.();
    }
  };
  window.show = async ({ name, css, twin, module, state, limits, hash }) => {
    leaveAll();
    clear();
    history.replaceState(null, "", location.pathname + hash);
    scrollTo(0, 0);
    document.querySelector("style").textContent = css + " body { margin: 8px; }";
    document.getElementById("twin").innerHTML = twin;
    if (!scripts.has(name)) scripts.set(name, (await load(module)).default);
    const listeners = new Set();
    window.widget = scripts.get(name);
    window.first = structuredClone(state);
    window.limits = limits;
    window.model = {
      get: (name) => state[name],
      set(name, value) { state[name] = value; listeners.forEach((listener) => listener()); },
      put(values) { Object.assign(state, values); listeners.forEach((listener) => listener()); },
      save_changes() { window.saved = structuredClone(state); },
      on(event, listener) { listeners.add(listener); },
      off(event, listener) { listeners.delete(listener); },
    };
    window.cleanup = widget.render({ model, el: document.getElementById("one") });
    // The twin goes once the view is laid out: who measures before that drags where a handle was.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  };
  // Take the views away, and draw the first frame of another state.
  window.anew = (state, hash = "") => {
    leaveAll();
    document.getElementById("one").replaceChildren();
    document.getElementById("two").replaceChildren();
    history.replaceState(null, "", location.pathname + hash);
    model.put(structuredClone(state));
    delete window.saved;
    window.cleanup = widget.render({ model, el: document.getElementById("one") });
  };
</script></html>"""


def limits(trait: traitlets.TraitType) -> list:
    """The range [low, high, whether whole] of a number, or those of a point's; empty for what has none."""
    if isinstance(trait, traitlets.Tuple):
        return [limits(part) for part in trait._traits]
    return [trait.min, trait.max, isinstance(trait, traitlets.Int)] if hasattr(trait, "min") else []


class Stand:
    """A browser with a page for desks and one for phones, opened when they are first asked for."""

    def __init__(self, folder: Path):
        self._page = folder / "page.html"
        self._page.write_text(PAGE, encoding="utf-8")
        self._open = ExitStack()
        self._browser: Browser | None = None
        self._pages: dict[bool, Page] = {}

    def browser(self) -> Browser:
        """The browser, for pages of one's own."""
        if self._browser is None:
            need_a_browser()
            self._browser = self._open.enter_context(Browser())
        return self._browser

    def page(self, size: tuple[int, int], phone: bool, motion: bool) -> Page:
        """The page for desks or for phones, in its size; whoever has it last has left it."""
        if phone not in self._pages:
            page = self._open.enter_context(self.browser().page((390, 900) if phone else (1000, 900), touch=phone))
            page.open(self._page.as_uri())
            self._pages[phone] = page
        page = self._pages[phone]
        page.start_anew()
        if page.tab.viewport_size != {"width": size[0], "height": size[1]}:
            page.tab.set_viewport_size({"width": size[0], "height": size[1]})
        page.tab.emulate_media(reduced_motion="no-preference" if motion else "reduce")
        return page

    def __call__(
        self, widget: Explorable, size: tuple[int, int] = (1000, 900), *, phone: bool = False, motion: bool = False,
        hash: str = "",
    ) -> Page:  # fmt: skip
        """Show an explorable alone, as if on a page that has just been opened; the page's records begin anew.

        Args:
            widget: what is shown.
            size: of the window, CSS pixels.
            phone: whether it has a phone's screen, which is touched.
            motion: whether its reader's system asks for motion.
            hash: what the page's address ends in.
        """
        page = self.page(size, phone, motion)
        names = widget._state_names()
        parts: dict[str, Any] = {
            "name": type(widget).__name__,
            "css": widget._css,
            "twin": widget.fallback(),
            "module": widget._esm,
            "state": widget.get_state(names),
            "limits": {name: limits(widget.traits()[name]) for name in names},
            "hash": hash,
        }
        page.evaluate(f"show({json.dumps(parts)})")
        return page

    def close(self) -> None:
        """End the browser; the next page starts another one."""
        self._browser, pages = None, self._pages
        pages.clear()
        self._open.close()
