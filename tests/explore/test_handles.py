"""What hands and keys once could not do: leave ∞ and 0, move both axes, turn one way, drag without running away."""

from __future__ import annotations

import math

import pytest
from handles import middle

from lossnav import explore

pytestmark = pytest.mark.browser

SPAN = 200  # steps in the window of BeliefFilter


def press(page, query, *keys):
    page.evaluate(f"document.querySelector('{query}').focus()")
    for key in keys:
        page.key(key)


@pytest.mark.parametrize("query", ['[role=slider][aria-label^="the optimal step"]', 'input[aria-label^="Δt"]'])
def test_infinity_can_be_left_with_the_keys_and_reached_again(stand, query):
    page = stand(explore.Horizon(dt=math.inf))
    press(page, query, *["ArrowLeft"] * 8)
    finite = page.evaluate("model.get('dt')")
    assert finite is not None and finite > 10
    press(page, query, *["ArrowRight"] * 9)
    assert page.evaluate("model.get('dt')") is None


@pytest.mark.parametrize("make", [explore.DriftField, explore.Horizon, explore.MetricEllipse])
def test_each_press_shows_near_zero(stand, make):
    slider = "input[aria-label^=γ]"
    page = stand(make(gamma=0.0))
    texts = []
    for _ in range(3):
        texts.append(page.evaluate(f"document.querySelector('{slider}').ariaValueText"))
        press(page, slider, "ArrowRight")
    assert len(set(texts)) == 3 and texts[0] == "0.00"


def test_the_ellipse_and_its_slider_turn_one_way(stand):
    angles = []
    for query in ("[role=slider][aria-label^=end]", "input[aria-label*=angle]"):
        page = stand(explore.MetricEllipse(angle=10.0))
        press(page, query, "ArrowRight")
        angles.append(page.evaluate("model.get('angle')") - 10)
    assert angles[0] * angles[1] > 0


def test_a_point_of_the_plane_moves_along_both_axes_and_says_so(stand):
    point = "[role=slider][aria-roledescription]"
    page = stand(explore.NoisyValley(start=(0.5, -0.5)))
    press(page, point, "ArrowUp")
    x, y = page.evaluate("model.get('start')")
    assert x == 0.5 and y > -0.5
    press(page, point, "ArrowLeft")
    assert page.evaluate("model.get('start')")[0] < 0.5
    words = page.evaluate(f"document.querySelector('{point}').ariaValueText")
    assert "θ₁" in words and "θ₂" in words


def test_a_dragged_stream_stays_under_the_hand(stand):
    cursor = ".ln-stage [role=slider]"
    page = stand(explore.BeliefFilter(now=120))
    x, y = middle(page, cursor)
    wide = page.evaluate("document.querySelector('.ln-panel').getBoundingClientRect().width")
    page.drag((x, y), (x - 60, y), steps=12)
    moved = 120 - page.evaluate("model.get('now')")
    assert moved == pytest.approx(60 / wide * SPAN, abs=2)  # the window stays while it is held
    page.evaluate("[...document.querySelectorAll('.ln-button')].find((b) => b.textContent === 'Reset').click()")
    assert page.evaluate("model.get('now')") == 120


def test_time_is_where_the_hand_is_whichever_way_it_came(stand):
    times = []
    for way in ([180], [240, 300, -100, 180]):
        page = stand(explore.TaskSwitch(switches=[(4.0, 2.0, 1.0)], now=8.0))
        x, y = middle(page, ".ln-stage [role=slider]")
        page.tab.mouse.move(x, y)
        page.tab.mouse.down()
        for dx in way:
            page.tab.mouse.move(x + dx, y)
        page.tab.mouse.up()
        times.append(page.evaluate("model.get('now')"))
        assert middle(page, ".ln-stage [role=slider]")[0] < x + 170  # the window has followed
    assert times[0] == times[1] > 9


def test_keys_stop_at_each_of_few_places(stand):
    page = stand(explore.TunedRates(tries=0))
    tried = []
    for _ in range(3):
        press(page, ".ln-slider[data-part=tries] input", "ArrowRight")
        tried.append(page.evaluate("model.get('tries')"))
    assert tried == [1, 2, 3]


def test_a_second_finger_leaves_a_held_point_to_the_first(stand):
    page = stand(explore.DriftField(start=(0.0, 0.0)), (390, 900), phone=True)
    x, y = middle(page, "#one [role=slider]")
    touched = page.tab.context.new_cdp_session(page.tab)
    for kind, *fingers in [("Start", 0), ("Start", 0, 18), ("Move", 10, 18), ("Move", 10, 60), ("Move", 11, 60)]:
        points = [{"x": x + dx, "y": y, "id": i} for i, dx in enumerate(fingers)]
        touched.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    touched.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wide = page.evaluate("document.querySelector('#one .ln-panel').getBoundingClientRect().width")
    edge = explore.DriftField._shared["edge"]
    assert page.evaluate("model.get('start')")[0] == pytest.approx(11 * 2 * edge / wide, abs=0.02)
