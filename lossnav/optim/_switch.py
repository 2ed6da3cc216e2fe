"""Going on from the state of another optimizer: who saved it, and what torch's Adam has under which name.

A ``state_dict`` does not say whose it is, and torch loads any into any: the options of one optimizer would stand beside
the averages of another, which nobody reads. Its options tell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lossnav._checks import shown

Group = dict[str, Any]

SCHEDULED = frozenset({"initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr"})
"""What schedulers write beside the options, and look for when they go on."""
# options that say nothing of the rule: those of nearly all optimizers
_COMMON = SCHEDULED | {
    "params", "param_names", "lr", "eps", "weight_decay", "maximize", "foreach", "fused", "capturable",
    "differentiable",
}  # fmt: skip


def check_same_rule(name: str, saved: Group, own: Group, options: set[str], arguments: Collection[str]) -> None:
    """Raise ``ValueError`` unless the options of a saved group are those of the rule that is to go on with it.

    Args:
        name: of the rule's class.
        saved: a group of the state.
        own: the rule's group in its place, which may have keys that the user has given it.
        options: all options of the rule; an older state may lack some of them, but not all of those that are its own.
        arguments: of the rule's constructor, which may be in a group, too.
    """
    strange = sorted(saved.keys() - own.keys() - _COMMON - options - set(arguments))
    telling = options - _COMMON
    if strange or (telling and not telling & saved.keys()):
        words = f"the options {', '.join(strange)}" if strange else f"none of the options {', '.join(sorted(telling))}"
        raise ValueError(
            f"state_dict has {words}, but it must be one of {name}: another optimizer's would be a silent restart "
            "with averages that are not used (Belief goes on from torch's Adam and AdamW)"
        )


def check_memory(name: str, entry: Group, known: Collection[str], needed: Collection[str]) -> None:
    """Raise ``ValueError`` if the state of a parameter has what the rule does not know, or a part of what it needs."""
    strange = [repr(key) for key in entry if key not in known]
    if strange:
        raise ValueError(
            f"state_dict remembers {', '.join(strange)} of a parameter, but it must be one of {name}, which knows "
            f"{', '.join(map(repr, known))}"
        )
    missing = [repr(key) for key in needed if entry and key not in entry]
    if missing:
        raise ValueError(
            f"state_dict lacks {', '.join(missing)} of a parameter, but a state must be whole: it would begin anew "
            "beside what goes on"
        )


def check_shapes(entry: Group, shapes: Mapping[str, Sequence[int]]) -> None:
    """Raise ``ValueError`` unless what is remembered of a parameter has the shapes that follow from the parameter's."""
    for key, shape in shapes.items():
        if tuple(entry[key].shape) != tuple(shape):
            raise ValueError(
                f"state_dict remembers {key!r} of shape {tuple(entry[key].shape)} of a parameter, but it must be of "
                f"shape {tuple(shape)}: it is the state of another model"
            )


def is_adams(saved: Group) -> bool:
    """Whether a group was saved by torch's Adam or AdamW."""
    return {"betas", "amsgrad", "eps"} <= saved.keys()


def check_adam(saved: Group) -> None:
    """Raise ``ValueError`` where Adam's own options make another rule of it."""
    wrong = ""
    if saved["amsgrad"]:
        wrong = "amsgrad = True, but it must be False: a maximum over time is no average"
    elif saved["weight_decay"] and not saved.get("decoupled_weight_decay"):
        decay = shown(saved["weight_decay"])
        wrong = f"weight_decay = {decay} of Adam, but it must be 0, or AdamW's, which is decoupled: this one is in v"
    if wrong:
        raise ValueError(f"state_dict has {wrong}")


def from_adam(entry: dict[str, Any], square: str) -> dict[str, Any]:
    """Return the state of a parameter under our names, ``square`` that of the second; the tensors are the same."""
    names = {"exp_avg": "m", "exp_avg_sq": square, "step": "step"}
    return {names[key]: value for key, value in entry.items()}
