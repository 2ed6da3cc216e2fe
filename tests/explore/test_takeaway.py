"""What a reader takes away from an explorable: lines of Python that compute it, and addresses that are none."""

from __future__ import annotations

import json

import pytest
from test_layout import address

from lossnav import explore

pytestmark = pytest.mark.browser

PRESS = """((name) => {
  [...document.querySelectorAll('#one .ln-take button')].find((button) => button.textContent === name).click();
  return document.querySelector('#one .ln-code').value;
})"""


def move(page, state):
    page.evaluate(f"Object.entries({json.dumps(state)}).forEach(([name, value]) => model.set(name, value))")


def test_the_lines_of_python_compute_what_is_on_show(browser, tmp_path):
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, explore.DoubleWell()))
        page.wait_until("window.ready === true")
        move(page, {"start": -1.1, "gamma": 2.5})
        text = page.evaluate(f"{PRESS}('Python')")
        said = page.evaluate("document.querySelector('#one .ln-best td').textContent")
    room: dict[str, object] = {}
    exec(text, room)
    assert f"{room['path'].action:.4f}".replace("-", "−") == said


@pytest.mark.parametrize(
    "hash", ["#explore=Horizon&gamma=much", "#explore=Horizon&start=[1]", "#explore=Other&gamma=3", "#a-section"]
)
def test_an_address_that_is_none_changes_nothing(browser, tmp_path, hash):
    with browser.page((700, 900)) as page:
        page.open(address(tmp_path, explore.Horizon()) + hash)
        page.wait_until("window.ready === true")
        assert page.evaluate("model.get('gamma') === 1 && model.get('start').length === 2")
        assert page.complaints() == []
