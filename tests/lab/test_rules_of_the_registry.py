"""What is written once about a rule is what everything else shows and builds."""

import pytest
import torch

from lossnav import figures, optim
from lossnav.lab import registry
from lossnav.lab.streams.contenders import CONTENDERS


def test_all_our_optimizers_are_in_it():
    kinds = {name: member for name in optim.__all__ if isinstance(member := getattr(optim, name), type)}
    ours = {name for name, kind in kinds.items() if issubclass(kind, torch.optim.Optimizer)}
    known = {
        row.optimizer.split(":")[1] for row in registry.RULES.values() if row.optimizer.startswith("lossnav.optim:")
    }
    assert {name for name in ours if not name.endswith("Reference")} == known


def test_a_rule_of_the_theory_has_no_optimizer_and_says_so():
    with pytest.raises(ValueError, match="Newton is a rule without an optimizer"):
        registry.RULES["newton"].maker()


def test_figures_and_comparisons_take_looks_names_and_rates_from_it():
    for name, row in registry.RULES.items():
        if not row.like:
            assert figures.COLOURS[name] == row.colour and figures.LINES[name] == (row.line, row.marker)
        else:
            assert row.colour == registry.RULES[row.like].colour
            assert (row.line, row.marker) != (registry.RULES[row.like].line, registry.RULES[row.like].marker)
    for name, contender in CONTENDERS.items():
        assert contender.label == registry.RULES[name].label and contender.space["lr"] == registry.RULES[name].rates


def test_a_variant_has_its_rules_name():
    assert registry.label("belief, innovation") == "Belief, innovation"
    assert registry.label("sgd") == "SGD" and registry.label("something else, ours") == "something else, ours"
