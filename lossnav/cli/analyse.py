"""predict how a trained torch network moves, and measure it

Curvature and the noise of batches are measured at the points that the network visits. From these alone follow its
speed, how far it gets in how many steps, and the angle by which scale-invariant layers turn. Then it runs a few
thousand steps of SGD with momentum, or of AdamW, and prediction stands beside measurement.

AdamW is SGD in other coordinates while the mean square V of its gradients stands still: all rows are of these.

MODULE:FUNCTION is a function of yours, as for lossnav train; --loss's takes outputs and targets, and returns the mean
loss. CHECKPOINT is what torch.save has made of a state_dict, or a checkpoint
of lossnav train; η, β, S and λ that are left out are read from it, where it has them.

examples:
  lossnav train --data digits --optimizer sgd --lr 0.02 --option momentum=0.9 --option weight_decay=2e-3 --clip none \\
      --model-option hidden=[32] --batch-size 64 --epochs 300 --checkpoint run.ckpt
  lossnav analyse run.ckpt --data digits --model mlp --model-option hidden=[32]
  lossnav analyse mine.pt --model mine:network --data mine:examples --eta 0.01 --beta 0.9 --batch-size 64 --decay 1e-3
  lossnav analyse mine.pt --model mine:network --data mine:examples --eta 1e-3 --beta 0.9 --beta2 0.999 --decay 0.1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lossnav._checks import whole
from lossnav.cli.train import add_places, add_settings
from lossnav.cli.values import table
from lossnav.lab.experiment import DATA, Experiment, make_model, own
from lossnav.lab.experiment.building import load_data

_LOSSES = ("cross_entropy", "mse_loss")
_OPTIONS = {"eta": "eta", "beta": "beta", "batch": "batch_size", "decay": "decay"}  # of a moving.Setting's numbers
_SMALL = 100_000  # weights below which one thread is faster than several


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav analyse``."""
    yours = "or MODULE:FUNCTION"
    parser.add_argument("checkpoint", metavar="CHECKPOINT", type=Path, help="trained weights")
    add_settings(parser, ("model", "model_options", "train_size", "device"))
    parser.add_argument("--data", metavar="DATA", help=f"what batches are drawn from: {', '.join(DATA)} {yours}")
    parser.add_argument("--loss", metavar="LOSS", default="cross_entropy", help=f"{', '.join(_LOSSES)} {yours}")
    group = parser.add_argument_group("setting of SGD, or of AdamW")
    group.add_argument("--eta", "--lr", metavar="X", type=float, help="learning rate: η, or AdamW's lr")
    group.add_argument("--beta", metavar="X", type=float, help="momentum β, or AdamW's β₁")
    group.add_argument("--beta2", metavar="X", type=float, help="AdamW's β₂: the rule is AdamW")
    group.add_argument("--batch-size", metavar="S", type=int, help="examples a step")
    group.add_argument("--decay", metavar="X", type=float,
                       help="weight decay λ, added to SGD's gradient, beside AdamW's")  # fmt: skip
    group.add_argument("--sampling", choices=("independent", "distinct", "epochs"), default="independent",
                       help="S draws with replacement, S different examples, or shuffled epochs")  # fmt: skip
    parser.add_argument("--steps", metavar="N", type=int, default=3000, help="of the run that is measured")
    parser.add_argument("--burn", metavar="N", type=int, default=2000, help="before it; they settle the network")
    parser.add_argument("--examples", metavar="N", type=int, default=5000, help="for curvature and noise")
    parser.add_argument("--modes", metavar="N", type=int, default=20, help="eigenpairs of the Hessian")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of batches")
    parser.add_argument("--eval", action="store_true", help="run the model in evaluation mode: frozen normalisation")
    parser.add_argument("--anyway", action="store_true", help="compare even if the network is not at rest")
    add_places(parser)


