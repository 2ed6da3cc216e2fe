"""What are all optimizers of torch, and all of ``pytorch-optimizer``? Each is measured from its steps, and let loose.

Each is fingerprinted with the options that it comes with, and with a weight decay if it has one; what ``ln.explain``
derives is played beside it; and on the six landscapes of the chapter on regret it goes down at each of nine rates, of
which the one with the least regret counts. Run it as

    python studies/atlas.py
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import warnings
from collections.abc import Callable
from importlib.metadata import metadata, version
from typing import Any

import numpy as np
import torch

import lossnav as ln
from lossnav.lab.study import Measurement, Study, main, six
from lossnav.optim.fingerprint import measures
from lossnav.optim.fingerprint.play import Player, Refused, alone

COLLECTION = "pytorch_optimizer"
TORCH = (
    "Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "Muon", "NAdam", "RAdam", "RMSprop",
    "Rprop", "SGD", "SparseAdam",
)  # fmt: skip
RATES = tuple(float(f"{10**x:.3g}") for x in np.arange(-4, 0.5, 0.5))
ARRIVED, NEAR, FAR = 1e-4, 0.02, 1e3  # of the first loss; of a well; of everything
DECAY = 0.1

Params = list[torch.nn.Parameter]
NEEDED: dict[str, dict[str, Any]] = {  # arguments without a default
    "BSAM": {"num_data": 1}, "Ranger21": {"num_iterations": 400}, "SGD": {"lr": 1e-2}, "A2Grad": {"lr": None},
}  # fmt: skip


class Weights(torch.nn.Module):
    """What is given to those that want a model."""

    def __init__(self, params: Params):
        super().__init__()
        self.weights = torch.nn.ParameterList(params)


def maker(place: str, name: str, **options: Any) -> Callable[[Params], torch.optim.Optimizer]:
    """Return what makes an optimizer from parameters, as its documentation says that it is made."""
    kind = getattr(importlib.import_module(place), name)
    known = inspect.signature(kind.__init__).parameters
    options = {**NEEDED.get(name, {}), **options}
    if "max_lr" in known and "lr" in options:
        options["max_lr"] = options.pop("lr")

    def make(params: Params) -> torch.optim.Optimizer:
        first: Any = params
        if "model" in known:
            first = Weights(params)
        elif "optimizer" in known:  # it goes around another one
            wrapped = {name: options[name] for name in ("lr", "weight_decay") if name in options}
            return kind(torch.optim.AdamW(params, **wrapped))
        elif place == COLLECTION and "ns_steps" in known:
            first = [
                {"params": [p for p in params if (p.ndim > 1) is matrices], "use_muon": matrices}
                for matrices in (True, False) if any((p.ndim > 1) is matrices for p in params)
            ]  # fmt: skip
        return kind(first, **options)

    return make


def has(place: str, name: str, option: str) -> bool:
    """Return whether an optimizer has an option."""
    known = inspect.signature(getattr(importlib.import_module(place), name).__init__).parameters
    return option in known or "optimizer" in known or (option == "lr" and "max_lr" in known)


def names() -> list[tuple[str, str]]:
    """Return place and name of each class, those that the collection takes over from torch only once."""
    collection = importlib.import_module(COLLECTION)
    kinds = {collection.load_optimizer(name) for name in collection.get_supported_optimizers()}
    own = sorted((kind.__name__ for kind in kinds if not kind.__module__.startswith("torch.")), key=str.lower)
    return [*(("torch.optim", name) for name in TORCH), *((COLLECTION, name) for name in own)]


def links() -> dict[str, str]:
    """Return where a paper is, by the name in the table of the collection's description, in small letters."""
    found = {}
    for row in re.findall(r"^\| ([^|]+)\|[^|]*\|([^|]*)\|([^|]*)\|", str(metadata("pytorch-optimizer")), re.MULTILINE):
        address = re.search(r"\[paper\]\((http[^)]+)\)", row[2]) or re.search(r"\]\((http[^)]+)\)", row[1])
        if address:
            found[re.sub(r"\W", "", row[0]).lower()] = address[1]
    return found


