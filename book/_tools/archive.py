"""What is laid down for good, at Zenodo for one: a commit's source with its data and records, the pages, and the PDF.

    python book/_tools/archive.py [--html _build/html] [--pdf _build/lossnav.pdf]      -> _build/lossnav-VERSION.zip

CONTENTS.tsv in it has each file's SHA-256, size and licence; the source is that of the commit, and not what lies about.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from paper import files, pack
from paths import BUILD, ROOT

TEXT = "CC BY 4.0 (text, figures), MIT (code)"
LICENCES = {  # by the beginning of a name, the first that fits
    "source/data/mnist/": "CC BY-SA 3.0",
    "source/data/cifar10/": "none stated by its authors, who ask to be cited: source/data/README.md",
    "source/book/": TEXT,
    "html/_static/": "MIT (ours, KaTeX, Bootstrap, clipboard.js), BSD or MIT (Sphinx, its themes and extensions), "
    "CC BY 4.0 and OFL 1.1 (Font Awesome's icons and fonts)",
    "html/": TEXT,
    "lossnav.pdf": "CC BY 4.0",
    "": "MIT",
}


def licence(name: str) -> str:
    """The licence of a file of the archive."""
    return next(words for begin, words in LICENCES.items() if name.startswith(begin))


def _git(root: Path, *command: str) -> bytes:
    return subprocess.run(["git", *command], cwd=root, check=True, capture_output=True).stdout


def committed(root: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the commit that is checked out.

    Raises:
        ValueError: something is changed or new, so that pages built from it are another source's.
    """
    if changed := _git(root, "status", "--porcelain").decode().splitlines():
        raise ValueError(f"{len(changed)} files differ from the commit ({changed[0].strip()}, …); commit first")
    with tarfile.open(fileobj=io.BytesIO(_git(root, "archive", "HEAD"))) as source:
        for member in source:
            if (opened := source.extractfile(member)) is not None:
                yield f"source/{member.name}", opened.read()


def parts(root: Path, html: Path, pdf: Path) -> Iterator[tuple[str, bytes]]:
    """All names and contents; the list of them comes first."""
    contents = dict(sorted(committed(root)))
    contents |= {f"html/{path.relative_to(html).as_posix()}": path.read_bytes() for path in files(html)}
    contents["lossnav.pdf"] = pdf.read_bytes()
    revision = _git(root, "rev-parse", "HEAD").decode().strip()
    rows = [f"# commit {revision}", "file\tsha256\tbytes\tlicence"]
    rows += [
        f"{name}\t{hashlib.sha256(held).hexdigest()}\t{len(held)}\t{licence(name)}" for name, held in contents.items()
    ]
    yield "CONTENTS.tsv", "\n".join([*rows, ""]).encode()
    yield from contents.items()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--html", type=Path, default=BUILD / "html")
    parser.add_argument("--pdf", type=Path, default=BUILD / "lossnav.pdf")
    options = parser.parse_args()
    for needed in (options.html / "index.html", options.pdf):
        if not needed.is_file():
            print(f"archive: there is no {needed}; make it first: make pdf", file=sys.stderr)
            return 1
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    target = BUILD / f"lossnav-{version}.zip"
    try:
        pack(target, f"lossnav-{version}", parts(ROOT, options.html, options.pdf))
    except ValueError as wrong:
        print(f"archive: {wrong}", file=sys.stderr)
        return 1
    print(f"archive: {target} ({target.stat().st_size / 2**20:.1f} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
