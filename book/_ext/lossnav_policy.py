"""What a page may do: its policy, for browsers to hold it to.

A page runs the scripts of the book and those that stand in it, each known by its hash, and asks no other host for
anything. Formulas are set with styles on their parts, so that styles are free; so is a picture in the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape

INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r'\son[a-z]+="([^"]*)"')
HEAD = '<meta charset="utf-8" />'


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policed(page: str) -> str:
    """Return the page with its policy, of the scripts that it has now."""
    known = dict.fromkeys(map(_hash, [*INLINE.findall(page), *map(unescape, HANDLER.findall(page))]))
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "'unsafe-hashes'", *known]),  # so that handlers are known by hashes, too
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
    }
    directives = "; ".join(f"{name} {value}" for name, value in policy.items())
    return page.replace(HEAD, f'{HEAD}<meta http-equiv="Content-Security-Policy" content="{directives}" />', 1)
