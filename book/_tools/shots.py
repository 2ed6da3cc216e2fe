"""Pictures of every page, whole length, to look at.

python book/_tools/shots.py OUTDIR [--html _build/html] [--pages book/index ...] [--schemes light dark]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from chrome import PHONE, WIDE, Browser
from paths import BUILD, pages

SCHEMES = ("light", "dark")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--html", type=Path, default=BUILD / "html")
    parser.add_argument("--pages", nargs="*", default=pages())
    parser.add_argument("--schemes", nargs="*", default=list(SCHEMES), choices=SCHEMES)
    options = parser.parse_args()
    options.outdir.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for name in options.pages:
            url = (options.html / f"{name}.html").resolve().as_uri()
            for size in (WIDE, PHONE):
                for scheme in options.schemes:
                    with browser.page(size, dark=scheme == "dark") as page:
                        page.open(url)
                        target = options.outdir / f"{Path(name).name}-{size[0]}-{scheme}.png"
                        page.picture(target)
                        print(target)


if __name__ == "__main__":
    main()
