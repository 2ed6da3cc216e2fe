"""What ``TunedRates`` is to show, from the records of the two studies."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache

import numpy as np
from paths import ROOT

from lossnav import explore, records
from lossnav._checks import Array
from oracles.common import points

_SHARED = explore.TunedRates._shared
_AXIS, _NAMES = _SHARED["axis"], _SHARED["names"]
_PAPER = {"sgd": 0.1, "adam": 5e-4, "ballistic": 5e-4}  # on CIFAR-10; the record of MNIST has its factors


@cache
def _means() -> dict[str, dict[str, dict[int, float]]]:
    """Mean accuracy in per cent, by task, rule and half decades from the paper's rate."""
    accuracies: dict[str, dict[str, dict[int, list[float]]]] = {
        task: {rule: defaultdict(list) for rule in _NAMES} for task in ("mnist", "cifar")
    }
    for run in records.load(ROOT / "book" / "results" / "learning-rates.json").results:
        if run["rule"] in _NAMES:
            accuracies["mnist"][run["rule"]][round(2 * run["factor"])].append(100 * run["test_accuracy"][-1])
    for run in records.load(ROOT / "book" / "results" / "cifar10-rates.json").results:
        if run["model"] == "cnn":
            half = round(2 * math.log10(run["lr"] / _PAPER[run["rule"]]))
            accuracies["cifar"][run["rule"]][half].append(100 * (run["test_accuracy"] or [0.1])[-1])
    return {
        task: {rule: {half: float(np.mean(seeds)) for half, seeds in of.items()} for rule, of in rules.items()}
        for task, rules in accuracies.items()
    }


class TunedRates(explore.TunedRates):
    def lines(self) -> dict[str, Array]:
        """Return mean accuracies over half decades, and the ends of what may be tried."""
        lines = {}
        for task, rules in _means().items():
            for rule, of in rules.items():
                halves = sorted(of)
                lines[f"{task}_{rule}"] = points(_AXIS, np.array(halves), np.array([of[half] for half in halves]))
            ends = np.array(_SHARED["rows"][task]["range"], dtype=float)
            for side, half in (("least", self.rate - self.tries), ("most", self.rate + self.tries)):
                lines[f"{task}_{side}"] = points(_AXIS, np.full(2, half), ends)
        return lines

    def said(self) -> list[str]:
        words = []
        for rules in _means().values():
            best = [[m for half, m in of.items() if abs(half - self.rate) <= self.tries] for of in rules.values()]
            order = sorted((max(means) for means in best if means), reverse=True)
            words += [f"{mean:.1f}" for mean in order]
            words += [f"by {order[0] - order[1]:.1f}"] if order else ["nobody"]
        return words
