"""Files that are written whole or not at all: killed writers, full disks, several at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lossnav import _writing

WRITER = """
import sys, time
from pathlib import Path
from lossnav._writing import replacing

with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    time.sleep(60)
"""


def write(target, content):
    with _writing.replacing(target) as stream:
        stream.write(content)


def test_the_old_content_stays_until_the_block_ends_well(tmp_path):
    target = tmp_path / "new" / "file"
    write(target, b"old")
    with pytest.raises(KeyError), _writing.replacing(target) as stream:
        stream.write(b"new")
        raise KeyError
    assert target.read_bytes() == b"old"
    with _writing.replacing(target) as stream:
        stream.write(b"new")
        stream.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new" and list(target.parent.iterdir()) == [target]


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_tidies_up(tmp_path):
    target = tmp_path / "a[b].json"  # a name that is a pattern, too
    write(target, b"old")
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(target)])
    while not any(part.stat().st_size for part in _writing.parts(target)):
        time.sleep(0.02)
    write(target, b"beside it")  # the other one is still writing: its part is not touched
    assert len(_writing.parts(target)) == 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert target.read_bytes() == b"beside it"
    write(target, b"new")
    assert target.read_bytes() == b"new" and list(tmp_path.iterdir()) == [target]


def test_links_are_followed_and_what_is_no_regular_file_is_left_alone(tmp_path):
    (tmp_path / "there").mkdir()
    link, real = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to(real)
    for content in (b"first", b"second"):
        write(link, content)
        assert link.is_symlink() and real.read_bytes() == content
    assert sorted(tmp_path.rglob("*")) == [link, tmp_path / "there", real]
    ring, end = tmp_path / "ring", tmp_path / "end"
    ring.symlink_to(end)
    end.symlink_to(ring)
    for go in (_writing.check_place, lambda target: write(target, b"")):
        with pytest.raises(OSError, match=f"symbolic links: '{ring}'"):
            go(ring)
    assert ring.is_symlink() and end.is_symlink()
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path(os.devnull)):
        for go in (_writing.check_place, lambda target: write(target, b"")):
            with pytest.raises(OSError, match=rf"Not a regular file: '{place}'"):
                go(place)
    assert (tmp_path / "pipe").is_fifo() and Path(os.devnull).is_char_device()


def test_where_files_have_no_locks_only_old_parts_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(_writing, "fcntl", None)
    young, old = tmp_path / "file.1.part", tmp_path / "file.2.part"
    for part in (young, old):
        part.write_bytes(b"x")
    os.utime(old, (0, 0))
    write(tmp_path / "file", b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "file.1.part"]


def test_many_writers_of_one_file(tmp_path):
    target, contents = tmp_path / "file", [bytes([k]) * 50_000 for k in range(8)]
    errors = []

    def work(content):
        try:
            for _ in range(10):
                write(target, content)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and target.read_bytes() in contents and list(tmp_path.iterdir()) == [target]


def test_permissions_are_those_of_the_user_s_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_errors_name_the_file_that_was_wanted(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for target, kind in ((tmp_path / "folder", IsADirectoryError), (tmp_path / "file" / "below", NotADirectoryError)):
        with pytest.raises(kind) as caught:
            write(target, b"")
        assert caught.value.filename == str(target)
        with pytest.raises(kind, match=target.name):
            _writing.check_place(target)
    _writing.check_place(tmp_path / "file")
    code = """if True:
        import resource, sys
        from pathlib import Path
        from lossnav._writing import replacing
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with replacing(Path(sys.argv[1])) as stream:
            stream.write(bytes(5000))
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "big")], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stderr.rstrip().endswith(f"File too large: '{tmp_path / 'big'}'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
