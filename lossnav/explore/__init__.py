"""Explorables: small interactive figures that work in Jupyter and in the published page, where no kernel runs.

Each has a folder: ``model.js`` is its mathematics and ``view.js`` draws it; ``widget.py`` holds its state as traits,
checks it and draws the static twin that stands where no JavaScript runs. What several share lies beside the folders.
Nothing heavy is imported until one is made.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Acceleration": "lossnav.explore.acceleration",
    "BeliefFilter": "lossnav.explore.belief_filter",
    "BelievedEllipse": "lossnav.explore.believed_ellipse",
    "Board": "lossnav.explore.board",
    "BrokenCharge": "lossnav.explore.broken_charge",
    "Certainty": "lossnav.explore.certainty",
    "CloudEdge": "lossnav.explore.cloud_edge",
    "Deadline": "lossnav.explore.deadline",
    "DecayShrinks": "lossnav.explore.decay_shrinks",
    "DiscountExponent": "lossnav.explore.discount_exponent",
    "DiscountedRoot": "lossnav.explore.discounted_root",
    "ExactStep": "lossnav.explore.exact_step",
    "Explorable": "lossnav.explore.base",
    "DoubleWell": "lossnav.explore.double_well",
    "DriftField": "lossnav.explore.drift_field",
    "Extremals": "lossnav.explore.extremals",
    "FadingBelief": "lossnav.explore.fading_belief",
    "FilterGains": "lossnav.explore.filter_gains",
    "FollowedBack": "lossnav.explore.followed_back",
    "ForgottenNoise": "lossnav.explore.forgotten_noise",
    "Horizon": "lossnav.explore.horizon",
    "KappaSteps": "lossnav.explore.kappa_steps",
    "MetricEllipse": "lossnav.explore.metric_ellipse",
    "ModeMemory": "lossnav.explore.mode_memory",
    "MomentumWindow": "lossnav.explore.momentum_window",
    "MovingNetwork": "lossnav.explore.moving_network",
    "MuonQuintic": "lossnav.explore.muon_quintic",
    "NoiseSpectrum": "lossnav.explore.noise_spectrum",
    "NoisyOscillator": "lossnav.explore.noisy_oscillator",
    "NoisyValley": "lossnav.explore.noisy_valley",
    "NormalArcs": "lossnav.explore.normal_arcs",
    "OtherSelves": "lossnav.explore.other_selves",
    "PathPace": "lossnav.explore.path_pace",
    "PlannedSteps": "lossnav.explore.planned_steps",
    "Postponed": "lossnav.explore.postponed",
    "PullBack": "lossnav.explore.pull_back",
    "PushAndBrake": "lossnav.explore.push_and_brake",
    "RateDrop": "lossnav.explore.rate_drop",
    "RegretRace": "lossnav.explore.regret_race",
    "Renamed": "lossnav.explore.renamed",
    "Preconditioner": "lossnav.explore.preconditioner",
    "ScaleCone": "lossnav.explore.scale_cone",
    "Race": "lossnav.explore.race",
    "StayMap": "lossnav.explore.stay_map",
    "TaskSwitch": "lossnav.explore.task_switch",
    "ValueBounds": "lossnav.explore.value_bounds",
    "WhichDiscount": "lossnav.explore.which_discount",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'lossnav.explore' has no attribute {name!r}")
    folder = _NAMES[name]
    found = getattr(importlib.import_module(folder if name == "Explorable" else f"{folder}.widget"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
