"""What a reader takes away from an explorable: lines of Python that compute it, and addresses that are none."""

from __future__ import annotations

import json

import pytest

from lossnav import explore

pytestmark = pytest.mark.browser

PRESS = """((name) => {
  [...document.querySelectorAll('#one .ln-take button')].find((button) => button.textContent === name).click();
  return document.querySelector('#one .ln-code').value;
})"""


def move(page, state):
    page.evaluate(f"Object.entries({json.dumps(state)}).forEach(([name, value]) => model.set(name, value))")


def test_the_lines_of_python_compute_what_is_on_show(stand):
    page = stand(explore.DoubleWell())
    move(page, {"start": -1.1, "gamma": 2.5})
    text = page.evaluate(f"{PRESS}('Python')")
    cell_text = page.evaluate("document.querySelector('#one tr[data-part=best] td').textContent")
    room: dict[str, object] = {}
    exec(text, room)
    assert f"{room['path'].action:.4f}".replace("-", "−") == cell_text


@pytest.mark.parametrize(
    "hash", ["#explore=Horizon&gamma=much", "#explore=Horizon&start=[1]", "#explore=Other&gamma=3", "#a-section"]
)
def test_an_address_that_is_none_changes_nothing(stand, hash):
    page = stand(explore.Horizon(), hash=hash)
    assert page.evaluate("model.get('gamma') === 1 && model.get('start').length === 2")
    assert page.complaints() == []


@pytest.mark.parametrize("widget", [explore.BeliefFilter(), explore.TaskSwitch()])
def test_reset_brings_back_the_window_and_what_is_told_of_it(stand, widget):
    page, shown = stand(widget), "document.querySelector('#one .lossnav-explorable').textContent"
    first = page.evaluate(shown)
    move(page, {"now": 9 if isinstance(widget, explore.TaskSwitch) else 400})
    moved = page.evaluate(shown)
    page.evaluate(f"{PRESS}('Reset')")
    assert page.evaluate(shown) == first != moved


def test_reset_takes_back_what_was_said_of_a_change(stand):
    page, shown = stand(explore.Board()), "document.querySelector('#one .lossnav-explorable').textContent"
    first = page.evaluate(shown)
    page.evaluate(
        "[...document.querySelectorAll('#one button')].find(({ textContent }) => textContent === 'a while').click()"
    )
    changed = page.evaluate(shown)
    page.evaluate(f"{PRESS}('Reset')")
    assert page.evaluate(shown) == first != changed


def test_no_jump_comes_after_the_end(stand):
    jump = "[...document.querySelectorAll('#one button')].find((button) => button.textContent === 'Jump')"
    assert stand(explore.BeliefFilter(now=20_000)).evaluate(f"{jump}.disabled")


def test_an_address_is_followed_where_it_was_made_by_the_one_that_it_means(stand):
    page = stand(explore.Horizon())
    page.evaluate("""(() => {
      const held = structuredClone(first), none = () => {}, deaf = { on: none, off: none, save_changes: none };
      window.other = { get: (name) => held[name], set: (name, value) => (held[name] = value), ...deaf };
      window.leave = widget.render({ model: other, el: document.getElementById("two") });
    })()""")
    rates = "[model.get('gamma'), other.get('gamma')]"
    for of, gammas in [("Horizon.2", [1, 3]), ("Horizon", [3, 3])]:
        page.evaluate(f"location.hash = '#explore={of}&gamma=3'")
        page.wait_for_frames()
        assert page.evaluate(rates) == gammas
    page.evaluate("leaveAll()")
    page.evaluate("location.hash = '#explore=Horizon&gamma=2'")
    page.wait_for_frames()
    assert page.evaluate(rates) == [3, 3]
