"""The command in odd surroundings: pipes that close, full disks, terminals without Greek letters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fresh
import pytest

from lossnav import records
from lossnav.cli import main, values

COMMAND = Path(sys.executable).with_name("lossnav")
SMALL = "--data digits --optimizer sgd --lr 0.1 --model-option hidden=[4] --train-size 50 --test-size 20"


def shell(line: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run a line of bash in which ``lossnav`` is the command, with Python's usual buffers."""
    usual = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    bash = shutil.which("bash") or "bash"  # that of PATH: Windows would find one of its own before
    return subprocess.run(
        [bash, "-c", f'lossnav() {{ "{COMMAND}" "$@"; }}; {line}'], capture_output=True, text=True, cwd=cwd,
        timeout=fresh.PATIENCE, env={**usual, "LOSSNAV_DATA": "", **environment},
    )  # fmt: skip


def test_a_reader_that_has_left_already_is_no_error(tmp_path):
    """The output fits into a buffer, so that the pipe is found broken when Python leaves, unless somebody looks."""
    done = shell("(sleep 0.2; lossnav solve --help; echo $? >code) | true", tmp_path)
    assert done.stderr == "" and (tmp_path / "code").read_text() == "0\n"


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error():
    done = shell("lossnav solve --gamma 1 --start=0,1 --points 5000 | head -1; exit ${PIPESTATUS[0]}")
    assert done.stdout.startswith("method") and done.stderr == "" and done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line_and_exit_code_1():
    done = shell("lossnav --help >/dev/full")
    assert done.returncode == 1 and done.stderr == "lossnav: [Errno 28] No space left on device\n"


def test_terminals_that_lack_letters():
    done = shell("lossnav solve --help | iconv -f ascii -t utf-8", PYTHONIOENCODING="ascii")
    assert done.stderr == "" and done.stdout.count("\n") >= 3 and "\\u03b8" in done.stdout, done


UNREAD = (
    "import io, os, sys\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\n"
    "sys.stdout = io.TextIOWrapper(open(1, 'wb', 0, closefd=False), write_through=True)\n"  # as PYTHONUNBUFFERED
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "count"), [("train --output runs/run.json", 1), ("sweep --seeds 0,1 --output runs --workers 1", 2)]
)
def test_records_are_kept_when_nobody_reads_what_is_said(tmp_path, words, count):
    done = fresh.run(UNREAD + fresh.COMMAND, *words.split(), *SMALL.split(), "--quiet", cwd=tmp_path)
    assert done.stderr == "" and done.returncode == 0
    kept = [records.load(path) for path in (tmp_path / "runs").glob("*.json")]
    assert len(kept) == count and all(record.results[0]["test_accuracy"] for record in kept)


def test_an_output_that_cannot_be_written_is_named_before_the_work(tmp_path, monkeypatch, capsys):
    import lossnav.lab.experiment

    monkeypatch.setattr(lossnav.lab.experiment, "run", lambda *_, **__: pytest.fail("it was run"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "null").symlink_to(os.devnull)
    for name, why in (("folder", "Is a directory"), ("file/run", "Not a directory"), ("null", "Not a regular file")):
        assert main(["train", *SMALL.split(), "--output", str(tmp_path / name)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and why in err and name in err


@pytest.mark.parametrize("word", ["(" * 300 + "1", "-" * 20_000 + "1", "{[1]: 2}", "a\tb", "1 +", "é"])
def test_words_that_are_no_values_stay_words(word):
    assert values.value(word) == word
