"""The script of the billed rules against ``ln.regret`` and the rules' own steps."""

from __future__ import annotations

import itertools
import re

import numpy as np
import oracles
import pytest

from lossnav import explore

SETTINGS = [
    {"start": list(start), "gamma": gamma, "kappa": kappa}
    for start, gamma, kappa in itertools.product([(1.0, 1.0), (-0.7, 0.2)], [0.0, 0.4, 3.0, 10.0], [1.0, 7.0, 100.0])
]
ALL = "given.map((s) => { const { paths, regrets, order } = M.billed(s); return { paths, regrets, order }; })"


@pytest.mark.slow
def test_script_bills_as_the_library_does(module):
    chosen = SETTINGS[::5]  # each start, discount and curvature is among them
    for setting, billed in zip(chosen, module(explore.RegretRace)(ALL, chosen), strict=True):
        widget = oracles.RegretRace(**setting)
        regrets = widget.regrets()
        for rule, path in widget.paths().items():
            np.testing.assert_allclose(np.array(billed["paths"][rule]), path, atol=1e-12)
            value = regrets[rule].total / regrets[rule].relative
            regret = billed["regrets"][rule]
            relative = regret["speed"] + regret["direction"]
            assert relative == pytest.approx(regrets[rule].relative, rel=2e-3, abs=1e-6), (setting, rule)
            for part in ("speed", "direction"):  # |θ̇*| has a kink where a step passes the minimum
                assert regret[part] == pytest.approx(getattr(regrets[rule], part) / value, rel=0.03, abs=0.1 * relative)
        sums = [regrets[rule].relative for rule in billed["order"]]
        assert all(a <= b + 1e-6 for a, b in itertools.pairwise(sums))


def test_at_the_minimum_there_is_nothing_to_regret(module):
    (billed,) = module(explore.RegretRace)(ALL, [SETTINGS[0] | {"start": [0.0, 0.0]}])
    assert all(regret["speed"] == regret["direction"] == 0 for regret in billed["regrets"].values())
    assert oracles.RegretRace((0.0, 0.0)).regrets() == {}


def test_the_order_turns_with_the_discount(module):
    patient, hasty = module(explore.RegretRace)(ALL, [SETTINGS[1] | {"gamma": g} for g in (0.0, 10.0)])
    assert patient["order"][0] == "ballistic" and hasty["order"][0] != "ballistic"
    assert patient["paths"] == hasty["paths"]


def test_a_bar_that_is_longer_than_its_panel_keeps_its_shares(frame, module):
    widget = explore.RegretRace(gamma=0.0, kappa=100.0)
    drawn = frame(widget)["drawn"]
    speed, direction = (float(wide) for wide in re.findall(r"([\d.]+) \d+ var\(--ln-heavy\)(?! none)", drawn)[-2:])
    (billed,) = module(explore.RegretRace)(ALL, [widget.get_state(widget._state_names())])
    regret = billed["regrets"]["heavy"]
    assert regret["direction"] > 1 and speed / direction == pytest.approx(regret["speed"] / regret["direction"])
