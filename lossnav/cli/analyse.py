"""predict how a trained torch network moves, and measure it

Curvature and the noise of batches are measured at the points that the network visits. From these alone follow its
speed, how far it gets in how many steps, and the angle by which scale-invariant layers turn. Then it runs a few
thousand steps of SGD with momentum, and prediction stands beside measurement.

MODULE:FUNCTION is a function of yours that is looked for from the current folder on: --model's returns a torch module
(--model-option gives it arguments), --data's a pair of tensors (inputs, targets) or a torch data set, --loss's takes
outputs and targets and returns the mean loss. CHECKPOINT is what torch.save has made of a state_dict, or a checkpoint
of lossnav train; η, β, S and λ that are left out are read from it, where it has them.

examples:
  lossnav train --data digits --optimizer sgd --lr 0.02 --option momentum=0.9 --option weight_decay=2e-3 --clip none \\
      --model-option hidden=[32] --batch-size 64 --epochs 300 --checkpoint run.ckpt
  lossnav analyse run.ckpt --data digits --model mlp --model-option hidden=[32]
  lossnav analyse mine.pt --model mine:network --data mine:examples --eta 0.01 --beta 0.9 --batch-size 64 --decay 1e-3
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from lossnav.cli.train import add_places
from lossnav.cli.values import pair, table
from lossnav.lab.experiment import DATA, MODELS, Experiment

NAME = "analyse"
_LOSSES = ("cross_entropy", "mse_loss")
_SMALL = 100_000  # weights below which one thread is faster than several


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav analyse``."""
    own = "or MODULE:FUNCTION"
    parser.add_argument("checkpoint", metavar="CHECKPOINT", type=Path, help="trained weights")
    parser.add_argument("--model", metavar="MODEL", default="mlp", help=f"{', '.join(MODELS)} {own}")
    parser.add_argument("--model-option", dest="model_options", type=pair, action="append", default=[],
                        metavar="NAME=VALUE", help="further argument of the model; may be repeated")  # fmt: skip
    parser.add_argument("--data", metavar="DATA", help=f"what batches are drawn from: {', '.join(DATA)} {own}")
    parser.add_argument("--train-size", metavar="N", type=int, help="take only the first so many examples")
    parser.add_argument("--loss", metavar="LOSS", default="cross_entropy", help=f"{', '.join(_LOSSES)} {own}")
    group = parser.add_argument_group("setting of SGD")
    group.add_argument("--eta", "--lr", metavar="X", type=float, help="learning rate η")
    group.add_argument("--beta", metavar="X", type=float, help="momentum β")
    group.add_argument("--batch-size", metavar="S", type=int, help="examples a step")
    group.add_argument("--decay", metavar="X", type=float, help="weight decay λ, added to the gradient")
    group.add_argument("--sampling", choices=("independent", "distinct", "epochs"), default="independent",
                       help="S draws with replacement, S different examples, or shuffled epochs")  # fmt: skip
    parser.add_argument("--steps", metavar="N", type=int, default=3000, help="of the run that is measured")
    parser.add_argument("--burn", metavar="N", type=int, default=2000, help="before it; they settle the network")
    parser.add_argument("--examples", metavar="N", type=int, default=5000, help="for curvature and noise")
    parser.add_argument("--modes", metavar="N", type=int, default=20, help="eigenpairs of the Hessian")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of batches")
    parser.add_argument("--eval", action="store_true", help="run the model in evaluation mode: frozen normalisation")
    parser.add_argument("--anyway", action="store_true", help="compare even if the network is not at rest")
    parser.add_argument("--device", metavar="X", default="auto", help="auto, cpu, cuda, mps")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_places(parser)


def run(parsed: argparse.Namespace) -> int:
    """Analyse and print; the exit code is 3 (by an exception) if the network is not at rest."""
    if parsed.data is None:
        raise ValueError("--data is needed, for the noise is that of batches: name a data set, or MODULE:FUNCTION")
    import torch

    from lossnav.lab import moving, training

    place = training.pick_device(parsed.device)
    pairs, dataset = _data(parsed)
    model = _model(parsed, dataset)
    state, known = _checkpoint(parsed.checkpoint)
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"CHECKPOINT = {str(parsed.checkpoint)!r} does not fit --model: {reason}") from None
    model.to(place).train(not parsed.eval)
    if place.type == "cpu" and sum(p.numel() for p in model.parameters()) < _SMALL:
        torch.set_num_threads(1)
    found = moving.analyse(
        model, (pairs[0].to(place), pairs[1].to(place)), _setting(parsed, known), loss=_loss(parsed.loss),
        steps=parsed.steps, burn=parsed.burn, modes=parsed.modes, examples=parsed.examples, seed=parsed.seed,
        anyway=parsed.anyway,
    )  # fmt: skip
    print(_json(found) if parsed.json else _text(found))
    return 0


def _text(found: Any) -> str:
    basin, setting = found.basin, found.forecast.setting
    lines = [
        f"setting        {setting}; temperature η/(S(1−β)) = {setting.temperature:.3g}",
        f"weights        {found.run.final.numel()}, examples {basin.examples}",
        f"noise          tr Σ = {basin.trace:.4g}, from {basin.traces.min():.4g} to {basin.traces.max():.4g} at the "
        f"{len(basin.traces)} points",
    ]
    if basin.has_curvature:
        values = ", ".join(f"{value:.3g}" for value in basin.values[:4])
        lines.append(f"curvature      ρ = {values}, …; stable up to η(ρ+λ) = {2 * (1 + setting.beta):g}, "
                     f"here {setting.eta * (basin.values[0] + setting.decay):.3g}")  # fmt: skip
    rows = [(row.name, f"{row.predicted:.4g}", f"{row.measured:.4g}", f"{row.ratio:.3f}") for row in found.rows]
    lines += ["", table([("", "predicted", "measured", "ratio"), *rows])]
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _json(found: Any) -> str:
    from dataclasses import asdict

    rows = [{"name": row.name, "predicted": row.predicted, "measured": row.measured} for row in found.rows]
    basin = found.basin
    content = {
        "setting": asdict(found.forecast.setting), "traces": basin.traces.tolist(), "curvatures": basin.values.tolist(),
        "rows": rows, "notes": list(found.notes),
    }  # fmt: skip
    return json.dumps(content)