def link(place: str, name: str) -> str:
    """Return where an optimizer is described: its paper, if the collection names one, else its documentation."""
    if place == "torch.optim":
        return f"https://docs.pytorch.org/docs/stable/generated/torch.optim.{name}.html"
    page = f"https://pytorch-optimizers.readthedocs.io/en/latest/optimizer/#{COLLECTION}.{name}"
    return links().get(name.lower(), page)


# ------------------------------------------------------------------------------------------------------ read, explained


def explained(make: Callable[[Params], torch.optim.Optimizer]) -> dict[str, Any]:
    """Return what ``explain`` says, and how far its rule is from the optimizer on the same gradients."""
    try:
        reading = ln.explain(make([torch.nn.Parameter(torch.ones(measures.SHAPE))]))[0]
    except ValueError:
        return {"listed": False, "assumptions": "", "why": "", "apart": None}
    found = {"listed": True, "assumptions": reading.assumptions, "why": reading.why, "apart": None}
    if reading.rule is not None:
        start, gradients = measures.weights(0), measures.gradients(0, 40)
        (theirs,) = Player(make).play([start], [gradients])
        theta, state, ours = start, reading.rule.init(start), []
        for g in gradients:
            step, state = reading.rule(g + reading.penalty * theta, state, theta)
            theta = theta + step
            ours.append(step)
        found["apart"] = six(measures.apart(theirs, np.array(ours)))
    return found


def decayed(place: str, name: str) -> str | None:
    """Return of which kind a weight decay is, if there is one to ask for."""
    if not has(place, name, "weight_decay"):
        return None
    try:
        return measures.decay(Player(maker(place, name, weight_decay=DECAY)))
    except Refused:
        return None


# ----------------------------------------------------------------------------------------------------------- landscapes


def landscapes() -> dict[str, tuple[Any, np.ndarray, int, list[np.ndarray]]]:
    """Return loss, start, number of steps and the minima of each landscape of the chapter on regret."""
    several = np.geomspace(1, 100, 5)
    curvatures: dict[str, Any] = {"κ = 1": (1, 1), "κ = 10": (1, 10), "κ = 100": (1, 100), "five curvatures": several}
    well, bowls = ln.losses.DoubleWell(d=-0.5), {}
    for name, values in curvatures.items():
        rest = np.zeros(len(values))
        bowls[name] = (
            ln.losses.Quadratic(np.diag(np.asarray(values, dtype=float)), minimum=rest),
            rest + 1,
            400,
            [rest],
        )
    return {
        **bowls, "two wells": (well, np.array([-0.6, 1.0]), 400, list(well.stationary_points()[[0, 2]])),
        "Rosenbrock": (ln.losses.Rosenbrock(), np.array([-1.2, 1.0]), 1000, [np.ones(2)]),
    }  # fmt: skip


def descended(
    make: Callable[[Params], torch.optim.Optimizer], loss: Any, start: np.ndarray, steps: int, low: float
) -> np.ndarray:
    """Return the path of one run, (N, D), until its loss is below ``low``, or it is lost, or its steps are made."""
    with alone(0):
        weight = torch.nn.Parameter(torch.tensor(start))
        optimizer: Any = make([weight])
        if hasattr(optimizer, "train"):
            optimizer.train()
        path = [start]
        while len(path) <= steps and np.all(np.abs(path[-1]) < FAR) and loss.value(path[-1]) >= low:
            weight.grad = torch.tensor(loss.gradient(path[-1]))
            optimizer.step()
            path.append(weight.detach().numpy().copy())
    return np.array(path)


