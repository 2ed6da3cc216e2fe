"""The atlas' table: complete as it is, and with its script, over http and from a file, to search, choose and sort."""

from __future__ import annotations

import pytest
from chrome import Browser
from resources import RESULTS

from lossnav import records

SHOWN = "[...document.querySelectorAll('.ln-atlas tbody tr')].filter(row => !row.hidden).map(row => row.innerText)"
SET = """((name, value) => { const form = document.querySelector('.ln-atlas form');
  if (value === true || value === false) form[name].checked = value; else form[name].value = value;
  for (const kind of ['input', 'change']) form[name].dispatchEvent(new Event(kind, {bubbles: true})); })"""


@pytest.mark.parametrize("base", ["http", "file"], indirect=True)
def test_rows_are_found_chosen_and_sorted(browser: Browser, base: str) -> None:
    rows = records.load(RESULTS / "atlas.json").results
    with browser.page() as page:
        page.open(f"{base}/book/atlas.html")
        assert len(page.evaluate(SHOWN)) == len(rows)
        page.evaluate(f"{SET}('words', 'sign filter')")
        texts = page.evaluate(SHOWN)
        assert 3 <= len(texts) < 20 and all("sign" in text.lower() and "filter" in text.lower() for text in texts)
        assert page.evaluate("document.querySelector('.ln-atlas output').textContent") == f"{len(texts)} of {len(rows)}"
        page.evaluate(f"{SET}('words', '')")
        page.evaluate(f"{SET}('different', true)")
        assert all("Differs" in text for text in page.evaluate(SHOWN))
        page.evaluate(f"{SET}('different', false)")
        page.evaluate(f"{SET}('by', 'bytes')")
        stored = page.evaluate("[...document.querySelectorAll('.ln-atlas tbody tr')].map(row => row.dataset.bytes)")
        known = [float(value) for value in stored if value]
        assert known == sorted(known) and stored[: len(known)] == [value for value in stored if value]
        assert page.complaints() == []


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_without_a_script_every_row_is_a_card_and_there_is_no_form(browser: Browser, base: str) -> None:
    with browser.page((390, 844), scripts=False) as page:
        page.open(f"{base}/book/atlas.html")
        rows = page.tab.locator(".ln-atlas tbody tr")
        assert rows.count() == len(records.load(RESULTS / "atlas.json").results)
        box = rows.nth(20).bounding_box()
        assert box is not None and 250 < box["width"] <= 390 and box["height"] > 60
        assert not page.tab.locator(".ln-atlas form").is_visible()
