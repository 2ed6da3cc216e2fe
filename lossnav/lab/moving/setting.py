"""The numbers that a run of SGD, or of AdamW, is set by, and the way its batches are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lossnav._checks import array, finite, instance, one_of, positive, weight, whole
from lossnav.lab import archive

SAMPLINGS = ("independent", "distinct", "epochs")


@dataclass(frozen=True)
class Setting:
    """v ← βv − g_B − λθ, θ ← θ + ηv, with batches B of S examples; or what AdamW is in its own coordinates.

    Attributes:
        eta: η, > 0.
        beta: β, in [0, 1).
        batch: S, >= 1.
        decay: λ, >= 0.
        sampling: "independent": S draws from all examples, with replacement, which is what the theory assumes;
            "distinct": S different examples, each batch drawn anew; "epochs": a shuffled pass over all, then the next.
        second: β₂ of AdamW, in [0, 1); None is SGD. Then η and λ are those of the SGD that AdamW is in
            φ = (√V + ε)^{1/2}θ while its V stands still, and β is β₁; ``adamw`` makes them of AdamW's own numbers.
        eps: AdamW's ε, >= 0.

    Raises:
        ValueError: a number is out of range; names it.
    """

    eta: float
    beta: float = 0.9
    batch: int = 64
    decay: float = 0.0
    sampling: str = "independent"
    second: float | None = None
    eps: float = 1e-8

    @classmethod
    def adamw(
        cls, lr: float, betas: tuple[float, float] = (0.9, 0.999), batch: int = 64, weight_decay: float = 0.01,
        *, eps: float = 1e-8, sampling: str = "independent",
    ) -> Setting:  # fmt: skip
        """Return the setting of ``torch.optim.AdamW`` with these numbers: η = lr(1−β₁), β = β₁, λ as it is."""
        positive("lr", lr)
        finite("weight_decay", weight_decay, low=0.0, high=1 / lr)
        pair = array("betas", betas, shape=(2,)).tolist()
        first, second = (weight(f"betas[{i}]", beta) for i, beta in enumerate(pair))
        return cls(lr * (1 - first), first, batch, weight_decay, sampling, second, eps)

    def __post_init__(self) -> None:
        positive("eta", self.eta)
        weight("beta", self.beta)
        whole("batch", self.batch, low=1)
        finite("decay", self.decay, low=0.0)
        one_of("sampling", self.sampling, SAMPLINGS)
        if self.second is not None:
            weight("second", self.second)
        finite("eps", self.eps, low=0.0)

    def __str__(self) -> str:
        """Return the numbers in one line."""
        sgd = f"η = {self.eta:g}, β = {self.beta:g}, S = {self.batch}, λ = {self.decay:g}"
        if self.second is None:
            return sgd
        return f"AdamW, lr = {self.eta / (1 - self.beta):g}, β₂ = {self.second:g}: SGD in its coordinates with {sgd}"

    @property
    def momentum(self) -> float:
        """β of the SGD: of AdamW β₁(1 − lr·λ), since its decay acts on θ itself, and is not remembered."""
        return self.beta if self.second is None else self.beta * (1 - self.eta * self.decay / (1 - self.beta))

    @property
    def temperature(self) -> float:
        """T = η/(S(1−β)), which sets how far the weights wander: Var(q_l·θ) = T Σ_ll/(2(ρ_l+λ))."""
        return self.eta / (self.batch * (1 - self.momentum))

    def population(self, examples: int) -> int | None:
        """Return what ``ln.sgd`` calls the population: N if a batch holds different examples, else None."""
        whole("examples", examples, low=1 if self.sampling == "independent" else max(2, self.batch))
        return None if self.sampling == "independent" else examples

    def noise_factor(self, examples: int) -> float:
        """Return the covariance of a batch's gradient over that of an example's: 1/S, or (N−S)/(S(N−1))."""
        population = self.population(examples)
        return 1 / self.batch if population is None else (population - self.batch) / (self.batch * (population - 1))

    def draw(self, examples: int, count: int, generator: torch.Generator) -> Tensor:
        """Return the examples of ``count`` batches, (count, S); of an epoch, all its whole batches."""
        self.population(examples)
        whole("count", count, low=1)
        instance("generator", generator, torch.Generator, "a torch.Generator")
        if self.sampling == "independent":
            return torch.randint(examples, (count, self.batch), generator=generator)
        if self.sampling == "distinct":
            return torch.stack([torch.randperm(examples, generator=generator)[: self.batch] for _ in range(count)])
        order = torch.randperm(examples, generator=generator)  # what is left over at an epoch's end is left out
        return order[: examples // self.batch * self.batch].view(-1, self.batch)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a state_dict, and what the file tells of the rule, η, β, S and λ; every byte of it is verified.

    Raises:
        ValueError: the file is damaged, or is something else.
    """
    try:
        content = archive.load(path)
    except archive.Damaged as error:
        raise ValueError(f"CHECKPOINT = {str(path)!r} cannot be read ({error}): save model.state_dict()") from None
    if not isinstance(content, dict):
        raise ValueError(f"CHECKPOINT = {str(path)!r} holds a {type(content).__name__}, but it must hold a state_dict")
    state = next((content[key] for key in ("model", "state_dict", "model_state_dict") if key in content), content)
    groups = content.get("optimizer", {}).get("param_groups", []) if isinstance(content.get("optimizer"), dict) else []
    group = groups[0] if len(groups) == 1 else {}
    known: dict[str, Any] = {}  # of other rules nothing: their rate is no η
    if group.get("amsgrad") is False and "decoupled_weight_decay" in group:  # torch's Adam and AdamW
        known = {"eta": group["lr"], "eps": group["eps"], "beta": group["betas"][0], "second": group["betas"][1]}
        if group["decoupled_weight_decay"] or not group["weight_decay"]:  # Adam divides it by √V: it is no λ
            known["decay"] = group["weight_decay"]
    elif group.get("nesterov") is False:  # torch's SGD; RMSprop has a momentum, too
        known = {"eta": group["lr"], "beta": group["momentum"], "decay": group["weight_decay"]}
    history = content.get("history")
    if isinstance(history, dict) and isinstance(history.get("settings"), dict):
        known["batch"] = history["settings"].get("batch_size")
        known["rule"] = history["settings"].get("optimizer")
    return state, known
