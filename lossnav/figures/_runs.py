"""What figures of training take and share: histories by rule, names of rules and networks, titles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from lossnav.figures._takes import NUMBER, Kind, apart, having, many, mapping, one_of
from lossnav.figures.style import LINES
from lossnav.lab.registry import RULES
from lossnav.lab.training import History

NAMES = {name: rule.label for name, rule in RULES.items()} | {"cnn": "CNN", "resnet": "ResNet", "vit": "ViT"}
KNOWN = one_of(*(name for name in NAMES if name in LINES))
ENDS = many(NUMBER, least=0)


def histories_by(rule: Kind, **needed: Kind) -> Kind:
    """Return the kind of mappings from a kind of rule to histories, one a seed, that hold what is needed.

    Letters stand for the same length in all seeds of one rule.
    """
    return mapping(rule, apart(many(having("a training.History", History, **needed))), word="rule")


def accuracy(run: Mapping[str, Any]) -> float:
    """Return the last test accuracy in per cent; a run that diverged before its first test guesses."""
    return 100 * (run["test_accuracy"] or [0.1])[-1]


def title(figure: Figure, data: str, seeds: Sequence[Any]) -> None:
    """Write above a figure what was trained on, and how many seeds there are."""
    count = f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    figure.suptitle(f"{data}, {count}", x=0.01, ha="left")


def ordered(found: Iterable[str]) -> list[str]:
    """Return names once each, known ones in the book's order."""
    return sorted(set(found), key=list(NAMES).index)
