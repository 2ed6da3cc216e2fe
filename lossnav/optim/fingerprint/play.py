"""An optimizer's steps on gradients that somebody made up: no loss, no network, nothing but the class's own lines."""

from __future__ import annotations

import contextlib
import itertools
import random
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Maker = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


class Refused(Exception):
    """The optimizer cannot be fed with gradients; the message says what it did instead."""


@contextlib.contextmanager
def alone(seed: int) -> Iterator[None]:
    """Seed whatever an optimizer may draw from, of torch, NumPy and Python; put it back, and let nothing warn."""
    generator_states = random.getstate(), np.random.get_state()  # noqa: NPY002  strangers draw from it
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(generator_states[0])
            np.random.set_state(generator_states[1])  # noqa: NPY002


class Player:
    """Plays gradients to fresh copies of an optimizer.

    Attributes:
        make: from parameters to the optimizer.
        dtype: of the weights, float64 where the optimizer takes it.
        closure: whether ``step`` has to be given what computes the loss and its gradient.
        coupled: λ of an L2 term that the optimizer adds to a gradient by itself, < 0 uphill; ``pure`` takes it off.
        decoupled: the share of the weights that each step takes away; ``pure`` gives it back.
    """

    def __init__(self, make: Maker):
        self.make = make
        self.coupled, self.decoupled = 0.0, np.zeros(1)
        start, gradient, complaints = np.ones((2, 3)), np.ones((1, 2, 3)), []
        for self.closure, self.dtype in itertools.product((False, True), (torch.float64, torch.float32)):
            complaint = self._complaint([start], [gradient])
            if not complaint:
                return
            complaints.append(complaint)
        first, last = complaints[0], complaints[2]
        raise Refused(first if first == last else f"{first}; with a closure: {last}")

    def _complaint(self, starts: list[Array], gradients: list[Array]) -> str:
        try:
            self.play(starts, gradients)
        except Refused as refusal:
            return str(refusal)
        except Exception as error:  # whatever a stranger's code raises is the answer
            words = " ".join(str(error).split())
            return f"{type(error).__name__}: {words[:160]}"
        return ""

    def play(
        self, starts: Sequence[Array], gradients: Sequence[Array], seed: int = 0, pull: float = 0.0
    ) -> list[Array]:
        """Return the steps, (T, …) for each tensor.

        Args:
            starts: the weights of each tensor.
            gradients: for each tensor, (T, …).
            seed: of all that the optimizer may draw.
            pull: λ; the gradient that is given has λθ taken off.

        Raises:
            Refused: the steps are not finite, or ``step`` wants the gradient at other weights than it was called with.
        """
        with alone(seed):
            weights = [torch.nn.Parameter(torch.tensor(start, dtype=self.dtype)) for start in starts]
            optimizer = self._made(weights)
            steps: list[list[Array]] = [[] for _ in starts]
            for arrays in zip(*gradients, strict=True):
                before = [weight.detach().clone() for weight in weights]
                pulled = [torch.tensor(g, dtype=self.dtype) - pull * old for g, old in zip(arrays, before, strict=True)]
                self._step(optimizer, weights, before, pulled)
                for tensor_steps, weight, old in zip(steps, weights, before, strict=True):
                    tensor_steps.append((weight.detach() - old).double().numpy())
        stacked = [np.array(each) for each in steps]
        if not all(np.isfinite(each).all() for each in stacked):
            raise Refused("its steps are not finite")
        return stacked

    def _made(self, weights: list[torch.nn.Parameter]) -> Any:
        """Return a fresh optimizer, in the mode for training where it has one."""
        optimizer = self.make(weights)
        if hasattr(optimizer, "train"):
            optimizer.train()
        return optimizer

    def _step(
        self, optimizer: Any, weights: list[torch.nn.Parameter], before: list[Tensor], gradients: list[Tensor]
    ) -> None:
        """Make one step; the loss of a closure is linear, with the made-up gradient everywhere."""
        if not self.closure:
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient
            optimizer.step()
            return
        calls, away = 0, 0.0

        def closure() -> Tensor:
            nonlocal calls, away
            calls += 1
            away = max(away, *(float((w - old).norm()) for w, old in zip(weights, before, strict=True)))
            with torch.enable_grad():
                optimizer.zero_grad()
                loss = torch.stack([(w * g).sum() for w, g in zip(weights, gradients, strict=True)]).sum()
                loss.backward()
            return loss

        optimizer.step(closure)
        if away > 0:
            raise Refused(
                f"it is called {calls} times in a step, at weights up to {away:.1g} away: "
                "its step is no function of the gradient at its weights"
            )

    def pure(self, start: Array, gradients: Array, seed: int = 0) -> Array:
        """Return the steps (T, m, n) on gradients that it is to see, without its decay."""
        (steps,) = self.play([start], [gradients], seed, pull=self.coupled)
        places = start + np.concatenate([np.zeros((1, *start.shape)), np.cumsum(steps, axis=0)[:-1]])
        share = np.resize(self.decoupled, len(steps)) if len(self.decoupled) < len(steps) else self.decoupled
        return np.asarray(steps + share[: len(steps), None, None] * places)

    def state_bytes(self) -> float:
        """Return bytes of state for each float32 weight of a matrix, after four steps."""
        weight, optimizer = self._running((32, 48), 4)
        seen: dict[int, int] = {}
        for tensor in _tensors([optimizer.state, [{**g, "params": None} for g in optimizer.param_groups]]):
            if tensor is not weight and tensor is not weight.grad:
                seen[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return sum(seen.values()) / weight.numel()

    def cost(self) -> float:
        """Return how much longer a step takes than one of torch's SGD after it, in the median, on one matrix, here."""
        pair = [(player, *player._running((64, 64), 3)) for player in (self, Player(torch.optim.SGD))]
        ratios = []
        for _ in range(30):
            own, sgd = (player._time(optimizer, weight) for player, weight, optimizer in pair)
            ratios.append(own / sgd)
        return statistics.median(ratios)

    def _time(self, optimizer: Any, weight: torch.nn.Parameter) -> float:
        start = time.perf_counter()
        self._step(optimizer, [weight], [weight.detach().clone()], [torch.ones_like(weight)])
        return time.perf_counter() - start

    def _running(self, shape: tuple[int, int], steps: int) -> tuple[torch.nn.Parameter, Any]:
        with alone(0):
            weight = torch.nn.Parameter(torch.randn(shape))
            optimizer = self._made([weight])
            for _ in range(steps):
                self._step(optimizer, [weight], [weight.detach().clone()], [torch.randn(shape)])
        return weight, optimizer


def _tensors(nested: Any) -> Iterable[Tensor]:
    """Yield the tensors in nested mappings and lists."""
    if isinstance(nested, Tensor):
        yield nested
    elif isinstance(nested, dict):
        for entry in nested.values():
            yield from _tensors(entry)
    elif isinstance(nested, list | tuple):
        for entry in nested:
            yield from _tensors(entry)