def bill(loss: Any, path: np.ndarray, rests: list[np.ndarray], lowest: float, left: list[float]) -> float:
    """Return J at γ = 0, η = k = 1 under the best Δt, with what the optimum from the end on pays (L20).

    A loss of degree four is integrated exactly along a step; at the end the loss is its quadratic at the minimum.
    """
    steps = np.diff(path, axis=0)
    nodes, shares = np.polynomial.legendre.leggauss(3)
    between = path[:-1, None] + ((1 + nodes) / 2)[:, None] * steps[:, None]
    along = ((loss.value(between) - lowest) @ shares).sum() / 2
    at = int(np.argmin([np.linalg.norm(path[-1] - rest) for rest in rests]))
    curvature, axes = np.linalg.eigh(loss.hessian(rests[at]))
    ahead = left[at] + 0.5 * np.sqrt(curvature) @ (axes.T @ (path[-1] - rests[at])) ** 2
    return float(2 * np.sqrt((steps**2).sum() / 2 * along) + ahead)


def regrets(place: str, name: str) -> dict[str, Any]:
    """Return for each landscape the least regret over V, and its rate; None where no rate arrives."""
    rates = RATES if has(place, name, "lr") else (None,)
    found: dict[str, Any] = {}
    for land, (loss, start, steps, rests) in landscapes().items():
        lowest = min(float(loss.value(rest)) for rest in rests)
        least = ln.solve(ln.Objective(), loss, start, rtol=1e-6).excess
        wells = len(rests) > 1
        left = [ln.solve(ln.Objective(), loss, rests[0], rtol=1e-6).excess, 0.0] if wells else [0.0]
        low = -math.inf if wells else lowest + ARRIVED * (float(loss.value(start)) - lowest)
        best: tuple[float, float | None] | None = None
        for rate in rates:
            make = maker(place, name, **({} if rate is None else {"lr": rate}))
            try:
                path = descended(make, loss, start, steps, low)
            except Exception as error:  # it does not take a vector
                found[land] = {"regret": None, "lr": None, "why": f"{type(error).__name__}: {error}"[:120]}
                break
            near = min(float(np.linalg.norm(path[-1] - rest)) for rest in rests)
            if near < NEAR if wells else loss.value(path[-1]) < low:
                cost = bill(loss, path, rests, lowest, left) / least - 1
                best = min(best or (math.inf, None), (cost, rate))
        else:
            found[land] = (
                {"regret": six(best[0]), "lr": best[1], "why": ""}
                if best
                else {"regret": None, "lr": None, "why": "no rate arrives"}
            )
    return found


# ---------------------------------------------------------------------------------------------------------------- study


def one(dataset: None, seed: int, place: str, name: str) -> dict[str, Any]:
    """Return the row of an optimizer."""
    row: dict[str, Any] = {"place": place, "name": name, "link": link(place, name)}
    make = maker(place, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make([torch.nn.Parameter(torch.ones(measures.SHAPE))])
        except Exception as error:
            return row | {"failed": f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]}
        seen = ln.fingerprint(make)
        row |= {"failed": "", "fingerprint": rounded(seen.to_dict()), "explain": explained(make)}
        return row | {
            "decay": decayed(place, name),
            "landscapes": {} if seen.refused or seen.closure else regrets(place, name),
        }


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """Return numbers with four digits, symmetries that are rounding as zero."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(entry) for entry in value]
        return float(f"{value:.4g}") if isinstance(value, float) and abs(value) > 1e-9 else 0.0 if value == 0 else value

    return {name: short(value) if not isinstance(value, bool) else value for name, value in found.items()}


def wanted() -> list[Measurement]:
    """Return a measurement for each class."""
    return [Measurement("", 0, one, {"place": place, "name": name}) for place, name in names()]


def config() -> dict[str, Any]:
    """Return how the record describes itself."""
    return {"collection": version("pytorch-optimizer"), "rates": list(RATES), "arrived": ARRIVED, "decay": DECAY}


STUDIES = {"atlas": Study(wanted, config=config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
