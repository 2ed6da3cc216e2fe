"""The search tells what it found in words: no TeX, in titles or in what surrounds a find."""

from __future__ import annotations

import re

import pytest
from chrome import Browser

FOUND = """[...document.querySelectorAll('#search-results li')].map(e => ({
  title: e.querySelector('a').textContent, words: (e.querySelector('.context') || {}).textContent || '',
}))"""


@pytest.mark.parametrize("base", ["http"], indirect=True)
def test_finds_are_told_in_words(browser: Browser, base: str) -> None:
    with browser.page() as page:
        page.open(f"{base}/search.html?q=where")
        page.wait_until("document.querySelectorAll('#search-results .context').length > 5")
        finds = page.evaluate(FOUND)
    text = " ".join(f"{find['title']} {find['words']}" for find in finds)
    assert len(text) > 1000
    assert re.findall(r"\\[a-z]+|\$", text) == []