def _setting(parsed: argparse.Namespace, known: dict[str, Any]) -> Any:
    from lossnav.lab import moving

    given = {"eta": parsed.eta, "beta": parsed.beta, "batch": parsed.batch_size, "decay": parsed.decay}
    values: dict[str, Any] = {name: known.get(name) if value is None else value for name, value in given.items()}
    flags = {"eta": "--eta", "beta": "--beta", "batch": "--batch-size", "decay": "--decay"}
    missing = [flags[name] for name, value in values.items() if value is None]
    if missing:
        raise ValueError(f"{', '.join(missing)}: not given, and not in the checkpoint")
    return moving.Setting(**values, sampling=parsed.sampling)


def _checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a state_dict, and what the file tells of η, β, S and λ."""
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # torch, zipfile and pickle raise a dozen kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"CHECKPOINT = {str(path)!r} cannot be read as tensors ({reason}): save model.state_dict(), not the model"
        ) from None
    if not isinstance(content, dict):
        raise ValueError(f"CHECKPOINT = {str(path)!r} holds a {type(content).__name__}, but it must hold a state_dict")
    state = next((content[key] for key in ("model", "state_dict", "model_state_dict") if key in content), content)
    groups = content.get("optimizer", {}).get("param_groups", []) if isinstance(content.get("optimizer"), dict) else []
    names = {"eta": "lr", "beta": "momentum", "decay": "weight_decay"}
    known = {name: groups[0].get(key) for name, key in names.items()} if len(groups) == 1 else {}
    history = content.get("history")
    if isinstance(history, dict) and isinstance(history.get("settings"), dict):
        known["batch"] = history["settings"].get("batch_size")
    return state, known


def _data(parsed: argparse.Namespace) -> tuple[Any, Any]:
    """Return inputs and targets, and the data set if it is one of ours."""
    from lossnav.lab import data

    if parsed.data in DATA:
        dataset = data.load(parsed.data, parsed.root, not parsed.no_download)
        if parsed.train_size is not None:
            dataset = dataset.head(parsed.train_size, len(dataset.test))
        return dataset.train.batch(slice(None)), dataset
    found = _call("--data", parsed.data, {}, DATA)
    if isinstance(found, data.Dataset):
        return found.head(parsed.train_size or len(found.train), len(found.test)).train.batch(slice(None)), found
    inputs, targets = _pair(parsed.data, found)
    return (inputs[: parsed.train_size], targets[: parsed.train_size]), None


def _pair(name: str, found: Any) -> tuple[Any, Any]:
    """Return tensors of a pair of tensors, or of a collection of pairs (input, target)."""
    import torch

    if isinstance(found, (tuple, list)) and len(found) == 2 and all(map(torch.is_tensor, found)):
        return found[0], found[1]
    try:
        rows = [found[index] for index in range(len(found))]
        inputs = torch.stack([torch.as_tensor(row[0]) for row in rows])
        return inputs, torch.stack([torch.as_tensor(row[1]) for row in rows])
    except Exception:
        what = f"a {type(found).__name__}"
        raise ValueError(
            f"--data = {name!r} returned {what}, but it must be a pair of tensors (inputs, targets), or a torch data "
            "set of such pairs, with one example at least"
        ) from None


def _model(parsed: argparse.Namespace, dataset: Any) -> Any:
    from torch import nn

    if parsed.model in MODELS:
        if dataset is None:
            raise ValueError(f"--model = {parsed.model!r} goes with {', '.join(DATA)}: with your data, name your own")
        from lossnav.lab.experiment import make_model

        name = dataset.name if dataset.name in DATA else DATA[0]
        return make_model(Experiment(data=name, model=parsed.model, model_options=dict(parsed.model_options)), dataset)
    found = _call("--model", parsed.model, dict(parsed.model_options), MODELS)
    if not isinstance(found, nn.Module):
        raise ValueError(f"--model = {parsed.model!r} returned a {type(found).__name__}, but it must be a torch module")
    return found


def _loss(name: str) -> Any:
    from torch.nn import functional

    return getattr(functional, name) if name in _LOSSES else _function("--loss", name, _LOSSES)


def _call(flag: str, name: str, options: dict[str, Any], known: tuple[str, ...]) -> Any:
    try:
        return _function(flag, name, known)(**options)
    except TypeError as error:
        raise ValueError(f"{flag} = {name!r} cannot be called so: {error}") from None


def _function(flag: str, name: str, known: tuple[str, ...]) -> Any:
    """Return the function that MODULE:FUNCTION names, looked for in the current folder, too."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"{flag} = {name!r}, but it must be one of {', '.join(known)}, or MODULE:FUNCTION")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name != module.partition(".")[0] and error.name != module:
            raise  # the module is there, and lacks something itself
        raise ValueError(f"{flag} = {name!r} is not found from {here}: {error}") from None
    if not callable(found):
        raise ValueError(f"{flag} = {name!r} is a {type(found).__name__}, but it must be a function")
    return found
