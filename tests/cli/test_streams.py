"""The command in odd surroundings: pipes that close, full disks, missing streams, terminals without Greek letters."""

from __future__ import annotations

import json
import os
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
    return subprocess.run(
        ["bash", "-c", f'lossnav() {{ "{COMMAND}" "$@"; }}; {line}'], capture_output=True, text=True, cwd=cwd,
        timeout=fresh.PATIENCE, env={**usual, "LOSSNAV_DATA": "", **environment},
    )  # fmt: skip


def written(folder: Path, name: str = "a.json", **changes) -> Path:
    """Write a record by hand."""
    results = [{"train_loss": [1.0], "test_loss": [1.0], "test_accuracy": [0.5], "settings": {"arithmetic": "x"}}]
    content = {
        "command": "lossnav train", "config": {"lr": 0.1}, "seeds": [0], "data": {"label": "digits (8×8)"},
        "results": results, "duration": 1.0, "device": "cpu", "revision": "unknown", "versions": {"python": "3"},
        "study": "", **changes,
    }  # fmt: skip
    path = folder / name
    path.write_text(json.dumps({"format": 2, "sha256": records._digest(content), **content}), encoding="utf-8")
    return path


@pytest.mark.parametrize("words", ["--help", "solve --help", "records a.json", "records a.json --json"])
def test_a_reader_that_has_left_already_is_no_error(tmp_path, words):
    """The output fits into a buffer, so that the pipe is found broken when Python leaves, unless somebody looks."""
    written(tmp_path)
    done = shell(f"(sleep 0.2; lossnav {words}; echo $? >code) | true", tmp_path)
    assert done.stderr == "" and (tmp_path / "code").read_text() == "0\n"


def test_an_exit_code_is_not_lost_with_the_reader(tmp_path):
    written(tmp_path, "b.json")
    (tmp_path / "bad.json").write_text("{}")
    shell("(sleep 0.2; lossnav records . 2>/dev/null; echo $? >code) | true", tmp_path)
    assert (tmp_path / "code").read_text() == "1\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["--help", "records a.json"])
def test_a_full_disk_is_one_line_and_exit_code_1(tmp_path, words):
    written(tmp_path)
    done = shell(f"lossnav {words} >/dev/full", tmp_path)
    assert done.returncode == 1 and done.stderr == "lossnav: [Errno 28] No space left on device\n"


@pytest.mark.slow
def test_missing_streams_change_nothing_else(tmp_path):
    written(tmp_path)
    done = shell("lossnav records no.json 2>&-; echo $?; lossnav records a.json >&- 2>&-; echo $?", tmp_path)
    assert done.stdout == "1\n0\n" and done.stderr == ""
    closed = "import os, sys\nos.close(2)\nsys.stderr = None\n"  # as Python begins where it finds none
    done = fresh.run(closed + fresh.COMMAND, "train", *SMALL.split(), "--output", "new.json", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "record         new.json"
    assert records.load(tmp_path / "new.json").seeds == [0]


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_terminals_that_lack_letters(tmp_path, encoding):
    written(tmp_path, data={"label": "digits θ 8×8"})
    for words in ("solve --help", "records a.json"):
        done = shell(f"lossnav {words} | iconv -f {encoding} -t utf-8", tmp_path, PYTHONIOENCODING=encoding)
        assert done.stderr == "" and done.stdout.count("\n") >= 3 and "\\u03b8" in done.stdout, done
    done = shell("lossnav records a.json --json", tmp_path, PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout)["data"]["label"] == "digits θ 8×8"


@pytest.mark.slow
def test_a_record_is_kept_when_nobody_reads_the_summary(tmp_path):
    broken = (
        "import io, os, sys\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\n"
        "sys.stdout = io.TextIOWrapper(open(1, 'wb', 0, closefd=False), write_through=True)\n"  # as PYTHONUNBUFFERED
    )
    done = fresh.run(broken + fresh.COMMAND, "train", *SMALL.split(), "--quiet", "--output", "run.json", cwd=tmp_path)
    assert done.stderr == "" and done.returncode == 0
    assert records.load(tmp_path / "run.json").results[0]["test_accuracy"]


def test_control_characters_of_a_record_do_not_reach_the_terminal(tmp_path, capsys):
    path = written(tmp_path, data={"label": "x\x1b[2J\ny\ud800"})
    for words in (["records", str(path)], ["records", str(path), str(path)]):
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out and "x\\x1b[2J" in out


@pytest.mark.parametrize("words", [f"train {SMALL} --output", "solve --start 0,1 --output"])
def test_an_output_that_cannot_be_written_is_named_before_the_work(tmp_path, monkeypatch, capsys, words):
    import lossnav.lab.experiment

    monkeypatch.setattr(lossnav.lab.experiment, "run", lambda *_, **__: pytest.fail("it was run"))
    monkeypatch.setattr("lossnav.solve", lambda *_, **__: pytest.fail("it was run"))
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "null.npz").symlink_to(os.devnull)
    for name, why in (
        ("folder.npz", "Is a directory"), ("file/run.npz", "Not a directory"), ("null.npz", "Not a regular file"),
    ):  # fmt: skip
        assert main([*words.split(), str(tmp_path / name)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and why in err and name in err


@pytest.mark.parametrize("word", ["(" * 300 + "1", "-" * 20_000 + "1", "{[1]: 2}", "a\tb", "1 +", "é"])
def test_words_that_are_no_values_stay_words(word):
    assert values.value(word) == word


def test_results_of_any_shape_can_be_listed(tmp_path, capsys):
    shapes = ([], {}, 3, "x", [1], [[]], [{}], [{"settings": {}}], [{"test_accuracy": 0.5}], [{"test_accuracy": {}}],
              [{"settings": {}, "train_loss": [1], "test_loss": [], "test_accuracy": []}])  # fmt: skip
    for n, results in enumerate(shapes):
        path = written(tmp_path, f"{n}.json", results=results)
        assert main(["records", str(path)]) == 0, results
    assert main(["records", str(tmp_path), "--sort", "accuracy"]) == 0
    assert capsys.readouterr().err == ""
