"""The wheel by itself, without the repository: it has all that the package needs, and the README runs with it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from email.parser import Parser

import pytest
from paths import ROOT, config

pytestmark = pytest.mark.slow  # each reads what is built first
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUN = """
import doctest, sys
sys.path[:0] = sys.argv[1:3]  # the wheel before what it requires, so that no repository is found
import lossnav
assert lossnav.__file__.startswith(sys.argv[1]), lossnav.__file__
result = doctest.testfile("README.md", module_relative=False, encoding="utf-8")
sys.exit(result.failed or result.attempted < 16)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z", "lossnav", "pyproject.toml", "README.md", "LICENSE"],
                            cwd=ROOT, capture_output=True, check=True).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_it_has_every_file_that_the_package_reads(wheel):
    listed = subprocess.run(["git", "ls-files", "lossnav"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    wanted = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_it_says_what_it_is(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Version"] == PROJECT["version"] and metadata["License-Expression"] == "MIT"
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL"))
    assert links["Repository"] == config()["repository"]["url"]
    assert links["Homepage"].startswith(config()["html"]["baseurl"])
    assert "Typing :: Typed" in metadata.get_all("Classifier")


@pytest.mark.slow
def test_the_readme_runs_with_it_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "README.md").write_bytes((ROOT / "README.md").read_bytes())
    command = [sys.executable, "-I", "-c", RUN, str(tmp_path / "site"), sysconfig.get_path("purelib")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
