"""What figures of training take: histories by rule."""

from __future__ import annotations

from lossnav.figures._takes import Kind, apart, having, many, mapping
from lossnav.lab.training import History


def histories_by(rule: Kind, **needed: Kind) -> Kind:
    """Return the kind of mappings from a kind of rule to histories, one a seed, that hold what is needed.

    Letters stand for the same length in all seeds of one rule.
    """
    return mapping(rule, apart(many(having("a training.History", History, **needed))), word="rule")
