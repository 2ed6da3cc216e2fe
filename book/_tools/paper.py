"""The whole book as one PDF, and as one ZIP that is read without a network.

    python book/_tools/paper.py pdf [--html _build/html]      -> _build/lossnav.pdf
    python book/_tools/paper.py zip [--html _build/html]      -> _build/lossnav.zip

The pages of the built book are laid behind one another, the links between them lead to places in the same document, and
the browser prints it; explorables are shown as their pictures.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from paths import BUILD, pages

ARTICLE = re.compile(r'<article class="bd-article">(.*?)</article>', re.DOTALL)
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
ID = re.compile(r'(<[^<>]*\s(?:id|aria-labelledby|aria-describedby|for)=)"([^"\s]+)"')
LINK = re.compile(r'(<(?:a|use)\b[^<>]*\shref=)"([^"]*)"')
SOURCE = re.compile(r'(<img\b[^<>]*\ssrc=)"((?!data:|https?:)[^"]*)"')
STYLE = """
@page { size: A4; margin: 18mm 16mm; }
html, body { background: #fff; }
body { margin: 0; font-size: 10.5pt; }
article.bd-article { padding: 0; max-width: none; break-before: page; }
article.bd-article:first-of-type { break-before: auto; }
article.bd-article details:not([open]) > :not(summary) { display: none; }
.bd-article :is(figure, div.math, table, .ln-equation, .lossnav-fallback) { break-inside: avoid; }
.bd-article img { max-width: 13cm !important; display: block; margin-inline: auto; }
.bd-article aside.margin, .bd-article div.margin { float: none; width: auto; margin: 1em 2em; }
.bd-article pre { white-space: pre-wrap; }
.headerlink, .ln-dark, .ln-check, .prev-next-area, button { display: none !important; }
h1, h2, h3, h4 { break-after: avoid; }
"""
FOOTER = """<div style="font-size: 8px; width: 100%; text-align: center"><span class="pageNumber"></span></div>"""


def _key(name: str, anchor: str = "") -> str:
    """The id in the one document of a place on a page."""
    return f"{name.replace('/', '-')}--{anchor}" if anchor else name.replace("/", "-")


def _target(address: str, name: str, known: set[str]) -> str:
    """Where a link of a page leads: into the one document, or as before."""
    link = urlsplit(address)
    if link.scheme or link.netloc:
        return address
    page = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(link.path))) if link.path else name
    page = page.removesuffix(".html")
    return f"#{_key(page, link.fragment)}" if page in known else address


def _article(folder: Path, name: str, known: set[str]) -> str:
    """The text of a page, its ids and addresses as they are in the one document."""
    page = (folder / f"{name}.html").read_text(encoding="utf-8")
    article = ARTICLE.search(SCRIPT.sub("", page))
    if article is None:
        raise ValueError(f"{name}.html has no article: it is no page of the book")
    place = f"{posixpath.dirname(name)}/"
    text = ID.sub(lambda m: f'{m[1]}"{_key(name, m[2])}"', article[1]).replace("url(#", f"url(#{_key(name)}--")
    text = LINK.sub(lambda m: f'{m[1]}"{escape(_target(unescape(m[2]), name, known))}"', text)
    text = SOURCE.sub(lambda m: f'{m[1]}"{posixpath.normpath(place + m[2])}"', text).replace(' loading="lazy"', "")
    return f'<article class="bd-article" id="{_key(name)}">{text}</article>'


def whole(folder: Path, names: list[str]) -> str:
    """The one document of some pages, to lie beside the book's index."""
    page = (folder / f"{names[0]}.html").read_text(encoding="utf-8")
    sheets = re.findall(r'<link[^>]*rel="(?:preload )?stylesheet"[^>]*>', page)
    sheets = [re.sub(r'href="(?:\.\./)*', 'href="', sheet) for sheet in sheets]
    text = "\n".join(_article(folder, name, set(names)) for name in names)
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>LossNav</title>'
        f"{''.join(sheets)}<style>{STYLE}</style></head><body><main>{text}</main></body></html>"
    )


def write_pdf(folder: Path, target: Path, names: list[str]) -> None:
    """Print pages of the book of a folder.

    Raises:
        RuntimeError: there is no browser.
    """
    from chrome import ALL_PICTURES, Browser  # the book alone is built, and packed, without Playwright

    document = folder / "whole-book.html"
    try:
        document.write_text(whole(folder, names), encoding="utf-8")
        with Browser() as browser, browser.page(scripts=False) as page:
            page.open(document.resolve().as_uri())
            page.evaluate(ALL_PICTURES)
            page.tab.pdf(
                path=target, prefer_css_page_size=True, print_background=True, outline=True, tagged=True,
                display_header_footer=True, header_template="<span></span>", footer_template=FOOTER,
            )  # fmt: skip
    finally:
        document.unlink(missing_ok=True)


def files(folder: Path) -> Iterator[Path]:
    """The files that a reader needs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).parts[0] not in (".doctrees", ".buildinfo", "reports"):
            yield path


def pack(target: Path, top: str, parts: Iterable[tuple[str, bytes]]) -> None:
    """Write a ZIP of names and contents below one folder; the same parts give the same file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, held in parts:
            entry = zipfile.ZipInfo(f"{top}/{name}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, held)


def write_zip(folder: Path, target: Path) -> None:
    """Pack the book of a folder."""
    pack(target, "lossnav", ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files(folder)))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kind", choices=("pdf", "zip"))
    parser.add_argument("--html", type=Path, default=BUILD / "html")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not (options.html / "index.html").is_file():
        print(f"paper: {options.html} has no index.html; build the book first: make book", file=sys.stderr)
        return 1
    target = options.output or BUILD / f"lossnav.{options.kind}"
    if options.kind == "pdf":
        write_pdf(options.html, target, pages())
    else:
        write_zip(options.html, target)
    print(f"paper: {target} ({target.stat().st_size / 2**20:.1f} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
