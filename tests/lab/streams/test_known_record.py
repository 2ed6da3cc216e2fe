"""The recorded streams at known settings: complete. The chapter runs the first tasks of two of them again."""

from __future__ import annotations

import numpy as np
import pytest
from resources import RESULTS, recorded

from lossnav import records


@pytest.fixture(scope="module")
def script():
    return recorded("continual_known")


@pytest.fixture(scope="module")
def record():
    return records.load(RESULTS / "continual-known.json")


def test_every_rule_and_strength_of_noise_is_in_the_record(script, record):
    noise = [(how, strength) for how, strengths in script.NOISE.items() for strength in strengths]
    assert [(run["rule"], run["noise"]) for run in record.results] == [*((r, None) for r in script.SETTINGS), *noise]
    blocks = record.config["tasks"] // record.config["block"]
    for run in record.results:
        assert np.shape(run["scores"]) == (len(script.SEEDS), blocks)
        assert all(run["finite"])


def test_no_two_runs_are_the_same(record):
    tables = [np.array(run["scores"]) for run in record.results]
    assert all((a != b).any() for i, a in enumerate(tables) for b in tables[:i])
