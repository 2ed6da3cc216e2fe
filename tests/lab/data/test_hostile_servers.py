"""Servers that never end, hardly begin, or lie about themselves: each is left within limits, and the next one asked."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import re
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from lossnav import data
from lossnav.lab.data import _fetch, _files, _http

CONTENT = gzip.compress(bytes(range(256)) * 40)
DIGEST = hashlib.sha256(CONTENT).hexdigest()
LARGEST = 100_000
# Long enough for a good server on a busy machine.
QUICK = _http.Patience(connect=4, silence=4, answer=2, window=0.8, least=2000, total=120)


class Server(http.server.BaseHTTPRequestHandler):
    """Behaves as the first part of the address says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range")))
        try:
            getattr(self, self.path.split("/")[1])()
        except (BrokenPipeError, ConnectionResetError):
            pass  # nobody listens any more
        finally:
            self.close_connection = True

    def head(self, *lines, status=200):
        self.wfile.write("\r\n".join([f"HTTP/1.1 {status} Yes", *lines, "Connection: close", "", ""]).encode())

    def drip(self, content, pause=0.05):
        while not self.server.stopped.is_set():
            self.wfile.write(content)
            self.wfile.flush()
            if pause:
                time.sleep(pause)

    def good(self):
        self.head(f"Content-Length: {len(CONTENT)}")
        self.wfile.write(CONTENT)

    def length_unsaid(self):
        self.head()
        self.wfile.write(CONTENT)

    def chunked(self):
        self.head("Transfer-Encoding: chunked")
        for k in range(0, len(CONTENT), 500):
            piece = CONTENT[k : k + 500]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def labelled_gzip(self):
        """Some servers say of a .gz file that it is something else, packed; it is wanted as it is."""
        self.head(f"Content-Length: {len(CONTENT)}", "Content-Encoding: gzip")
        self.wfile.write(CONTENT)

    def moved(self):
        self.head("Location: /good/file", "Content-Length: 0", status=302)

    def endless(self):
        self.head()
        self.drip(bytes(1 << 16), pause=0)

    def endless_chunks(self):
        self.head("Transfer-Encoding: chunked")
        self.drip(b"ffff\r\n" + bytes(0xFFFF) + b"\r\n", pause=0)

    def endless_after_a_short_length(self):
        """What is beyond the length that was said is not of this answer."""
        self.head("Content-Length: 100")
        self.drip(bytes(1 << 16), pause=0)

    def huge_by_its_own_word(self):
        self.head(f"Content-Length: {10**13}")
        self.drip(b"x")

    def letter_by_letter(self):
        self.head("Content-Length: 5000")
        self.drip(b"x")

    def letter_by_letter_in_its_first_lines(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        self.drip(b"x")

    def letter_by_letter_in_a_chunk_s_length(self):
        self.head("Transfer-Encoding: chunked")
        self.drip(b"0")

    def silent(self):
        self.server.stopped.wait(10)

    def silent_after_half(self):
        self.head(f"Content-Length: {len(CONTENT)}")
        self.wfile.write(CONTENT[: len(CONTENT) // 2])
        self.wfile.flush()
        self.server.stopped.wait(10)

    def length_of_letters(self):
        self.head("Content-Length: abc")
        self.wfile.write(CONTENT)

    def length_below_zero(self):
        self.head("Content-Length: -5")
        self.wfile.write(CONTENT)

    def two_lengths(self):
        self.head("Content-Length: 5", "Content-Length: 7")
        self.wfile.write(CONTENT)

    def short(self):
        self.head(f"Content-Length: {len(CONTENT) + 9}")
        self.wfile.write(CONTENT)

    def circle(self):
        self.head("Location: /circle/file", "Content-Length: 0", status=302)

    def circle_with_an_endless_body(self):
        self.head("Location: /circle_with_an_endless_body/file", status=302)
        self.drip(bytes(1 << 16), pause=0)

    def to_a_local_file(self):
        self.head("Location: file:///etc/hostname", "Content-Length: 0", status=302)

    def rubbish(self):
        self.wfile.write(b"\0" * 300 + b"\r\n\r\n")

    def nothing(self):
        pass

    def broken_chunks(self):
        self.head("Transfer-Encoding: chunked")
        self.wfile.write(b"zz\r\nabc\r\n")

    def many_headers(self):
        self.head(*[f"X-{k}: y" for k in range(300)])

    def page(self):
        self.head("Content-Length: 20")
        self.wfile.write(b"<html>sign in</html>")

    def log_message(self, *args):
        pass


GOOD = ["good", "length_unsaid", "chunked", "labelled_gzip", "moved"]
BAD = {
    "endless": r"goes on after 100000 bytes", "endless_chunks": r"goes on after 100000 bytes",
    "endless_after_a_short_length": "SHA-256", "huge_by_its_own_word": r"it says that it has 10000000000000 bytes",
    "letter_by_letter": r"too slow: \d+ bytes came in 0\.8 s",
    "letter_by_letter_in_its_first_lines": r"no answer within 2 s",
    "letter_by_letter_in_a_chunk_s_length": r"too slow: 0 bytes", "silent": r"no answer within 2 s",
    "silent_after_half": r"too slow: \d+ bytes", "length_of_letters": "Length", "length_below_zero": "Length",
    "two_lengths": "Content-Length", "short": r"IncompleteRead|of \d+ bytes", "circle": "redirects more than 5 times",
    "circle_with_an_endless_body": "redirects more than 5 times", "to_a_local_file": r"redirects to 'file:///",
    "rubbish": "", "nothing": "", "broken_chunks": "", "many_headers": "", "page": "SHA-256",
}  # fmt: skip


@contextmanager
def serving():
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    found.asked, found.stopped = [], threading.Event()
    found.daemon_threads = True
    found.address = f"http://127.0.0.1:{found.server_port}/"
    threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True).start()
    yield found
    found.stopped.set()
    found.shutdown()
    found.server_close()


@contextmanager
def little_memory():
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


@pytest.fixture
def server():
    with serving() as found:
        yield found


def fetch(server, target, *kinds):
    places = [f"{server.address}{kind}/file" for kind in kinds]
    return _fetch.fetch("data", target, DIGEST, places, largest=LARGEST, patience=QUICK)


def meet(server, folder, kind):
    """Ask a bad server alone, and beside a good one: what the error says, and where the file then came from."""
    with pytest.raises(data.DataUnavailable) as error:
        fetch(server, folder / kind / "a" / "file.gz", kind)
    return str(error.value), fetch(server, folder / kind / "b" / "file.gz", kind, "good")


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """(folder, what became of each that is left only when its time is over): all at the same time."""
    folder, kinds = (
        tmp_path_factory.mktemp("slow"),
        [kind for kind, words in BAD.items() if "slow" in words or "within" in words],
    )
    with serving() as server, ThreadPoolExecutor(len(kinds)) as pool, little_memory():
        return folder, dict(zip(kinds, pool.map(lambda kind: meet(server, folder, kind), kinds), strict=True))


@pytest.mark.parametrize("kind", GOOD)
def test_good_servers_of_every_kind(server, tmp_path, kind):
    fetch(server, tmp_path / "file.gz", kind)
    assert (tmp_path / "file.gz").read_bytes() == CONTENT


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_server_is_named_and_the_next_one_asked(server, tmp_path, slow, kind):
    """Alone it is an error within the limits, beside a good one a delay; and never much memory or disk."""
    folder, found = slow
    if kind in found:
        said, address = found[kind]
    else:
        folder = tmp_path
        with little_memory():
            said, address = meet(server, folder, kind)
    assert re.search(rf"/{kind}/file: .*({BAD[kind]})", said)
    assert sum(path.stat().st_size for path in (folder / kind / "a").rglob("*") if path.is_file()) <= LARGEST
    assert address.endswith("/good/file")
    assert [(p.name, p.read_bytes()) for p in (folder / kind / "b").iterdir()] == [("file.gz", CONTENT)]


def test_what_a_slow_server_has_sent_is_kept_and_continued(server, tmp_path):
    fetch(server, tmp_path / "file.gz", "silent_after_half", "good")
    assert server.asked[1] == ("/good/file", f"bytes={len(CONTENT) // 2}-")


def test_the_whole_file_has_its_time_too(server, tmp_path):
    patient = _http.Patience(window=0.1, least=0, total=0.5)
    with pytest.raises(data.DataUnavailable, match=r"bytes came in 0\.5 s, and no end"):
        _fetch.fetch("data", tmp_path / "f", DIGEST, [f"{server.address}letter_by_letter/f"], patience=patient)


@pytest.mark.parametrize("kind", ["endless", "letter_by_letter", "length_of_letters", "circle"])
def test_mnist_is_downloaded_within_the_same_limits(server, tmp_path, monkeypatch, kind):
    monkeypatch.delenv("LOSSNAV_DATA", raising=False)
    monkeypatch.setattr(_http, "PATIENCE", QUICK)
    unpacked = hashlib.sha256(gzip.decompress(CONTENT)).hexdigest()
    source = _files.Source("mnist", {"file": unpacked}, (), LARGEST)
    mirrors = [f"{server.address}{name}" for name in (kind, "good")]
    found = _files.obtain(source, None, True, mirrors, tmp_path)
    assert found.contents["file"] == gzip.decompress(CONTENT) and found.origin == f"{server.address}good/"
    with pytest.raises(data.DataUnavailable, match=kind):
        _files.obtain(source, None, True, mirrors[:1], tmp_path / "other")
    assert not [path for path in (tmp_path / "other").rglob("*") if path.is_file()]
