"""Sphinx extension: pages that were put together are found at their old addresses, too.

``moved_pages`` of the configuration has the new page of each old one. What stands at the old address leads on at once,
with the mark behind the ``#``, since figures and exercises keep their labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<title>{title}: moved</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="{base}{new}.html">
<meta http-equiv="refresh" content="1; url={there}">
<script>location.replace("{there}" + location.hash)</script>
</head>
<body><p>This page is now part of <a href="{there}">{title}</a>.</p></body>
</html>
"""


def lead_on(app: Sphinx, failed: Exception | None) -> None:
    """Write what stands at the old addresses.

    Raises:
        ConfigError: an old page is there still, or a new one is not.
    """
    if failed or app.builder.format != "html":
        return
    for old, new in app.config.moved_pages.items():
        if old in app.env.found_docs or new not in app.env.found_docs:
            raise ConfigError(f"moved_pages says that {old} is part of {new}: the first must be gone, the second there")
        there = app.builder.get_relative_uri(old, new)
        title = app.env.titles[new].astext()
        text = PAGE.format(title=title, base=app.config.html_baseurl, new=new, there=there)
        Path(app.outdir, f"{old}.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the configuration and the writing."""
    app.add_config_value("moved_pages", {}, "html", types=(dict,))
    app.connect("build-finished", lead_on, priority=400)  # before pages get their policy
    return {"parallel_read_safe": True, "parallel_write_safe": True}
