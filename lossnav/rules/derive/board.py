"""Every combination of a few assumptions as plain data: what a board of switches shows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from lossnav import _checks
from lossnav._checks import NoMinimiser
from lossnav.problem import drifts
from lossnav.problem.objective import Objective
from lossnav.rules import assume
from lossnav.rules.derive.derivation import derive
from lossnav.rules.derive.rule import LearningRule

NUMBERS = {
    "eta": 1.0,
    "k": 1.0,
    "gamma": 0.5,
    "j": 0.125,
    "alpha": 0.25,
    "c": 1.0,
    "dt": 0.1,
    "beta": 0.9,
    "memory": 0.999,
}

_BELIEFS = ("belief", "curvature", "metric")
PLACES = {(place.switch, place.name): (kind, place) for kind in assume.kinds() for place in kind.positions()}


def _words(switch: str) -> dict[str, str]:
    """Return what the positions of a switch assume, by their names."""
    return {place.name: place.words for _, place in PLACES.values() if place.switch == switch}


SWITCHES: dict[str, dict[str, str]] = {
    "horizon": {"far": "γ = 0: the whole future counts", "discounted": "γ > 0"},
    "metric": {"plain": "G = 1", **_words("metric")},
    "drift": {"none": "f = 0", "decay": "f = −jθ"},
    "belief": {"exact": "m = g", **_words("belief")},
    "curvature": {"none": "h = 0", **_words("curvature")},
    "time": {"first": "Δθ = Δt·v", "exact": "the flow over all of Δt"},
}

NAMES: dict[tuple[str, ...], str] = {  # horizon, metric, drift, belief, curvature, time
    ("discounted", "plain", "none", "exact", "none", "first"): "SGD",
    ("discounted", "plain", "none", "average", "none", "first"): "heavy ball",
    ("discounted", "plain", "decay", "exact", "none", "first"): "SGDW",
    ("discounted", "plain", "decay", "average", "none", "first"): "SGDW with momentum",
    ("far", "plain", "none", "exact", "instant", "first"): "signSGD",
    ("far", "plain", "none", "average", "signal", "first"): "Signum",
    ("far", "plain", "none", "exact", "average", "first"): "RMSprop",
    ("discounted", "rms", "none", "exact", "none", "first"): "RMSprop, by metric",
    ("far", "plain", "none", "average", "average", "first"): "Adam, ε = 0",
    ("far", "plain", "none", "fading", "average", "first"): "Adam",
    ("discounted", "rms", "none", "average", "none", "first"): "Adam, by metric",
    ("discounted", "rms", "decay", "average", "none", "first"): "AdamW",
}

_SINCE = "its average is corrected as Adam’s is"
NOTES: dict[str, str] = {  # what torch calls these numbers, and what a published optimizer does otherwise
    "SGD": "lr = ηkΔt/γ",
    "heavy ball": f"Polyak’s, or SGD with momentum β: lr = (1 − β)ηkΔt/γ; {_SINCE}",
    "SGDW": "lr = ηkΔt/(γ + j), a decay of jΔt a step",
    "SGDW with momentum": f"lr = (1 − β)ηkΔt/(γ + j), a decay of jΔt a step; {_SINCE}",
    "signSGD": "lr = Δt√(ηk/c)",
    "Signum": "lr = Δt√(ηk/c)",
    "RMSprop": f"the diagonal ballistic rule: lr = Δt√(ηk/c), ε = 0; {_SINCE}",
    "RMSprop, by metric": f"the natural gradient of the metric √V: lr = ηkΔt/γ, ε = 0; {_SINCE}",
    "Adam, ε = 0": "lr = Δt√(ηk/c)",
    "Adam": "lr = Δt√(ηk/c), ε = α/√(ηkc)",
    "Adam, by metric": "lr = ηkΔt/γ, ε = 0",
    "AdamW": "lr = ηkΔt/(γ + j), weight decay j(γ + j)/(ηk), ε = 0",
}


def combinations() -> Iterator[dict[str, str]]:
    """Yield every setting of the switches, as {switch: position}."""
    for positions in itertools.product(*SWITCHES.values()):
        yield dict(zip(SWITCHES, positions, strict=True))


def chosen(positions: Mapping[str, str], **numbers: float) -> LearningRule:
    """Return the rule of a setting of the switches.

    Args:
        positions: {switch: position} for every name in ``SWITCHES``.
        numbers: in place of some in ``NUMBERS``.

    Raises:
        ValueError: a switch or a position does not exist.
        NoMinimiser: there is no plan under these assumptions.
    """
    if set(positions) != set(SWITCHES):
        raise ValueError(f"positions names {sorted(positions)}, but it must name {sorted(SWITCHES)}")
    for switch, position in positions.items():
        _checks.one_of(f"positions[{switch!r}]", position, tuple(SWITCHES[switch]))
    if unknown := sorted(set(numbers) - set(NUMBERS)):
        raise ValueError(f"numbers has {unknown}, but it must be of {sorted(NUMBERS)}")
    x = {**NUMBERS, **numbers}
    drift = drifts.weight_decay(x["j"]) if positions["drift"] == "decay" else None
    gamma = x["gamma"] if positions["horizon"] == "discounted" else 0.0
    believed = {switch: _assumption(switch, positions[switch], x) for switch in _BELIEFS}
    return derive(
        Objective(x["eta"], x["k"], gamma, drift=drift), **believed, dt=x["dt"], exact=positions["time"] == "exact"
    )


def _assumption(switch: str, position: str, numbers: Mapping[str, float]) -> Any:
    """Return the assumption of a position, or None."""
    if (switch, position) not in PLACES:
        return None
    kind, place = PLACES[switch, position]
    return kind(**place.arguments(numbers))


def corner(positions: Mapping[str, str], **numbers: float) -> dict[str, Any]:
    """Return what a board shows for a setting of the switches, as plain data.

    Args:
        positions: as in ``chosen``.
        numbers: as in ``chosen``.

    Returns:
        ``switches`` and ``name`` (of a published optimizer, or None); then either ``refused``, the reason why there is
        no plan, or ``equation`` and ``velocity`` (LaTeX, of one coordinate), ``law`` (the velocity as an expression of
        JavaScript in eta, k, gamma, G, j, alpha, c, V, m, theta), ``source`` (the torch code of a step) and ``python``
        (a call that makes the rule).

    Raises:
        ValueError: as in ``chosen``.
    """
    data: dict[str, Any] = {"switches": dict(positions), "name": None, "refused": None}
    try:
        rule = chosen(positions, **numbers)
    except NoMinimiser as reason:
        return data | {"refused": str(reason)}
    equation, velocity = rule.latex
    return data | {
        "name": NAMES.get(tuple(positions[switch] for switch in SWITCHES)),
        "equation": equation, "velocity": velocity, "law": rule.javascript, "source": rule.source,
        "python": as_python(positions, **numbers),
    }  # fmt: skip


def as_python(positions: Mapping[str, str], **numbers: float) -> str:
    """Return the text of a call that makes the rule of ``chosen``, which has checked the arguments."""
    texts = {switch: words[positions[switch]] for switch, words in arguments(**numbers).items()}
    wants = [texts[switch] for switch in ("horizon", "drift") if texts[switch]]
    dt = {**NUMBERS, **numbers}["dt"]
    assumptions = [texts[switch] for switch in ("belief", "curvature", "metric")]
    parts = [f"ln.Objective({', '.join(wants)})", *assumptions, f"dt={dt!r}", texts["time"]]
    return "import lossnav as ln\n\nrule = ln.derive(\n    " + ",\n    ".join(filter(None, parts)) + ",\n)\n"


def arguments(**numbers: float) -> dict[str, dict[str, str]]:
    """Return what each position of each switch adds to the arguments of ``derive``, or to its objective's."""
    x = {**NUMBERS, **numbers}
    scaled = ", ".join(f"{name}={x[name]!r}" for name in ("eta", "k") if x[name] != 1)
    discount = ", ".join(filter(None, (scaled, f"gamma={x['gamma']!r}")))
    return {
        "horizon": {"far": scaled, "discounted": discount},
        "drift": {"none": "", "decay": f"drift=ln.drifts.weight_decay({x['j']!r})"},
        **{switch: {name: _text(switch, name, x) for name in SWITCHES[switch]} for switch in _BELIEFS},
        "time": {"first": "", "exact": "exact=True"},
    }  # fmt: skip


def _text(switch: str, position: str, numbers: Mapping[str, float]) -> str:
    """Return the argument of ``derive`` that a position is; what is an assumption's default is left out."""
    if (switch, position) not in PLACES:
        return ""
    kind, place = PLACES[switch, position]
    first, *remaining = place.arguments(numbers).items()
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    texts = [repr(first[1]), *(f"{name}={value!r}" for name, value in remaining if value != defaults[name])]
    return f"{switch}=ln.assume.{kind.__name__}({', '.join(texts)})"
