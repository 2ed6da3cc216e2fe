"""The icons that pages use, as one style sheet: the theme's script of 1.5 MB holds two thousand."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

SOLID = (
    "angle-left", "angle-right", "arrow-up", "bars", "chevron-down", "circle-half-stroke", "code", "download",
    "expand", "file", "file-pdf", "lightbulb", "list", "magnifying-glass", "moon", "rocket", "sun", "xmark",
)  # fmt: skip
BRANDS = ("github",)

SHEET = """\
/* Icons: Font Awesome Free, CC BY 4.0, https://fontawesome.com */
.fa-solid, .fas, .fa-brands, .fab {
  display: inline-block; width: 1.25em; height: 1em; vertical-align: -0.125em; background: currentcolor;
  -webkit-mask: var(--ln-icon) center / contain no-repeat; mask: var(--ln-icon) center / contain no-repeat;
}
"""


def stylesheet(package: Path) -> str:
    """The sheet, from the drawings of the npm package."""
    rules = [SHEET]
    for folder, names in (("solid", SOLID), ("brands", BRANDS)):
        for name in names:
            drawing = (package / "svgs" / folder / f"{name}.svg").read_text(encoding="utf-8")
            start = drawing.index("<!--")  # the licence is said once, above
            drawing = drawing[:start] + drawing[drawing.index("-->") + 3 :]
            rules.append(f'.fa-{name} {{ --ln-icon: url("data:image/svg+xml,{quote(drawing)}"); }}\n')
    return "".join(rules)
