"""The tool itself: it sees what goes wrong in a page, keeps it from the network, and acts as the reader it plays."""

from __future__ import annotations

from pathlib import Path

import pytest
from chrome import PHONE, Browser, BrowserError
from PIL import Image

BROKEN = """<!doctype html><title>broken</title><img src="missing.png"><script>
  fetch("http://example.org/elsewhere").catch(() => { window.refused = true; });
  console.error("said aloud");
  setTimeout(() => { throw new Error("thrown later"); });
</script>"""
TOUCHED = """<!doctype html><meta name="viewport" content="width=device-width"><body style="height: 800px"><script>
  window.seen = [];
  for (const kind of ["touchstart", "touchmove", "touchend", "keydown"])
    addEventListener(kind, (event) => seen.push(event.key ?? kind));
</script>"""
FAR_BELOW = """<!doctype html><meta name="viewport" content="width=device-width">
  <body style="margin: 0"><div style="height: 6000px"></div>
  <section style="content-visibility: auto; contain-intrinsic-block-size: 100px">
    <div style="height: 100px; background: red"></div></section>"""
PREFERS = "['prefers-color-scheme: dark', 'prefers-reduced-motion: reduce'].map(q => matchMedia(`(${q})`).matches)"


def test_what_goes_wrong_is_seen_and_forgotten_with_the_next_page(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "broken.html").write_text(BROKEN)
    (tmp_path / "sound.html").write_text("<!doctype html><title>sound</title>")
    with browser.page() as page:
        page.open((tmp_path / "broken.html").as_uri())
        page.wait_until("window.refused")
        assert [url.rpartition("/")[2] for url in page.requests()] == ["broken.html", "missing.png", "elsewhere"]
        missing, elsewhere = page.failures()
        assert "missing.png: net::ERR_FILE_NOT_FOUND" in missing
        assert elsewhere == "http://example.org/elsewhere: net::ERR_NAME_NOT_RESOLVED"
        complaints = page.complaints()
        assert "said aloud" in complaints and any("thrown later" in text for text in complaints)
        page.open((tmp_path / "sound.html").as_uri())
        assert (page.failures(), page.complaints(), len(page.requests())) == ([], [], 1)


@pytest.mark.parametrize("base", ["http"], indirect=True)
def test_an_answer_that_says_no_is_a_failure(browser: Browser, base: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/nowhere.html")
        assert page.failures() == [f"{base}/nowhere.html: status 404"]


def test_a_script_that_fails_or_takes_too_long_is_an_error(browser: Browser) -> None:
    with browser.page() as page:
        with pytest.raises(BrowserError, match="nobody is not defined"):
            page.evaluate("nobody.home")
        with pytest.raises(BrowserError, match="waited"):
            page.wait_until("1 === 2", patience=0.2)


def test_the_reader_it_plays(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "touched.html"
    path.write_text(TOUCHED)
    with browser.page(PHONE, dark=True, touch=True) as page:
        page.open(path.as_uri())
        page.swipe((100, 100), (200, 100))
        page.key("ArrowRight")
        assert page.evaluate("[...new Set(seen)]") == ["touchstart", "touchmove", "touchend", "ArrowRight"]
        assert page.evaluate(PREFERS) == [True, True]
        assert page.evaluate("innerWidth") == PHONE[0]
        page.picture(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    with browser.page(scripts=False) as page:
        page.open(path.as_uri())
        assert page.evaluate("typeof seen") == "undefined"
        assert page.evaluate(PREFERS) == [False, True]


def test_a_picture_of_a_page_has_what_waits_far_below_the_screen(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "long.html").write_text(FAR_BELOW)
    with browser.page(PHONE) as page:
        page.open((tmp_path / "long.html").as_uri())
        page.picture(tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as picture:
        assert picture.convert("RGB").getpixel((10, 6050)) == (255, 0, 0)
