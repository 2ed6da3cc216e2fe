"""A state in an address is data from a stranger: whatever it says, a picture of a state that Python takes is drawn."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from resources import draws

from lossnav import explore

NAMES = sorted(set(explore.__all__) - {"Explorable"})
ROUNDS, MIXED = draws(6), draws(8)  # addresses for each of them
BROKEN = re.compile(r"NaN|Infinity|undefined|\[object")
ODD = [
    -1,
    0,
    1,
    1e308,
    -1e308,
    1e-308,
    math.inf,
    None,
    True,
    "",
    "1",
    "γ",
    [],
    {},
    [None],
    [1, "x"],
    [[]],
    [[1e308] * 3] * 99,
]


def anything(rng: np.random.Generator, trait: dict[str, Any], axis: dict[str, Any]) -> Any:
    """A value for a trait: at an end of its range, within it, beyond it, or of another kind."""
    way = rng.random()
    if way < 0.25:
        return ODD[rng.integers(len(ODD))]

    def number(ends: list[float | None], whole: bool = False) -> float:
        low, high = ends[0], 1e6 if ends[-1] is None else ends[-1]
        share = rng.choice([0.0, 1.0, rng.random(), rng.normal(0.5, 2.0)])
        value = low + share * (high - low)
        return round(value) if whole else float(value)

    if "choices" in trait:
        return str(rng.choice(trait["choices"]))
    if "ranges" in trait:
        return [number(ends) for ends in trait["ranges"]]
    if "rows" in trait:
        count = int(rng.integers(0, trait["most"] + 3))
        return [[number(part["range"], part.get("whole", False)) for part in trait["rows"]] for _ in range(count)]
    return number(trait.get("range", axis.get("range")), trait.get("whole", False))


def addresses(name: str) -> list[dict[str, Any]]:
    """States to ask for: an odd value for each trait, then mixtures."""
    shared = getattr(explore, name)._shared
    rng = np.random.default_rng(NAMES.index(name))
    axis, traits = shared.get("axis", {}), shared["traits"]
    odd = [{key: ODD[(place + ROUNDS * n) % len(ODD)] for n, key in enumerate(traits)} for place in range(ROUNDS)]
    mixed = [
        {key: anything(rng, trait, axis) for key, trait in traits.items() if rng.random() < 0.8} for _ in range(MIXED)
    ]
    return odd + mixed


def asked(name: str, state: dict[str, Any]) -> str:
    """The end of an address that asks for a state."""
    return "#" + urlencode({"explore": name} | {key: json.dumps(value) for key, value in state.items()})


def taken(widget: explore.Explorable, key: str, value: Any) -> Any:
    """What an explorable makes of one argument when it is made: to make it costs ten times as much."""
    asked = widget.__signature__.bind(**{key: value})
    asked.apply_defaults()
    return widget._checked(asked.arguments)[key]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_an_address_says_a_state_that_python_takes_is_drawn(frame, name):
    make = getattr(explore, name)
    first = make()
    for state in addresses(name):
        picture = frame(first, hash=asked(name, state))
        assert not BROKEN.search(picture["drawn"]), (state, BROKEN.search(picture["drawn"]))
        assert not BROKEN.search(picture["words"]), state
        drawn = make(**{key: math.inf if value is None else value for key, value in picture["state"].items()})
        for key, value in state.items():  # what is taken as it is stays as it is
            try:
                expected = taken(first, key, value)
            except (TypeError, ValueError):
                continue
            if (name, key) == ("ValueBounds", "pl"):  # μ is at most M
                expected = min(expected, drawn.smoothness)
            # JSON has no infinity and parts true from 1; times of switches depend on each other
            if value != math.inf and not isinstance(value, bool) and name != "TaskSwitch":
                assert getattr(drawn, key) == expected, (key, value)


@pytest.mark.parametrize("name", NAMES)
def test_what_moves_along_whole_numbers_is_one(name):
    shared = getattr(explore, name)._shared
    axis = shared.get("axis", {})
    assert not axis.get("whole") or shared["traits"][axis["trait"]].get("whole")


def test_a_price_next_to_nothing_is_drawn(frame):
    """A rate lost all its digits, and what it leads to came to rest never."""
    drawn = frame(explore.OneMap(), hash=asked("OneMap", {"gamma": 1, "speed": 1e-308}))["drawn"]
    assert drawn and not BROKEN.search(drawn)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"gamma": 0.5}, False),
        ({"gamma": -1}, True),
        ({"dt": None}, False),
        ({"start": [9, 0]}, True),
        ({"gamma": "x"}, True),
    ],
)
def test_what_is_out_of_range_is_told(frame, state, said):
    words = frame(explore.Horizon(), hash=asked("Horizon", state))["words"]
    assert ("The address asks for more than this takes." in words) is said
