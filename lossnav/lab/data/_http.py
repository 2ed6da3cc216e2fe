"""One file from one address, within limits of size and time, whatever the server does."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from tqdm import tqdm

from lossnav.lab.data._files import DataCorrupted, watched

_CHUNK = 1 << 16  # bytes
_REDIRECTS = 5
_GONE = object()  # the end of what a server sends


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server, in seconds.

    Attributes:
        connect: for a connection, and as long for each part of an answer's first lines to arrive.
        silence: between two packets.
        answer: until the file begins, redirects included; a server that sends its first lines letter by letter is left.
        window, least: fewer bytes than ``least`` in ``window`` seconds are too few.
        total: for the whole file.
    """

    connect: float = 4.0
    silence: float = 20.0
    answer: float = 60.0
    window: float = 30.0
    least: int = 30 * 1024
    total: float = 6 * 3600.0


PATIENCE = Patience()  # an offline machine should hear so at once; a slow line needs hours


def download(
    address: str, stream: IO[bytes], *, largest: int, label: str, begun: int = 0, patience: Patience | None = None
) -> None:
    """Append to ``stream`` what ``address`` sends; the bytes are as they are served, and not verified.

    The network is left to a thread of its own, which nobody waits for: a server can keep it, but not the caller.

    Args:
        address: of http or https; redirects are followed, up to five.
        stream: open for writing at its end, which is byte ``begun`` of the file. Emptied if the server begins anew.
        largest: bytes; a file that is or says to be larger is left.
        label: what to call the file on the bar.
        begun: bytes that are here already, and not asked for again.
        patience: limits of time; None for the usual ones.

    Raises:
        DataCorrupted: more bytes than ``largest``.
        OSError: anything else that prevents it; ends within the limits of time.
    """
    limits = patience or PATIENCE
    arrived: queue.Queue[Any] = queue.Queue(16)  # pieces of the file
    left = threading.Event()  # when nobody listens any more
    threading.Thread(target=_send, args=(address, begun, limits, arrived, left), daemon=True).start()
    try:
        _receive(stream, largest, label, begun, limits, arrived)
    finally:
        left.set()


def _receive(
    stream: IO[bytes], largest: int, label: str, begun: int, limits: Patience, arrived: queue.Queue[Any]
) -> None:
    """Write what arrives, until the end or a limit."""
    start = time.monotonic()
    first = _next(arrived, start + limits.answer, f"no answer within {limits.answer:g} s")
    continued, length = first
    if not continued:
        stream.seek(0)
        stream.truncate()
        begun = 0
    total = None if length is None else begun + length
    if total is not None and total > largest:
        raise DataCorrupted(f"it says that it has {total} bytes, but the file has at most {largest}")
    here, since, before = begun, time.monotonic(), begun
    with tqdm(total=total, initial=begun, unit="B", unit_scale=True, desc=label, disable=not watched()) as bar:
        while True:
            deadline = min(since + limits.window, start + limits.total)
            with suppress(TimeoutError):
                chunk = _next(arrived, deadline, "")
                if chunk is _GONE:
                    break
                here += len(chunk)
                if here > largest:
                    raise DataCorrupted(f"it goes on after {largest} bytes, and the file has no more")
                stream.write(chunk)
                bar.update(len(chunk))
            now = time.monotonic()
            if now - start >= limits.total:
                raise OSError(f"{here - begun} bytes came in {limits.total:g} s, and no end")
            if now - since >= limits.window:
                if here - before < limits.least:
                    raise OSError(f"too slow: {here - before} bytes came in {limits.window:g} s")
                since, before = now, here
    if total is not None and here < total:
        raise OSError(f"the connection ended after {here} of {total} bytes")


def _next(arrived: queue.Queue[Any], deadline: float, complaint: str) -> Any:
    """Return what comes next; raise if that is an error, or if it does not come in time."""
    try:
        found = arrived.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise TimeoutError(complaint) from None
    if isinstance(found, Exception):
        raise found
    return found


def _send(address: str, begun: int, limits: Patience, arrived: queue.Queue[Any], left: threading.Event) -> None:
    """Put into the queue whether the file is continued and its length, then its bytes, then the end; or an error."""

    def put(found: Any) -> None:
        while not left.is_set():
            with suppress(queue.Full):
                arrived.put(found, timeout=0.2)
                return
        raise InterruptedError

    try:
        _ask(address, begun, limits, put)
        put(_GONE)
    except InterruptedError:
        return
    except Exception as error:  # those of urllib3 and http.client are no OSErrors
        with suppress(InterruptedError):
            put(error if isinstance(error, OSError) else OSError(f"{type(error).__name__}: {error}"))


def _ask(address: str, begun: int, limits: Patience, put: Callable[[Any], None]) -> None:
    import requests

    class Session(requests.Session):
        def get_redirect_target(self, _: Any) -> None:
            """Return nothing: requests would read the whole body of an answer that says where the file is."""

    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    with Session() as session:
        for _ in range(_REDIRECTS + 1):
            answer = session.get(
                address, headers=headers, stream=True, timeout=(limits.connect, limits.silence), allow_redirects=False
            )
            if not answer.is_redirect:
                break
            address = urljoin(address, answer.headers["location"])
            answer.close()
            if urlsplit(address).scheme not in ("http", "https"):
                raise OSError(f"it redirects to {address[:80]!r}")
        else:
            raise OSError(f"it redirects more than {_REDIRECTS} times")
        with answer:
            if answer.status_code == 416:  # nothing is left to send: the digest decides whether it is the file
                put((True, 0))
                return
            answer.raise_for_status()
            put((bool(begun) and answer.status_code == 206, _length(answer.headers.get("Content-Length"))))
            read = getattr(answer.raw, "read1", None)  # as soon as there is anything; urllib3 1 waits for all of it
            while chunk := read(_CHUNK) if read is not None else answer.raw.read(512):
                put(chunk)


def _length(words: str | None) -> int | None:
    if words is None:
        return None
    if not (words.strip().isascii() and words.strip().isdigit() and len(words) < 20):
        raise OSError(f"Content-Length = {words[:40]!r} is no number of bytes")
    return int(words)
