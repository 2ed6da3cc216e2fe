"""The recorded atlas: whole, with a reason in each row without a law, and right where another road leads there."""

from __future__ import annotations

import math

import pytest
import torch
from resources import RESULTS, recorded

import lossnav as ln
from lossnav import records


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("pytorch_optimizer")
    return recorded("atlas")


@pytest.fixture(scope="module")
def rows():
    return {(row["place"], row["name"]): row for row in records.load(RESULTS / "atlas.json").results}


def test_every_class_has_a_row_with_a_law_or_a_reason(script, rows):
    assert list(rows) == script.names()
    for row in rows.values():
        if row["failed"]:
            assert ": " in row["failed"]
            continue
        seen = row["fingerprint"]
        assert bool(seen["law"]) + bool(seen["nearest"]) + bool(seen["refused"]) == 1
        assert seen["refused"] or (seen["residual"] < 1e-3) == bool(seen["law"]) or "singular" in seen["law"] or (
            "two filters" in seen["nearest"] or "sign" in seen["law"])  # fmt: skip


def test_torchs_are_read_or_refused(rows):
    own = [row["fingerprint"] for (place, _), row in rows.items() if place == "torch.optim"]
    assert sum(bool(seen["law"]) for seen in own) == 13
    assert sum(bool(seen["refused"]) for seen in own) == 2


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "AdamW"])
def test_a_row_is_what_is_measured_again(script, rows, name):
    seen = script.rounded(ln.fingerprint(script.maker("torch.optim", name), timed=False).to_dict())
    kept = rows["torch.optim", name]["fingerprint"]
    for key in ("family", "law", "rate", "decay", "reach", "counts", "refused"):
        assert seen[key] == kept[key]
    assert seen["gain"] == pytest.approx(kept["gain"], rel=1e-3)


@pytest.mark.parametrize("land", ["κ = 10", "five curvatures"])
def test_the_regret_of_a_row_is_that_of_its_path(script, rows, land):
    """``ln.regret`` has it from the squared error of the velocity; the study from costs."""
    kept = rows["torch.optim", "Adam"]["landscapes"][land]
    loss, start, steps, _ = script.landscapes()[land]
    low = script.ARRIVED * float(loss.value(start))
    path = script.descended(script.maker("torch.optim", "Adam", lr=kept["lr"]), loss, start, steps, low)
    assert ln.regret(path, ln.Objective(), loss).relative == pytest.approx(kept["regret"], rel=1e-5)


def test_no_other_rate_is_better(script, rows):
    kept = rows["torch.optim", "SGD"]["landscapes"]["κ = 10"]
    loss, start, steps, rests = script.landscapes()["κ = 10"]
    least, low = ln.value(ln.Objective(), loss, start), script.ARRIVED * float(loss.value(start))
    found = {}
    for rate in script.RATES:
        path = script.descended(lambda p, rate=rate: torch.optim.SGD(p, rate), loss, start, steps, low)
        if loss.value(path[-1]) < low:
            found[rate] = script.bill(loss, path, rests, 0.0, [0.0]) / least - 1
    assert min(found, key=found.__getitem__) == kept["lr"]
    assert math.isclose(min(found.values()), kept["regret"], rel_tol=1e-5)
