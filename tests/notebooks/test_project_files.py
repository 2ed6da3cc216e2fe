"""One list of pins, one repository address, one test command: what is said twice is said alike."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from paths import ROOT, config

TEXT = {".md", ".yml", ".yaml", ".toml", ".cff", ".py", ".ipynb", ".json", ".js", ".css", ".txt", ""}


def tracked() -> list[Path]:
    """The project's own text files, as git knows them; outside a checkout, as they lie there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        skipped = {"_build", "_vendor", "node_modules", ".venv", "__pycache__"}
        found = [p for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.relative_to(ROOT).parts)]
    else:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in found if path.suffix in TEXT and path.is_file()]


def test_the_repository_has_one_address() -> None:
    url = config()["repository"]["url"]
    owner, name = url.removeprefix("https://github.com/").split("/")
    mentions = re.compile(rf"github\.com/([\w.-]+)/({re.escape(name)})\b")
    found = 0
    for path in tracked():
        for other, _ in mentions.findall(path.read_text(encoding="utf-8")):
            found += 1
            assert other == owner, f"{path.relative_to(ROOT)} names another repository than _config.yml"
    assert found > 3


def test_environment_has_no_pins_of_its_own() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert {re.split("[=<>]", entry)[0] for entry in conda} == {"python", "pip"}
    assert pip == ["-r requirements.txt", "."]


def test_every_requirement_is_pinned_once() -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] not in "#"]
    names = [re.fullmatch(r"([\w.-]+)==[\w.]+", line) for line in lines]
    assert all(names), [line for line, name in zip(lines, names, strict=True) if not name]
    plain = [name[1].lower().replace("_", "-") for name in names if name]
    assert len(plain) == len(set(plain))


def test_workflows_and_ci_call_make() -> None:
    for path in [*(ROOT / ".github" / "workflows").glob("*.yml")]:
        jobs = yaml.safe_load(path.read_text())["jobs"]
        commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        assert commands
        assert all(re.fullmatch(r"make [a-z]+", command.strip()) for command in commands), commands
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    test_command = re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert test_command, "the README does not say how to test"
    assert "\nmake test" in (ROOT / ".ci" / "run").read_text()


def test_npm_lock_pins_hashes_and_no_addresses() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in entry and "resolved" not in entry for entry in packages.values())
    wanted = json.loads((ROOT / "package.json").read_text())["dependencies"]
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())


@pytest.mark.parametrize("page", ["README.md", "book/index.md"])
def test_the_papers_are_credited(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for author in ("Vastola", "Gershman", "Rajan", "Kunin", "Tanaka"):
        assert author in text
    assert "independent implementation" in text


def test_the_landing_page_names_the_pages_that_load_records() -> None:
    text = (ROOT / "book/index.md").read_text(encoding="utf-8")
    told = re.search(r"(\w+) pages load such records(.*?)say so there", text, re.DOTALL)
    assert told is not None
    named = set(re.findall(r"\]\(([\w-]+)\.ipynb\)", told[2]))
    loading = re.compile(r"\b(records|tables)\.load\(")
    assert named == {page.stem for page in (ROOT / "book/myst").glob("*.md") if loading.search(page.read_text("utf-8"))}
    assert (
        told[1]
        == {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten", 11: "eleven"}[len(named)]
    )
