"""Sizes that no machine has the memory for, or the time: refused by name before anything is asked of the system."""

from __future__ import annotations

import re

import pytest

import lossnav as ln
from lossnav import _checks, models
from lossnav.lab.models import small

MUCH = 2**39  # of it alone there may be as many
CALLS = {
    "inputs": lambda n: models.mlp(n, seed=0),
    "hidden[1]": lambda n: models.mlp(hidden=[16, n], seed=0),
    "outputs": lambda n: models.mlp(outputs=n, seed=0),
    "channels": lambda n: models.cnn(n, seed=0),
    "size": lambda n: models.cnn(size=n, seed=0),
    "blocks": lambda n: models.resnet(blocks=n, seed=0),
    "width": lambda n: models.resnet(width=n, seed=0),
    "depth": lambda n: models.vit(depth=n, seed=0),
    "length": lambda n: small.reader(n, seed=0),
    "layers": lambda n: small.reader(layers=n, seed=0),
    "second": lambda n: small.strided(4, n, seed=0),
    "particles": lambda n: ln.belief.simulate([[1.0]], [0.0], particles=n, seed=0),
    "paths": lambda n: ln.sgd.simulate([1.0], 3, eta=0.1, beta=0.5, batch=1, noise=1.0, paths=n),
    "count": lambda n: ln.belief.kalman_gains(0.9, n),
    "nodes": lambda n: ln.acceleration.lowest_variation(abs, 1.0, 1.0, 2.0, nodes=n),
    "dim": lambda n: ln.Objective().metric_matrix(n),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [MUCH, 2**40, 10**30])
def test_a_size_beyond_any_memory_is_named(name, size):
    with pytest.raises(ValueError, match=f"^{re.escape(name)} = .*, but it must be (smaller|a whole number)"):
        CALLS[name](size)


def test_what_fits_is_what_the_machine_has(monkeypatch):
    monkeypatch.setattr(_checks, "_memory", lambda: 8_000)
    _checks.room(1000, steps=10, paths=100)
    _checks.room(2000, 4, steps=20, paths=100)
    with pytest.raises(ValueError, match=r"^paths = 101, .* 1.01e\+03 numbers .* memory for 1e\+03$"):
        _checks.room(1010.0, steps=10, paths=101)


def test_where_a_system_does_not_say_its_memory_it_is_a_large_machine_s(monkeypatch):
    monkeypatch.delattr(_checks.os, "sysconf", raising=False)
    assert _checks._memory.__wrapped__() == 2**40