def run(parsed: argparse.Namespace) -> int:
    """Analyse and print; the exit code is 3 (by an exception) if the network is not at rest."""
    named = Experiment(data=parsed.data, model=parsed.model, model_options=dict(parsed.model_options))
    import torch

    from lossnav.lab import moving, training
    from lossnav.lab.moving.setting import read

    device = training.pick_device(parsed.device)
    pairs, dataset = _data(parsed)
    if not own.is_own(parsed.model) and dataset is None:
        raise ValueError(f"model = {parsed.model!r} goes with {', '.join(DATA)}: with your data, name your own")
    model = make_model(named, dataset)
    state, known = read(parsed.checkpoint)
    try:
        model.load_state_dict(_unwrapped(state, model.state_dict()))
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"CHECKPOINT = {str(parsed.checkpoint)!r} does not fit --model: {reason}") from None
    model.to(device).train(not parsed.eval)
    if device.type == "cpu" and sum(p.numel() for p in model.parameters()) < _SMALL:
        torch.set_num_threads(1)
    analysis = moving.analyse(
        model, (pairs[0].to(device), pairs[1].to(device)), _setting(parsed, known), loss=_loss(parsed.loss),
        steps=parsed.steps, burn=parsed.burn, modes=parsed.modes, examples=parsed.examples, seed=parsed.seed,
        anyway=parsed.anyway,
    )  # fmt: skip
    print(_text(analysis))
    return 0


def _unwrapped(state: dict[str, Any], own_state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without what wrappers put before each name: DDP, ``torch.compile``, a Lightning module."""
    prefix = next(iter(state), "").removesuffix(next(iter(own_state), ""))
    names = [name.removeprefix(prefix) for name in state]
    return dict(zip(names, state.values(), strict=True)) if names == list(own_state) else state


def _text(analysis: Any) -> str:
    basin, setting = analysis.basin, analysis.forecast.setting
    lines = [
        f"setting        {setting}; temperature η/(S(1−β)) = {setting.temperature:.3g}",
        f"weights        {analysis.run.final.numel()}, examples {basin.examples}",
        f"noise          tr Σ = {basin.trace:.4g}, from {basin.traces.min():.4g} to {basin.traces.max():.4g} at the "
        f"{len(basin.traces)} points",
    ]
    if basin.has_curvature:
        values = ", ".join(f"{value:.3g}" for value in basin.values[:4])
        lines.append(f"curvature      ρ = {values}, …; stable up to η(ρ+λ) = {2 * (1 + setting.momentum):g}, "
                     f"here {setting.eta * (basin.values[0] + setting.decay):.3g}")  # fmt: skip
    rows = [(row.name, f"{row.predicted:.4g}", f"{row.measured:.4g}", f"{row.ratio:.3f}") for row in analysis.rows]
    lines += ["", table([("", "predicted", "measured", "ratio"), *rows])]
    lines += [f"note: {note}" for note in analysis.notes]
    return "\n".join(lines)


def _setting(parsed: argparse.Namespace, known: dict[str, Any]) -> Any:
    from lossnav.lab import moving

    given = {name: getattr(parsed, option) for name, option in _OPTIONS.items()}
    values: dict[str, Any] = {name: known.get(name) if value is None else value for name, value in given.items()}
    second = known.get("second") if parsed.beta2 is None else parsed.beta2
    if known.get("rule", "SGD") not in ("SGD", "AdamW") and None in values.values():
        raise ValueError(
            f"CHECKPOINT is of a run of {known['rule']}, and what is predicted is SGD with momentum or AdamW: give "
            "--eta, --beta, --batch-size and --decay of the one that is to move from there, and of AdamW --beta2"
        )
    if missing := [f"--{_OPTIONS[name].replace('_', '-')}" for name, value in values.items() if value is None]:
        raise ValueError(f"{', '.join(missing)}: not given, and not in the checkpoint")
    if second is None:
        return moving.Setting(**values, sampling=parsed.sampling)
    eps = known.get("eps", 1e-8)
    return moving.Setting.adamw(
        values["eta"], (values["beta"], second), values["batch"], values["decay"], eps=eps, sampling=parsed.sampling
    )


def _data(parsed: argparse.Namespace) -> tuple[Any, Any]:
    """Return inputs and targets, and the data set if it is one that has a training split."""
    from lossnav.lab import data

    is_own = own.is_own(parsed.data)
    found = own.call("data", parsed.data, {}) if is_own else load_data(parsed.data, parsed.root, not parsed.no_download)
    dataset = found if isinstance(found, data.Dataset) else None
    inputs, targets = own.pairs(parsed.data, found) if dataset is None else (dataset.train.x, dataset.train.y)
    size = len(inputs)
    if parsed.train_size is not None:
        size = whole("--train-size", parsed.train_size, low=1, high=size)
    return (inputs[:size], targets[:size]) if dataset is None else dataset.train.batch(slice(size)), dataset


def _loss(name: str) -> Any:
    from torch.nn import functional

    own.check("loss", name, _LOSSES)
    return own.function("loss", name) if own.is_own(name) else getattr(functional, name)
