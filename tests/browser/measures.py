"""What tests measure on an open page, as scripts: formulas, lines, boxes, pictures, and what axe says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from chrome import Page
from node import MODULES

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

# Formulas that are not drawn, have no end, or are drawn as an error; and TeX that a reader would see.
FORMULAS = r"""(() => {
  const sources = [...document.querySelectorAll('.bd-article .math')];
  const texts = document.createTreeWalker(document.querySelector('.bd-article'), NodeFilter.SHOW_TEXT);
  let words = '';
  for (let text; text = texts.nextNode();)
    if (!text.parentElement.closest('pre, code, script, style')) words += text.data;
  return {
    sources: sources.length,
    unset: sources.filter(e => !e.querySelector('.katex-html') || e.matches('div:not(:has(> wbr))'))
      .map(e => e.textContent.slice(0, 80)),
    wrong: [...document.querySelectorAll('.katex-error')].map(e => e.textContent),
    raw: words.match(/\\(frac|d?tfrac|theta|eta|gamma|begin|nabla|mathrm)\b/g) || [],
  };
})()"""

# Boxes that hold more than they show: each must scroll, say at which side there is more, and be reached by the Tab key.
# `formulas` of them are formulas, which must begin where the box does.
CUT = """(() => {
  const boxes = [...document.querySelectorAll('.bd-article :is(div.math, pre, table, .scroll, .output)')]
    .filter(e => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1)
    .filter(e => getComputedStyle(e).overflowX !== 'visible');
  const left = e => e.getBoundingClientRect().left;
  const begins = e => left(e.querySelector('.ln-display, .ln-lines')) > left(e) - 1;
  const said = e => e.dataset.more && e.tabIndex === 0 && getComputedStyle(e).maskImage !== 'none';
  return {
    formulas: boxes.filter(e => e.matches('.math')).map(e => `${e.scrollWidth} in ${e.clientWidth}`),
    headless: boxes.filter(e => e.matches('.math') && !begins(e)).map(e => e.textContent.slice(0, 80)),
    silent: boxes.filter(e => !said(e)).map(e => e.outerHTML.slice(0, 120)),
  };
})()"""

# Formulas in lines of text: those that leave their paragraph or scroll; and punctuation at the start of a line.
LINES = r"""(() => {
  const inline = [...document.querySelectorAll('.bd-article span.math')].filter(e => e.getClientRects().length);
  const home = e => e.closest('p, li, td, th, dt, dd, h1, h2, h3, h4, summary, div').getBoundingClientRect();
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const orphans = [];
  for (const formula of inline) {
    const after = formula.nextSibling, bases = formula.querySelectorAll('.katex-base');
    const text = after && after.nodeType === Node.TEXT_NODE ? after : formula.parentElement.nextSibling;
    if (!text || text.nodeType !== Node.TEXT_NODE || !/^[,.;:!?)\]]/.test(text.data)) continue;
    const range = document.createRange();
    range.setStart(text, 0);
    range.setEnd(text, 1);
    if (range.getBoundingClientRect().left < bases[bases.length - 1].getBoundingClientRect().right - 2)
      orphans.push(formula.textContent.slice(0, 40) + text.data.slice(0, 20));
  }
  return {
    inline: inline.length,
    wide: inline.filter(e => [...e.querySelectorAll('.katex-base')]
      .some(part => part.getBoundingClientRect().right > home(e).right + 1)).map(e => e.textContent.slice(0, 60)),
    boxes: inline.filter(e => [e, e.querySelector('.katex-html')].some(scrolls)).map(e => e.textContent.slice(0, 60)),
    orphans,
  };
})()"""

READ = """document.querySelectorAll('.katex').forEach(
  e => e.replaceWith(e.querySelector('.katex-mathml').textContent))"""

# Nine of ten spans of a chapter are words of code, those of an API page are of signatures, and to judge a colour takes
# axe a millisecond: of the visible ones with the same classes all the way up, one stays, and of hidden code nothing.
# That wide code scrolls by the Tab key is asked by CUT.
TOKENS = """(() => {
  const seen = new Set();
  const way = e => (e.matches('.bd-article') ? '' : `${way(e.parentElement)}<${e.className}`);
  const codes = [...document.querySelectorAll('.bd-article :is(pre, dt.sig)')];
  const laid = codes.map((code) => [code, code.getClientRects().length > 0]);  // asked before anything changes
  for (const [code, shown] of laid) {
    const tokens = [...code.querySelectorAll('span')].filter(span => !span.querySelector('a'));
    const fresh = new Set(tokens.filter((token) => {
      const kind = way(token) + (token.getAttribute('style') ?? '');
      return shown && token.textContent.trim() && !seen.has(kind) && seen.add(kind);
    }));
    for (const token of tokens) if (![...fresh].some((kept) => token.contains(kept))) token.remove();
    const gaps = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), blank = [];
    while (gaps.nextNode()) if (!gaps.currentNode.data.trim()) blank.push(gaps.currentNode);
    blank.forEach((gap) => gap.remove());
  }
})()"""

# To judge colours takes axe longer than all its other rules. Each pair of ink and ground is judged once: `note` notes
# how each element's own text looks in the theme that is on, `thin` empties whatever looks, in every theme noted, as
# something before it, or as what axe found sound on an earlier page. What keeps its text must keep its look; therefore
# the empty ones stay, and count as children. Fields stay whole, and what leaves the flow and may lie on other things.
# Words of a drawing go: axe calls their ground a picture and does not judge them.
LOOKS = """(() => {
  const inks = new Map(), fields = 'input, select, textarea';
  let grounds;
  const ground = (e) => {
    if (!e) return '';
    if (!grounds.has(e)) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position } = getComputedStyle(e);
      const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode].join();
      const above = ground(e.parentElement), out = /absolute|fixed/.test(position);
      const part = own === 'rgba(0, 0, 0, 0),none,1,none,normal' ? above : `${above}<${own}`;
      grounds.set(e, out ? `${part} aloft` : part);
    }
    return grounds.get(e);
  };
  const ink = (e) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    return [color, fontSize, fontWeight, textShadow, ground(e)].join();
  };
  const told = (e) => e.getClientRects().length
    && [...e.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  const all = () => [...document.body.querySelectorAll('*')];
  return {
    note() {
      grounds = new Map();
      for (const e of all()) if (told(e) && !e.ownerSVGElement) inks.set(e, [...(inks.get(e) ?? []), ink(e)]);
    },
    thin(known) {
      const looks = new Map(), told = new Set(known), met = new Set(), kept = new Set(), way = new Set();
      for (const [e, seen] of inks) {
        const look = seen.join('|');
        if (!e.closest(fields) && !look.includes('aloft')) {
          met.add(look);
          if (looks.has(look) || told.has(look)) continue;
          looks.set(look, e);
        }
        kept.add(e);
        for (let parent = e; parent; parent = parent.parentElement) way.add(parent);
      }
      for (const e of all()) if (!way.has(e) && !e.closest(fields)) e.replaceChildren();
      grounds = new Map();
      const changed = [...looks].filter(([look, e]) => !look.endsWith(`|${ink(e)}`));
      const fresh = [...looks.keys()];
      return { judged: kept.size, looks: met.size, of: inks.size, fresh, changed: changed.map(([, e]) => e.outerHTML) };
    },
  };
})()"""

SOUND: set[str] = set()  # looks of pages on which axe found nothing

# Links in a text that nothing but their colour tells from it; buttons and marks are none of its words.
PLAIN = """[...document.querySelectorAll('.bd-article :is(p, li, dd, td) a[href]')]
  .filter(e => !e.matches('.headerlink, .sd-btn, .ln-check') && e.textContent.trim() && e.getClientRects().length)
  .filter(e => !getComputedStyle(e).textDecorationLine.includes('underline')).map(e => e.outerHTML.slice(0, 160))"""

AXE = """axe.run(document, %s).then(found => found.violations.map(v =>
  `${v.impact} ${v.id}: ${v.nodes.length} times, as ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`))"""


@cache
def _axe() -> str:
    for modules in MODULES:
        if (path := modules / "axe-core" / "axe.min.js").is_file():
            return path.read_text("utf-8") + ";true"
    raise FileNotFoundError("axe-core is not here; `python book/_tools/vendor.py` fetches it")


def _asked(page: Page, **options: Any) -> list[str]:
    return list(page.evaluate(AXE % json.dumps({"resultTypes": ["violations"], "preload": False, **options})))


def put_on(page: Page, scheme: Scheme) -> None:
    """Let the reader prefer a theme; to ask for the one that is on costs as much as a change."""
    on = f"document.documentElement.dataset.theme === '{scheme}'"
    if not page.evaluate(on):
        page.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_until(on)


def violations(page: Page) -> dict[str, Any]:
    """What axe finds in a page from a file in the light theme, and of colours in both.

    The page is spoilt: formulas become words, and what looks the same is said once.
    """
    page.evaluate(READ)  # axe knows no MathML, and needs minutes to go through the parts of drawn formulas
    page.evaluate(TOKENS)
    page.evaluate(_axe())  # as a reader's tools come, from outside: a page runs no script but its own
    put_on(page, "light")
    slow = {"color-contrast": {"enabled": False}, "link-in-text-block": {"enabled": False}}  # PLAIN asks for the second
    findings = {"light": _asked(page, rules=slow), "dark": []}
    page.evaluate(f"(() => {{ window.looks = {LOOKS}; looks.note(); }})()")
    put_on(page, "dark")
    page.evaluate("looks.note()")
    thinned = page.evaluate(f"looks.thin({json.dumps(sorted(SOUND))})")
    assert thinned["changed"] == [] and thinned["looks"] > 5, thinned
    findings["dark"] = _asked(page, runOnly=["color-contrast"])
    put_on(page, "light")
    findings["light"] += _asked(page, runOnly=["color-contrast"])
    if findings == {"light": [], "dark": []}:
        SOUND.update(thinned["fresh"])
    return findings
