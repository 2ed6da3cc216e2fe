"""Which of the pinned packages have a known vulnerability: the question of pip-audit and npm audit, asked of osv.dev.

    python book/_tools/audit.py

It asks for names and versions of requirements/lock.txt and package-lock.json, in one request, and installs nothing. The
exit status is 1 if something was found; 0 if not, and also where there is no answer, which it says.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from paths import ROOT

ADDRESS = "https://api.osv.dev/v1/querybatch"
Package = tuple[str, str, str]  # ecosystem, name, version


def pinned() -> Iterator[Package]:
    """Yield every package of both locks."""
    lines = (ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lines, re.MULTILINE):
        yield "PyPI", name, version
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    for place, entry in lock["packages"].items():
        if place:
            yield "npm", place.rpartition("node_modules/")[2], entry["version"]


def ask(packages: list[Package]) -> list[list[str]]:
    """Return the identifiers of what is known of each package.

    Raises:
        OSError: there is no answer.
        ValueError: it is none that can be read.
    """
    queries = [{"package": {"ecosystem": kind, "name": name}, "version": version} for kind, name, version in packages]
    wanted = urllib.request.Request(
        ADDRESS, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(wanted, timeout=60) as answer:
        results: list[dict[str, Any]] = json.load(answer)["results"]
    if len(results) != len(packages):
        raise ValueError(f"{len(results)} answers to {len(packages)} questions")
    return [[vulnerability["id"] for vulnerability in result.get("vulns", ())] for result in results]


def main(asked: Callable[[list[Package]], list[list[str]]] = ask) -> int:
    """Ask, and say what came of it."""
    packages = list(pinned())
    try:
        answers = asked(packages)
    except (OSError, ValueError, KeyError) as reason:
        print(f"audit: no answer from {ADDRESS} ({reason}); nothing is known of {len(packages)} packages")
        return 0
    known = [(package, identifiers) for package, identifiers in zip(packages, answers, strict=True) if identifiers]
    for (kind, name, version), identifiers in known:
        print(f"audit: {kind} {name} {version}: {', '.join(identifiers)}")
    print(f"audit: {len(known)} of {len(packages)} packages have a known vulnerability")
    return int(bool(known))


if __name__ == "__main__":
    sys.exit(main())
