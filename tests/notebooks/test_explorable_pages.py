"""The directive that puts an explorable into a page without a kernel."""

from __future__ import annotations

import json
import re

import pytest
from lossnav_explorables import STATE, VIEW, markup


def test_the_page_gets_a_twin_a_state_and_a_view() -> None:
    made = markup("MetricEllipse", {"angle": 20.0, "ratio": 4.0}, "page-0")
    scripts = dict(re.findall(r'<script type="([^"]+)">(.*?)</script>', made, re.DOTALL))
    state = json.loads(scripts[STATE])["state"]["page-0"]["state"]
    assert json.loads(scripts[VIEW]) == {"model_id": "page-0"}
    assert state["angle"] == 20.0 and state["ratio"] == 4.0
    assert "export default " in state["_esm"] and ".lossnav-explorable" in state["_css"]
    assert 'class="lossnav-fallback" data-for="MetricEllipse"' in made


@pytest.mark.parametrize("name, arguments", [("Nothing", {}), ("Explorable", {}), ("Horizon", {"gamma": -1.0})])
def test_what_does_not_exist_is_named(name: str, arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"Nothing|Explorable|gamma"):
        markup(name, arguments, "page-0")
