"""Sphinx extension: pages without what the theme brings and no page of this book needs.

The theme's templates name a script with all icons (1.5 MB; ``icons.css`` has those in use) and, twice, the settings of
an extension that runs cells through a public server. Pictures outside of the first screen wait until they are near.
Explorables come with small scripts. Each picture has a copy for the dark theme. A page has its theme from its first
frame on. What the templates say wrongly to those who listen is put right.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from functools import cache, partial
from pathlib import Path
from typing import Any

from lossnav_bundles import with_bundles
from lossnav_dark import dark_copy
from lossnav_policy import policed
from PIL import Image
from sphinx.application import Sphinx

DROPPED = (
    re.compile(r"\s*<script defer[^>]*fontawesome\.js[^>]*></script>"),
    re.compile(r"\s*<script[^>]*>\s*const THEBE_JS_URL.*?</script>", re.DOTALL),
    re.compile(r'\s*<script async="async"[^>]*sphinx-thebe\.js[^>]*></script>'),
    re.compile(r"\s*<link[^>]*sphinx-thebe\.css[^>]*/>"),
    re.compile(r'\s*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName = [^<]*</script>', re.DOTALL),
)
SAID = (  # to those who listen
    # a name that is not what is written on it: whoever speaks what he sees would not reach it
    (re.compile(r'(<summary) aria-label="Toggle hidden content"'), r"\1"),
    (re.compile(r'(<button class="[^"]*search-button-field[^"]*") title="Search" aria-label="Search"'), r"\1"),
    # the list of references: a role that is no more
    (re.compile(r'(<div class="citation" id="[^"]+" role=)"doc-biblioentry"'), r'\1"listitem"'),
    # a header of nothing is no header
    (re.compile(r"<th( class=\"[^\"]*\")?>(\s*<p>\s*</p>\s*)</th>"), r"<td\1>\2</td>"),
    # a table that scrolls is no landmark
    (re.compile(r'(<div class="scroll" tabindex="0" role=)"region"'), r'\1"group"'),
    # the parameters of a long signature, a line each: a list that defines nothing
    (re.compile(r'(<span class="sig-paren">\(</span>\s*<dl)>'), r'\1 role="presentation">'),
    # a button that unfolds pages in the sidebar
    (re.compile(r'<summary(?=><span class="toctree-toggle")'), '<summary aria-label="Its pages"'),
    # a switch says from the beginning whether it is on
    (re.compile(r'(<button onclick="[^"]*ln-all-code[^"]*")'), r'\1 aria-pressed="false"'),
    # everything on a page belongs to a landmark
    (re.compile(r'(<div id="pst-primary-sidebar") (class=)'), r'\1 role="complementary" aria-label="The book" \2'),
)
# The theme's first script leaves "auto" to its last one: a page was drawn in no theme's colours, then as a whole again.
THEME = re.compile(r'dataset\.theme = localStorage\.getItem\("theme"\) \|\| "auto";')
AT_ONCE = """dataset.theme =
      { light: "light", dark: "dark" }[document.documentElement.dataset.mode] ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");"""
# Nothing of these is needed before the page is there; the host mounts explorables while it is parsed. Pages other than
# the search's name its index, too, and never use it.
EAGER = re.compile(r'<script(?= [^>]*src="(?![^"]*(?:documentation_options|host)\.js))(?![^>]* (?:defer|async))')
SEARCHES = re.compile(r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>')
TWIN = re.compile(r'src="data:image/svg\+xml;base64,(?P<data>[\w+/=]+)" style="(?P<style>width:100%;height:auto[^"]*)"')
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
PICTURE = re.compile(r'<img (?P<before>[^>]*)src="(?P<source>[^":]*_images/[^"]+)"(?P<after>[^>]*?)\s*/?>')
SEARCHED = '[".headerlink", "script", "style"]'
CLASSES = re.compile(r'class="([^"]*)"\s*')
ALSO = (
    "_static/scripts/fontawesome.js", "_static/scripts/fontawesome.js.map", "_static/sphinx-thebe.js",
    "_static/lib/katex/katex.mjs",
)  # fmt: skip


@cache
def _size(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        return picture.size


def _own_file(twin: re.Match[str], root: Path, folder: Path) -> str:
    """Return the picture of an explorable as a file, which only those fetch who see it."""
    drawn = base64.b64decode(twin["data"])
    path = root / "_images" / f"twin-{hashlib.sha256(drawn).hexdigest()[:12]}.svg"
    path.write_bytes(drawn)
    size = SIZE.search(drawn.decode("utf-8"))
    assert size is not None
    source = os.path.relpath(path, folder)
    return (
        f'src="{source}" width="{size[1]}" height="{size[2]}" loading="lazy" decoding="async" style="{twin["style"]}"'
    )


def lighter(page: str, folder: Path) -> str:
    """Return the page of a folder without what it does not need."""
    for pattern in DROPPED:
        page = pattern.sub("", page)
    for pattern, better in SAID:
        page = pattern.sub(better, page)
    page = EAGER.sub("<script defer", THEME.sub(AT_ONCE, page))

    def lazy(match: re.Match[str]) -> str:
        path = folder / match["source"]
        if path.suffix not in (".png", ".jpg", ".webp") or "loading=" in match[0]:
            return match[0]
        width, height = _size(path.resolve())
        rest = match["after"].replace('style="', f'style="aspect-ratio: {width} / {height}; ', 1)
        if rest == match["after"]:
            rest += f' style="aspect-ratio: {width} / {height}"'
        before, classes = CLASSES.sub("", match["before"]), "".join(CLASSES.findall(match["before"]))
        if "ln-photo" in classes:  # nobody wants to see its negative
            return f'<img {match["before"]}src="{match["source"]}"{rest} loading="lazy" decoding="async" />'
        dark = match["source"].removesuffix(path.name) + dark_copy(path.resolve()).name
        return "".join(
            f'<img {before}class="{classes} {kind}" src="{source}"{rest} loading="lazy" decoding="async" />'
            for kind, source in (("ln-light", match["source"]), ("ln-dark dark-light", dark))
        )

    return PICTURE.sub(lazy, page)


def plain_snippets(script: str) -> str:
    """Return the theme's search without what no one reads aloud: formulas as drawn (their MathML stays), marks, twins.

    Raises:
        ValueError: the script is another than the one that this was written for.
    """
    if SEARCHED not in script:
        raise ValueError(f"searchtools.js has no {SEARCHED}: what does its htmlToText remove now?")
    return script.replace(SEARCHED, SEARCHED.replace("]", ', ".katex-html", ".ln-check", ".lossnav-fallback"]'))


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """Go through the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    for path in root.rglob("*.html"):
        page = with_bundles(path.read_text(encoding="utf-8"))
        page = TWIN.sub(partial(_own_file, root=root, folder=path.parent), page)
        if path.name != "search.html":
            page = SEARCHES.sub("", page)
        path.write_text(policed(lighter(page, path.parent)), encoding="utf-8")
    for name in ALSO:
        (root / name).unlink(missing_ok=True)
    search = root / "_static" / "searchtools.js"
    search.write_text(plain_snippets(search.read_text(encoding="utf-8")), encoding="utf-8")


def write_side_by_side(app: Sphinx, env: Any) -> None:
    """Write pages on all cores. They are read on one: proofs and exercises do not bring together what others read."""
    app.parallel = os.cpu_count() or 1


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_js_file("scrolls.js", loading_method="defer")
    app.connect("env-updated", write_side_by_side)
    app.connect("build-finished", lighten)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
