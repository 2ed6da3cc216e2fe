"""The recipes of book/stacks.md in the loops of Lightning, Hugging Face's Trainer and accelerate; on a CPU, no network.

The losses are Σ xᵢwᵢ²/2, averaged over the batch: their Hessian is diag(mean x), and z ⊙ Hz is its diagonal for any
signs z. So what Navigator must have learned and where it must be follow in closed form, also for gradients that are
accumulated over batches.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lossnav import optim

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")

PAGE = Path(__file__).parents[2] / "book" / "stacks.md"
DIM, BATCH, COUNT, EPOCHS = 4, 3, 24, 2  # 8 batches an epoch
BETA, RATE = 0.7, 0.2


@pytest.fixture(autouse=True)
def frozen() -> None:
    """The loops of others collect garbage after each step: what was there before them need not be looked through."""
    gc.freeze()


def recipe(package: str) -> dict[str, Any]:
    """What the page's block of code about a package defines."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if package in block]
    namespace: dict[str, Any] = {"__name__": "stacks"}
    exec(compile(block, str(PAGE), "exec"), namespace)
    return namespace


def inputs():
    return torch.rand(COUNT, DIM, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.1


class Bowl(nn.Module):
    """Σ xᵢwᵢ²/2, and a note of the weights that each batch saw."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.linspace(0.5, 2.0, DIM, dtype=torch.float64))
        self.seen = []

    def forward(self, x):
        if self.training:
            self.seen.append(self.w.detach().clone())
        return {"loss": 0.5 * (x * self.w**2).sum(1).mean()}


def navigator(model, **options):
    return optim.Navigator(model.parameters(), lr=RATE, beta=BETA, curvature="hutchinson", **options)


def uncertain(model):
    return optim.Uncertain(model.parameters(), lr=0.05, temperature=0.05, sample=True, seed=5)


def navigated(accumulated: int, steps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Weights and average of h after the steps, in closed form."""
    means = inputs().numpy().reshape(-1, BATCH * accumulated, DIM).mean(1)
    w, h = np.linspace(0.5, 2.0, DIM), np.zeros(DIM)
    for n, mean in enumerate([*means, *means][:steps], start=1):
        h = BETA * h + (1 - BETA) * mean
        curvature = h / (1 - BETA**n) + 1e-8
        w = w + np.expm1(-RATE * np.sqrt(curvature)) / curvature * mean * w
    return w, h


def sampled_by_hand(accumulated: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Weights after the epochs, and what each batch saw, by a loop that makes a step's gradient in one draw."""
    model = Bowl()
    rule = uncertain(model)
    for _ in range(EPOCHS):
        for group in inputs().split(BATCH * accumulated):
            with rule.sampled():
                for x in group.split(BATCH):
                    (model(x)["loss"] / accumulated).backward()
            rule.step()
            rule.zero_grad()
    return model.w.detach(), model.seen


def check_sampled(model: Bowl, rule: optim.Uncertain, accumulated: int) -> None:
    """The batches of a step saw one draw, those of the next another, and the weights are the means."""
    expected, weights = sampled_by_hand(accumulated)
    torch.testing.assert_close(model.w.detach(), expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(torch.stack(model.seen), torch.stack(weights), rtol=1e-12, atol=1e-14)
    groups = torch.stack(model.seen).reshape(-1, accumulated, DIM)
    assert (groups == groups[:, :1]).all() and len(groups[:, 0].unique(dim=0)) == len(groups)


def check_navigated(model: Bowl, rule: optim.Navigator, accumulated: int, steps: int | None = None) -> None:
    w, h = navigated(accumulated, steps)
    np.testing.assert_allclose(model.w.detach().numpy(), w, rtol=1e-10)
    np.testing.assert_allclose(rule.state[model.w]["h"].numpy(), h, rtol=1e-10)


WAYS = [("curved", navigator, check_navigated), ("sampled", uncertain, check_sampled)]


def test_observations_before_a_step_add_up_as_gradients_do():
    """They were averages of their own: h came out too small by the number of batches, without a word."""
    for accumulated in (1, 2, 4):
        model = Bowl()
        rule = navigator(model, every=1, probes=2)
        for group in inputs().split(BATCH * accumulated):
            for x in group.split(BATCH):
                value = model(x)["loss"] / accumulated
                rule.observe(value)
                value.backward()
            rule.step()
            rule.zero_grad()
        check_navigated(model, rule, accumulated, steps=8 // accumulated)
        assert rule.state[model.w]["seen"] == 8 // accumulated


def test_each_part_of_an_observation_has_signs_of_its_own(monkeypatch):
    from lossnav import _random

    names = []
    signs = _random.signs
    monkeypatch.setattr(_random, "signs", lambda like, *name: (names.append(name), signs(like, *name))[1])
    model = Bowl()
    rule = navigator(model, probes=2)
    for x in inputs().split(BATCH):
        value = model(x)["loss"]
        rule.observe(value)
        value.backward()
        if len(names) % 3:
            rule.step()
            rule.zero_grad()
    assert len(names) == 16 == len(set(names))


def test_sampling_again_repeats_a_draw_until_it_is_used():
    model = Bowl()
    rule = uncertain(model)

    def drawn(**how):
        with rule.sampled(**how):
            return model.w.detach().clone()

    first = drawn(again=True)
    assert torch.equal(drawn(again=True), first) and not torch.equal(drawn(), first)
    with rule.sampled():
        model(inputs())["loss"].backward()
    rule.step()
    second = drawn(again=True)
    assert torch.equal(drawn(again=True), second)


# --- Lightning


@pytest.fixture
def lightning():
    package = pytest.importorskip("pytorch_lightning")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    return package


def fit(lightning, module, tmp_path, epochs, **options):
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=epochs, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        **{k: v for k, v in options.items() if k != "ckpt_path"},
    )  # fmt: skip
    loader = DataLoader(TensorDataset(inputs()), batch_size=BATCH)
    trainer.fit(module, loader, ckpt_path=options.get("ckpt_path"))
    return trainer


def lightning_module(base, rule, **attributes):
    class Module(base):
        def __init__(self):
            super().__init__()
            self.bowl = Bowl()
            for name, value in attributes.items():
                setattr(self, name, value)

        def loss(self, batch):
            return self.bowl(batch[0])["loss"]

        def configure_optimizers(self):
            self.rule = rule(self.bowl)
            return self.rule

    if "training_step" not in vars(base):
        Module.training_step = lambda self, batch, index: self.loss(batch)
    return Module()


@pytest.mark.parametrize("accumulated", [1, 2])
def test_lightning_shows_each_loss_to_the_rule(lightning, tmp_path, accumulated):
    module = lightning_module(recipe("pytorch_lightning")["Curved"], navigator)
    fit(lightning, module, tmp_path, EPOCHS, accumulate_grad_batches=accumulated)
    check_navigated(module.bowl, module.rule, accumulated)


@pytest.mark.parametrize("accumulated", [1, 2])
def test_lightning_takes_gradients_at_draws(lightning, tmp_path, accumulated):
    module = lightning_module(recipe("pytorch_lightning")["Sampled"], uncertain, batches_a_step=accumulated)
    trainer = fit(lightning, module, tmp_path, EPOCHS)
    check_sampled(module.bowl, module.rule, accumulated)
    assert trainer.global_step == 16 // accumulated


@pytest.mark.parametrize(("name", "rule"), [("Curved", navigator), ("Sampled", uncertain)])
def test_lightning_resumes(lightning, tmp_path, name, rule):
    base = recipe("pytorch_lightning")[name]
    unbroken, first, second = (lightning_module(base, rule) for _ in range(3))
    fit(lightning, unbroken, tmp_path, EPOCHS)
    fit(lightning, first, tmp_path, 1).save_checkpoint(tmp_path / "half.ckpt")
    fit(lightning, second, tmp_path, EPOCHS, ckpt_path=str(tmp_path / "half.ckpt"))
    assert torch.equal(second.bowl.w, unbroken.bowl.w) and not torch.equal(first.bowl.w, unbroken.bowl.w)


def test_lightning_takes_the_others_as_they_are(lightning, tmp_path):
    """Automatic optimization with a closure, a schedule, clipping and accumulation: as the loop written out."""

    def rule(model):
        return optim.Belief(model.parameters(), lr=0.05, discount=0.1)

    class Scheduled(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.bowl = Bowl()

        def training_step(self, batch, index):
            return self.bowl(batch[0])["loss"]

        def configure_optimizers(self):
            self.rule = rule(self.bowl)
            plan = torch.optim.lr_scheduler.CosineAnnealingLR(self.rule, T_max=EPOCHS)
            return [self.rule], [plan]

    module = Scheduled()
    fit(lightning, module, tmp_path, EPOCHS, accumulate_grad_batches=2, gradient_clip_val=0.5)
    model = Bowl()
    by_hand = rule(model)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(by_hand, T_max=EPOCHS)
    for _ in range(EPOCHS):
        for x in inputs().split(2 * BATCH):
            by_hand.zero_grad()
            model(x)["loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            by_hand.step()
        plan.step()
    torch.testing.assert_close(module.bowl.w, model.w, rtol=1e-10, atol=1e-12)


# --- Hugging Face


class Rows(torch.utils.data.Dataset):
    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index):
        return {name: values[index] for name, values in self.columns.items()}


@pytest.fixture
def transformers():
    pytest.importorskip("accelerate")
    package = pytest.importorskip("transformers")
    package.logging.set_verbosity_error()
    return package


def hugging(transformers, base, model, rule, folder, epochs=EPOCHS, rows=None, resume=None, **options):
    class InOrder(base):
        def get_train_dataloader(self):
            return self.accelerator.prepare(DataLoader(self.train_dataset, batch_size=BATCH))

    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=epochs, per_device_train_batch_size=BATCH, use_cpu=True,
        report_to=[], disable_tqdm=True, max_grad_norm=0.0, logging_strategy="no",
        **{"save_strategy": "no", "lr_scheduler_type": "constant", **options},
    )  # fmt: skip
    trainer = InOrder(model=model, args=arguments, train_dataset=rows or Rows(x=inputs()), optimizers=(rule, None))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


@pytest.mark.parametrize("accumulated", [1, 2])
@pytest.mark.parametrize(("kind", "make", "check"), WAYS)
def test_the_trainer_shows_each_loss_or_takes_draws(transformers, tmp_path, kind, make, check, accumulated):
    model = Bowl()
    rule, base = make(model), recipe("transformers")[f"{kind.title()}Trainer"]
    hugging(transformers, base, model, rule, tmp_path, gradient_accumulation_steps=accumulated)
    check(model, rule, accumulated)


def language_model(transformers):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=8, n_embd=8, n_layer=1, n_head=2, attn_implementation="eager",
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


LANGUAGE = {
    "CurvedTrainer": lambda p: optim.Navigator(p, lr=0.05, gamma=1.0, curvature="hutchinson", every=2),
    "SampledTrainer": lambda p: optim.Uncertain(p, lr=0.01, temperature=1e-3, sample=True),
    "Trainer": lambda p: optim.Belief(p, lr=0.01, discount=1e-3, fused=True),
}


@pytest.mark.parametrize("name", LANGUAGE)
def test_the_trainer_resumes_a_language_model(transformers, tmp_path, name):
    """A GPT-2 of one layer, whose loss is divided by tokens; a schedule to 0; half-way, and on: the same bits."""
    base = {**recipe("transformers"), "Trainer": transformers.Trainer}[name]
    tokens = torch.randint(0, 17, (12, 6), generator=torch.Generator().manual_seed(1)) // 4
    rows = Rows(input_ids=tokens, labels=tokens)
    options = {"gradient_accumulation_steps": 2, "lr_scheduler_type": "linear", "rows": rows}
    weights = {}
    for part in ("whole", "first", "second"):
        model = language_model(transformers)
        before = model(input_ids=tokens, labels=tokens).loss.item()
        rule = LANGUAGE[name](model.parameters())
        folder = tmp_path / ("whole" if part == "whole" else "parts")
        resume = str(folder / "checkpoint-2") if part == "second" else None
        if part == "first":  # cut off after two of the four steps that are planned
            hugging(transformers, _stopping(transformers, base), model, rule, folder, save_strategy="steps",
                    save_steps=2, **options)  # fmt: skip
        else:
            hugging(transformers, base, model, rule, folder, resume=resume, **options)
            assert model(input_ids=tokens, labels=tokens).loss.item() < before
        weights[part] = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert torch.equal(weights["second"], weights["whole"]) and not torch.equal(weights["first"], weights["whole"])


def _stopping(transformers, base):
    class Stop(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = state.global_step == 2

    class Stopping(base):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            self.add_callback(Stop())

    return Stopping


# --- accelerate


@pytest.fixture
def accelerator_of():
    accelerate = pytest.importorskip("accelerate")
    state = importlib.import_module("accelerate.state")

    def make(accumulated):
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()
        return accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulated)

    yield make
    state.AcceleratorState._reset_state(reset_partial_state=True)
    state.GradientState._reset_state()


def accelerated(accelerator, name, rule, folder=None, epochs=range(EPOCHS)):
    """Train for the epochs, from the state in ``folder`` if they are not the first, and leave the state there."""
    step = recipe("accelerator.accumulate")[name]
    model = Bowl()
    bare_optimizer = rule(model)
    loader = DataLoader(TensorDataset(inputs()), batch_size=BATCH)
    model_, optimizer, loader = accelerator.prepare(model, bare_optimizer, loader)
    if epochs[0] > 0:
        accelerator.load_state(folder)
    for _ in epochs:
        for batch in loader:
            step(accelerator, model_, optimizer, batch, lambda m, b: m(b[0])["loss"])
    if folder is not None:
        accelerator.save_state(folder)
    return model, bare_optimizer


@pytest.mark.parametrize("accumulated", [1, 2])
@pytest.mark.parametrize(("kind", "make", "check"), WAYS)
def test_accelerate_shows_each_loss_or_takes_draws(accelerator_of, kind, make, check, accumulated):
    check(*accelerated(accelerator_of(accumulated), f"{kind}_step", make), accumulated)


@pytest.mark.parametrize(("name", "rule"), [("curved_step", navigator), ("sampled_step", uncertain)])
def test_accelerate_resumes(accelerator_of, tmp_path, name, rule):
    unbroken, _ = accelerated(accelerator_of(2), name, rule)
    accelerated(accelerator_of(2), name, rule, tmp_path / "state", range(1))
    second, _ = accelerated(accelerator_of(2), name, rule, tmp_path / "state", range(1, EPOCHS))
    assert torch.equal(second.w, unbroken.w)


def test_a_prepared_optimizer_is_not_watched_itself_but_the_one_in_it_is(accelerator_of):
    model = Bowl()
    optimizer = accelerator_of(1).prepare(torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(ValueError, match=r"the one that it wraps: .* optimizer\.optimizer"), optim.watch(optimizer):
        pass
    with optim.watch(optimizer.optimizer) as seen:
        model.w.grad = torch.ones_like(model.w)
        optimizer.step()
    assert seen.steps == 1
