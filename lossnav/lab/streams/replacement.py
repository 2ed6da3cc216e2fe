"""Continual backprop: an optimizer that also replaces the hidden units that the network has no use for."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from lossnav._checks import finite, instance, weight, whole
from lossnav._checks import seed as check_seed
from lossnav._tensors import optimizer as check_optimizer
from lossnav.lab.ensemble import Ensemble, StackedLinear

_TINY = 1e-12  # keeps quotients of what may both be zero finite


class ContinualBackprop:
    """An optimizer, after whose steps the least useful hidden units are replaced by fresh ones.

    Of hidden unit i with output h_i, running mean h̄_i, incoming weights w_in and outgoing weights w_out::

        u_i ← decay · u_i + (1 − decay) · mean|h_i − h̄_i| · Σ|w_out| / Σ|w_in|

    that is, what the next layer hears of it beyond a constant, against what it costs to move. Among the units older
    than ``maturity`` steps a share ``rate`` of each layer is replaced at each step (fractions are saved up), those of
    the smallest u_i/(1 − decay^age): w_in is drawn as at the start, its bias and w_out are zero, and so is the
    optimizer's memory of them. The next layer's bias takes over what the unit said on average, w_out h̄_i.

    Args:
        ensemble: of multilayer perceptrons (Sequential of linear layers and activations); one model is an ensemble too.
        optimizer: of the ensemble's parameters; its state tensors shaped like a parameter are reset with it.
        rate: share of the mature units of a layer replaced at each step, in [0, 1].
        maturity: steps before a new unit may be replaced, >= 0.
        decay: of the running averages, in [0, 1).
        seed: of the new weights, which are uniform with the standard deviation that the layer's weights have when the
            rule is made. torch's global generator is neither read nor moved.

    Attributes:
        replaced: number of units replaced so far, by member (S,).

    Raises:
        ValueError: the models are not multilayer perceptrons with a hidden layer and biases.

    Example:
        >>> from lossnav import models
        >>> several = Ensemble([models.mlp(64, (32, 32), seed=s) for s in range(3)])
        >>> sgd = torch.optim.SGD(several.parameters(), lr=0.1)
        >>> rule = ContinualBackprop(several, sgd, rate=1e-2, maturity=10, seed=0)
        >>> x, y = torch.randn(3, 16, 64), torch.randint(10, (3, 16))
        >>> for _ in range(20):
        ...     rule.zero_grad()
        ...     several.losses(x, y).sum().backward()
        ...     rule.step()
        >>> rule.replaced.tolist()   # 0.01 × 32 units a step since step 11, in each of two layers, in whole units
        [6, 6, 6]

    References:
        Dohare, Hernandez-Garcia, Lan, Rahman, Mahmood, Sutton (2024), "Loss of plasticity in deep continual learning",
        algorithm 1. Batches (the authors' examples come one by one) are ours.
    """

    rate: float
    maturity: int
    decay: float
    replaced: Tensor

    def __init__(
        self, ensemble: Ensemble, optimizer: torch.optim.Optimizer, *, rate: float, maturity: int = 100,
        decay: float = 0.99, seed: int,
    ) -> None:  # fmt: skip
        instance("ensemble", ensemble, Ensemble, "an ensemble.Ensemble")
        check_optimizer("optimizer", optimizer, ensemble.parameters(), "ensemble")
        self.optimizer = optimizer
        self.rate = finite("rate", rate, low=0.0, high=1.0)
        self.maturity = whole("maturity", maturity, low=0)
        self.decay = weight("decay", decay)
        seed = check_seed("seed", seed)
        self._linear = _linear_layers(ensemble)
        self._biases = [layer.bias for layer in self._linear if layer.bias is not None]
        widths = [layer.weight.shape[1] for layer in self._linear[:-1]]
        self._edges = list(accumulate(widths, initial=0))
        self._bounds = [math.sqrt(3.0) * float(layer.weight.detach().std()) for layer in self._linear[:-1]]
        self._features: dict[nn.Module, Tensor] = {}  # of the last forward pass, by the layer that they go into
        for layer in self._linear[1:]:
            layer.register_forward_pre_hook(self._listen)
        like, device = self._linear[0].weight.detach(), self._linear[0].weight.device
        self._generator = torch.Generator(device).manual_seed(seed)
        units = like.new_zeros(ensemble.size, sum(widths))  # all hidden layers side by side
        self._utility, self._mean, self._age = units, units.clone(), units.clone()
        self._saved = like.new_zeros(ensemble.size, len(widths))  # fractions of replacements to come
        self._layer_of = torch.block_diag(*(like.new_ones(width, 1) for width in widths))
        self.replaced = torch.zeros(ensemble.size, dtype=torch.int64, device=device)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        self.optimizer.zero_grad(set_to_none=set_to_none)

    @torch.no_grad()
    def step(self) -> None:
        """Step the optimizer, take the last forward pass into the utilities, and replace what is due.

        Raises:
            RuntimeError: the ensemble has not been called yet.
        """
        self.optimizer.step()
        self._listen_to_all()
        mature = self._age > self.maturity
        self._saved += self.rate * (mature.to(self._saved.dtype) @ self._layer_of)
        if float(self._saved.amax()) >= 1:
            self._replace_due(mature)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimizer, of the utilities and of the generator."""
        return {
            "optimizer": self.optimizer.state_dict(), "generator": self._generator.get_state(),
            **{name: getattr(self, name) for name in _STATE},
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.optimizer.load_state_dict(state_dict["optimizer"])
        self._generator.set_state(state_dict["generator"].cpu())
        for name in _STATE:
            setattr(self, name, state_dict[name].clone())

    def _listen(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if torch.is_grad_enabled():  # an evaluation between two steps is not learned from
            self._features[layer] = inputs[0].detach()

    def _centre(self) -> Tensor:
        """Return the running mean of every unit's output, without the bias of its start."""
        return self._mean / (1 - self.decay**self._age).clamp_(min=_TINY)

    def _listen_to_all(self) -> None:
        """Take the outputs of one batch into the averages of all units."""
        if len(self._features) < len(self._linear) - 1:
            raise RuntimeError("step() came before any forward pass of the ensemble: there are no features to judge")
        outputs = torch.cat([self._features[layer] for layer in self._linear[1:]], dim=-1)
        self._age += 1
        self._mean.lerp_(outputs.mean(1), 1 - self.decay)
        deviation = outputs.sub_(self._centre().unsqueeze(1)).abs_().mean(1)
        # abs().sum() is several times faster on the CPU than vector_norm(·, 1)
        outgoing = torch.cat([layer.weight.abs().sum(1) for layer in self._linear[1:]], dim=-1)
        incoming = torch.cat([layer.weight.abs().sum(2) for layer in self._linear[:-1]], dim=-1)
        self._utility.lerp_(deviation.mul_(outgoing).div_(incoming.clamp_(min=_TINY)), 1 - self.decay)

    def _replace_due(self, mature: Tensor) -> None:
        """Replace as many units as have been saved up for, the least useful of each layer first."""
        worth = self._utility / (1 - self.decay**self._age).clamp_(min=_TINY)
        worth.masked_fill_(~mature, math.inf)
        for number, (start, stop) in enumerate(pairwise(self._edges)):
            order, available = worth[:, start:stop].argsort(1), mature[:, start:stop].sum(1)
            for place in range(min(int(self._saved[:, number].amax()), stop - start)):
                member = ((self._saved[:, number] >= 1) & (available > place)).nonzero().squeeze(1)
                self._saved[member, number] -= 1
                self._replace(number, member, order[member, place])

    def _replace(self, number: int, member: Tensor, unit: Tensor) -> None:
        """Replace one unit of hidden layer ``number`` in each of some members; both indices have shape (m,)."""
        before, after = self._linear[number], self._linear[number + 1]
        column = unit + self._edges[number]
        bias = self._biases[number]
        self._biases[number + 1][member] += after.weight[member, :, unit] * self._centre()[member, column].unsqueeze(1)
        fresh = torch.empty_like(before.weight[member, unit])
        before.weight[member, unit] = fresh.uniform_(
            -self._bounds[number], self._bounds[number], generator=self._generator
        )
        bias[member, unit] = 0.0
        after.weight[member, :, unit] = 0.0
        for parameter, index in (
            (before.weight, (member, unit)), (bias, (member, unit)), (after.weight, (member, slice(None), unit)),
        ):  # fmt: skip
            for value in self.optimizer.state.get(parameter, {}).values():
                if torch.is_tensor(value) and value.shape == parameter.shape:
                    value[index] = 0.0
        for average in (self._utility, self._mean, self._age):
            average[member, column] = 0.0
        self.replaced[member] += 1


def continual_backprop(
    ensemble: Ensemble, lr: float, rate: float, *, maturity: int = 100, decay: float = 0.99, seed: int
) -> ContinualBackprop:
    """Return ``ContinualBackprop`` over gradient descent of rate ``lr``: the rule as experiments and sweeps name it."""
    instance("ensemble", ensemble, Ensemble, "an ensemble.Ensemble")
    sgd = torch.optim.SGD(ensemble.parameters(), lr=finite("lr", lr, low=0.0))
    return ContinualBackprop(ensemble, sgd, rate=rate, maturity=maturity, decay=decay, seed=seed)


_STATE = ("_utility", "_mean", "_age", "_saved", "replaced")


def _linear_layers(ensemble: Ensemble) -> list[StackedLinear]:
    linear = [module for module in ensemble.stacked.children() if isinstance(module, StackedLinear)]
    if not ensemble.batched or len(linear) < 2 or any(layer.bias is None for layer in linear):
        raise ValueError(
            "ensemble must hold multilayer perceptrons, a Sequential of linear layers with biases and activations with "
            "at least one hidden layer: continual backprop replaces their hidden units"
        )
    return linear
