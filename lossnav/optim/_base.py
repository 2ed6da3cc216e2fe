"""What every optimizer of the package shares: checks, groups, state, precision. No learning rule lives here."""

from __future__ import annotations

import abc
import copy
import inspect
import math
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import flag, instance, shown
from lossnav._tensors import parameters
from lossnav.optim import _fused, _naming, _scale, _shards, _switch, finite
from lossnav.optim._options import Group, check_rate, check_size, counter, largest_of
from lossnav.rules.derive import LearningRule, Reading

State = dict[str, Any]
Found = tuple[str, str, LearningRule | None]
"""Assumptions, the regime or the reason, and the rule of ``lossnav.derive`` that takes the same steps."""

_HALF = (torch.bfloat16, torch.float16)
_CACHED = 65_536  # numbers of a tensor; a step holds about five tensors, a megabyte or two
# Options of torch's optimizers that not all of ours have: in a group of AdamW's they are not to be dropped unseen.
_FOREIGN = ("amsgrad", "betas", "capturable", "differentiable", "momentum", "nesterov", "weight_decay")


class Rule(torch.optim.Optimizer, abc.ABC):
    """A learning rule as a torch optimizer.

    ``torch.compile(optimizer.step)`` works, and its first call takes as long as that of torch's own optimizers: some
    twenty seconds of a processor for a dozen tensors, where a kernel (``fused``) is built in a quarter of one. A
    compiled step looks at neither rates nor gradients.

    A subclass says which options it has (``defaults``), what they may be (``_check``), what it remembers about a
    parameter (``_start``), how it moves (``_update``) and, if there is a kernel that does the same in one pass over
    the memory, how to call it (``_call``). This class sees to the rest:

    * every option may differ between parameter groups, and is checked in each of them;
    * ``_update`` gets lists of tensors of one device and one dtype, so that it can use torch's ``_foreach`` kernels;
      with ``foreach=False`` the lists have length one;
    * of a DTensor (FSDP2, tensor parallelism) each process moves its own part, and the state is sharded alike;
    * bfloat16 and float16 parameters are updated in float32 and keep their state in float32 — a running average with
      β = 0.999 stands still in 8 bits of mantissa, and ε = 1e-8 is zero in float16;
    * the kernel takes the place of ``_update`` wherever it can, unless ``fused`` or ``foreach`` say otherwise;
    * the state follows a parameter whose dtype or device changes after the first step;
    * complex parameters are refused by name (in ``torch.view_as_real`` of one both parts are weights, and move as
      torch's Adam moves them; which of its axes make a matrix only the user can say);
    * so is a rate that a scheduler has made negative, infinite or NaN, before any parameter moves, and any other
      option that was changed to what it must not be;
    * and a gradient on the CPU that is sparse, has inf or NaN, or is so large that its square is inf (of other devices
      nothing is read back), by the parameter's name. A step of fused kernels takes a sixth longer for it:
      ``optimizer.check_gradients = False`` saves that;
    * ``Ballistic`` and ``Navigator`` warn at the first step, on the CPU, where ε or the unit of a curvature decides
      most of it: the loss is then in a unit that the options are not made for.
    """

    _divisors: tuple[str, ...] = ()  # options that a step divides by
    _memory: tuple[str, ...] = ()  # keys that the state of a parameter may have; of none nothing is known
    _needed = 2  # how many of them, from the first on, a state has that is not empty
    _flags: tuple[str, ...] = ()  # options that are True or False, beside those of every rule
    _absent: ClassVar[Group] = {}  # options that ``defaults`` may lack, and what they are then
    _owner: weakref.ref[torch.optim.Optimizer] | None = None
    _sound: dict[int, list[Any]]  # by group the options, but for the rate, that were looked at
    rule: LearningRule | None = None
    """The rule of ``lossnav.derive`` whose ``optimizer`` this is, if it is one's."""
    mixes = False
    """Whether a step mixes the entries of a tensor, so that several networks' tensors cannot be stacked for it."""
    check_gradients = True
    """Whether ``step`` looks for inf and NaN in the gradients before anything moves; False saves the look."""

    def __init__(self, params: ParamsT, defaults: Group) -> None:
        owner = _naming.builder()
        self._owner = None if owner is None else weakref.ref(owner)
        self._sound = {}
        super().__init__(parameters("params", params), {"maximize": False, "foreach": None, "fused": None, **defaults})

    @abc.abstractmethod
    def _check(self, group: Group) -> None:
        """Raise ``ValueError`` unless the options of ``group`` make sense."""

    @abc.abstractmethod
    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        """Add what is missing to the ``state`` of a parameter; make its tensors with ``zeros``."""

    @abc.abstractmethod
    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """Move ``params`` in place. All tensors share a device and a dtype, float32 or float64."""

    def _call(self, group: Group, states: list[State]) -> _fused.Call:
        """Describe the fused kernel's call, or raise ``NoKernel`` with the reason."""
        raise _fused.NoKernel(f"{type(self).__name__} has no fused kernel")

    @property
    def has_kernel(self) -> bool:
        """Whether there is a compiled kernel of the rule."""
        return type(self)._call is not Rule._call

    def _assumed(self, group: Group) -> Found:
        """Return the assumptions behind the options of ``group``, the regime or reason, and the derived rule."""
        raise NotImplementedError(f"{type(self).__name__} states no assumptions")

    def reading(self) -> Reading:
        """Return what ``lossnav.explain`` says of the first group: assumptions, and the derived rule of the same steps.

        Raises:
            NotImplementedError: the rule states none.
        """
        group = self.param_groups[0]
        rate = float(group["lr"])
        # What is assumed is the same at every rate; a rate of 0 is no time of a plan.
        time = rate or (self.rule.dt if self.rule is not None else None) or 1.0
        words, why, rule = self._assumed({**group, "lr": time})
        if rule is not None and rate == 0:
            why, rule = "lr = 0 makes no step: there is a rule at a rate > 0", None
        elif rule is not None and group["maximize"]:
            why, rule = "With maximize = True it goes uphill: a plan goes downhill, give it −g", None
        return Reading(type(self).__name__, words, why, rule)

    def _made_of(self, rule: LearningRule, dt: float) -> Found:
        """Return what ``_assumed`` says where the optimizer was made of a rule, and a step takes the time Δt now."""
        words = "those of its rule"
        if dt != rule.dt and rule.belief.trend is not None:
            return words, f"Its slope in time is that of steps of {rule.dt:g}, and they take {dt:g} now", None
        return words, "The optimizer was made of it", rule if dt == rule.dt else replace(rule, dt=dt)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters; options that it does not name take the optimizer's defaults."""
        super().add_param_group(param_group)
        self._complete(self.param_groups[-1])
        try:
            self._check_group(self.param_groups[-1])
            for parameter in self.param_groups[-1]["params"]:
                if not parameter.is_floating_point():
                    raise ValueError(
                        f"params holds a tensor of dtype {parameter.dtype}, but {type(self).__name__} needs real "
                        "floating-point parameters (split a complex one with torch.view_as_real)"
                    )
        except ValueError:
            self.param_groups.pop()  # a refused group must not be half added
            raise

    def _check_group(self, group: Group) -> None:
        """Bring the options of a group to their present form, and raise ``ValueError`` unless they make sense."""
        for name in ("maximize", *self._flags):
            flag(name, group[name])
        for name in ("foreach", "fused"):
            instance(name, group[name], bool | None, "True, False or None")
        own = {*self._absent, *self.defaults} - {"differentiable"}  # torch's own addition to the defaults
        for name in _FOREIGN:
            if name not in own and group.get(name):
                raise ValueError(
                    f"{name} = {shown(group[name])}, but it must be False or left out: {type(self).__name__} has none"
                )
        self._renew(group)
        self._check(group)
        group.update({name: _plain(value) for name, value in group.items() if name != "params"})
        largest = largest_of(group)
        for name in {**self._absent, **self.defaults}:
            check_size(name, group.get(name), largest, reciprocal=name in self._divisors)

    def _renew(self, group: Group) -> None:
        """Rewrite options of a group that are spelled in an older way."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient.

        Args:
            closure: optional; clears the gradients, computes the loss, calls ``backward()`` and returns the loss.

        Returns:
            What ``closure`` returned, or None.

        Raises:
            RuntimeError: a gradient is sparse.
            ValueError: an option is what it must not be, as a rate that a scheduler has made negative, infinite or
                NaN, or a gradient on the CPU is not finite (see ``check_gradients``); no parameter has moved then, and
                no state has changed. All processes that have parts of the model (FSDP2, ZeroRedundancyOptimizer) raise
                together.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check_options()
        # All that can be wrong is looked at before anything moves: by all processes, also those that only prepare.
        judges = self._judges()
        if judges:
            self._check_gradients()
        if not torch.compiler.is_compiling() and not self.state and self._only_prepares():
            return loss
        if judges and not self.state:
            _scale.look(type(self).__name__, self.param_groups, self._decides)
        self._look()
        repeats = not torch.compiler.is_compiling()
        for group in self.param_groups:
            # What was launched before, with the same tensors, needs no lists.
            if repeats and _fused.wanted(self, group) and _fused.again(self, group):
                continue
            for params in self._batches(group):
                self._move(group, params)
        return loss

    def _judges(self) -> bool:
        """Whether it looks for what is not finite."""
        return self.check_gradients and not torch.compiler.is_compiling() and not finite.is_judged_elsewhere()

    def _check_gradients(self) -> None:
        """Raise unless the gradients on the CPU are finite and, if need be, their squares."""
        finite.check(self.param_groups, squares=self._squares(), owner=self._owning())

    def _squares(self) -> bool:
        """Whether the rule squares gradients."""
        return True

    def _check_options(self) -> None:
        """Raise unless a step can be made with the options, which schedulers and users move between steps."""
        if torch.compiler.is_compiling():  # a rate is a symbol there
            return
        for group in self.param_groups:
            rate = group["lr"]
            if torch.is_tensor(rate):
                check_rate("lr", rate)
                rate = rate.item() if rate.device.type == "cpu" else None  # reading it would stall the device
            elif not isinstance(rate, Real):
                check_rate("lr", rate)
            if rate is not None and not 0 <= rate < math.inf:
                raise ValueError(f"lr = {rate}, but it must be a finite number >= 0 in each step")
            now = [group.get(name) for name in (*self._absent, *self.defaults) if name != "lr"]
            if self._sound.get(id(group)) != now:
                self._check_group(group)
                self._sound[id(group)] = copy.deepcopy(now)  # a list of betas may be changed where it lies
            if rate is not None:
                check_size("lr", rate, largest_of(group))
                self._check_rate(group)

    def _check_rate(self, group: Group) -> None:
        """Raise if this rule cannot make a step with a rate that is a number >= 0."""

    def _decides(self, group: Group, square: Tensor) -> dict[str, Tensor]:
        """Say where, of gradients with these squares, an option decides a step in the place of the loss's shape."""
        return {}

    def _look(self) -> None:
        """Look at what the moves will need, before the first of them."""

    def _only_prepares(self) -> bool:
        """Make the state without a step if the rates and all gradients are zero; return whether it was so.

        torch.distributed.checkpoint takes such a step with a fresh optimizer, to see what state it has. It tells
        nothing about the loss, and must neither count nor ask for a sample or a curvature.
        """
        if any(float(group["lr"]) != 0 for group in self.param_groups):
            return False
        moved = [(p, group) for group in self.param_groups for p in group["params"] if p.grad is not None]
        if any(p.grad.layout != torch.strided for p, _ in moved):
            return False
        if any(not p.grad.is_meta and _shards.whole((p.grad != 0).sum()) for p, _ in moved):
            return False
        for parameter, group in moved:
            self._state_of(parameter, group)
        return True

    def _batches(self, group: Group) -> Iterable[list[Tensor]]:
        """Split the parameters with a gradient into lists that one foreach call can take."""
        params = [p for p in group["params"] if p.grad is not None]
        for p in params:
            finite.check_dense(p, p.grad)
        foreach = group["foreach"]
        if foreach is None:  # tensor subclasses (quantised weights …) may not implement the foreach kernels
            foreach = all(type(_shards.local(p)) in _shards.PLAIN for p in params)
        if not foreach:
            return [[p] for p in params]
        batches: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        for p in params:
            batches.setdefault((p.device, p.dtype), []).append(p)
        return batches.values()

    def _move(self, group: Group, params: list[Tensor]) -> None:
        states = [self._state_of(p, group) for p in params]
        grads = [p.grad for p in params if p.grad is not None]
        # Of what is spread over processes each moves its own part.
        homes = params
        if any(map(_shards.is_sharded, params)):
            grads = [
                _shards.local(_shards.laid_out_as(p, g, "the gradient")) for p, g in zip(params, grads, strict=True)
            ]
            homes = [_shards.local(p) for p in params]
            states = [_shards.seen(p, s) for p, s in zip(params, states, strict=True)]
        # Half precision moves in float32, and is written back.
        half = params[0].dtype in _HALF
        work = [p.float() for p in homes] if half else homes
        grads = [g.to(work[0].dtype) for g in grads]  # nothing, if it has the dtype
        if not (_fused.wanted(self, group) and _fused.step(self, group, work, grads, states)):
            for part in self._portions(work):
                self._update(group, work[part], grads[part], states[part])
        if half and len(homes) > 1:
            torch._foreach_copy_(homes, work)
        elif half:  # a tensor subclass, which comes alone, may not implement the foreach kernels
            homes[0].copy_(work[0])
        if homes is not params:  # autograd must know that the values it may have saved are gone
            for p in params:
                torch.autograd.graph.increment_version(p)

    def _portions(self, work: list[Tensor]) -> Iterable[slice]:
        """Cut the tensors of a batch into those that ``_update`` gets at once."""
        return portions(work)

    def _state_of(self, parameter: Tensor, group: Group) -> State:
        state = self.state[parameter]
        home = (parameter.device, _state_dtype(parameter))
        spread = _shards.is_sharded(parameter)
        for key, value in state.items():
            if key != "step" and torch.is_tensor(value):
                if (value.device, value.dtype) != home:
                    value = state[key] = value.to(*home)
                if (spread and value.ndim) or (not spread and _shards.is_sharded(value)):
                    state[key] = _shards.laid_out_as(parameter, value, f"the state {key!r}")
        self._start(parameter, group, state)
        return state

    def __getstate__(self) -> State:
        chosen = {key: value for key, value in vars(self).items() if key in ("check_gradients", "rule")}
        return {**super().__getstate__(), **chosen}

    def __setstate__(self, state: State) -> None:
        """Restore, giving options that an older state does not know their defaults."""
        super().__setstate__(state)
        self._sound = {}
        for group in self.param_groups:
            self._complete(group)
            self._renew(group)
        for entry in self.state.values():
            if "step" in entry:
                entry["step"] = counter(entry["step"])

    def _complete(self, group: Group) -> None:
        """Give an option that the group does not have its default."""
        for key, value in {**self._absent, **self.defaults}.items():
            if key != "differentiable":  # torch's own addition to the defaults, none of our options
                group.setdefault(key, value)

    def load_state_dict(self, state_dict: State) -> None:
        """Restore a copy of a state made by ``state_dict``, bit for bit.

        torch would round the float32 state of a bfloat16 parameter to bfloat16 on the way, and share the tensors of
        any other with the optimizer that the state came from; here it keeps its bits and they part.

        Raises:
            ValueError: an option or a step counter in it is out of range, or it is the state of another optimizer or
                a part of one. This one is then what it was.
        """
        final: list[State] = []  # the state that is loaded, after all hooks that may replace it

        def check(_: Any, loaded: State) -> State:
            final.append(self._read_state(loaded))
            return final[0]

        before = self.register_load_state_dict_pre_hook(check)
        after = self.register_load_state_dict_post_hook(lambda _: self._keep_bits(final[0]), prepend=True)
        try:
            super().load_state_dict(state_dict)
        finally:
            before.remove()
            after.remove()

    def _read_state(self, state_dict: State) -> State:
        """Return a saved state in the form of this rule, or raise ``ValueError``."""
        own_groups = self.param_groups  # as many, or torch will say so
        options = set(self.defaults) | set(self._absent)
        arguments = inspect.signature(type(self)).parameters.keys()  # a ZeroRedundancyOptimizer's groups keep them all
        groups, states = list(state_dict["param_groups"]), dict(state_dict["state"])
        for i, (saved, own) in enumerate(zip(groups, own_groups, strict=False)):
            # A state of Adam's is brought to the form of this rule; then each group is checked as one of its own.
            if _switch.is_adams(saved) and not _switch.is_adams(own) and (square := self._adopts(saved, own)):
                taken = {key: value for key, value in saved.items() if key in own or key in _switch.SCHEDULED}
                groups[i] = saved = {**own, **taken}
                for key in saved["params"]:
                    if key in states:
                        states[key] = _switch.from_adam(states[key], square)
            _switch.check_same_rule(type(self).__name__, saved, own, options, arguments)
            group = {**saved, "params": own["params"]}
            self._complete(group)
            self._check_group(group)
        shapes = {key: p.shape for key, p in zip(_parameters(groups), self._parameters(), strict=False)}
        for key, entry in states.items():
            needed = self._memory[: self._needed]
            _switch.check_memory(type(self).__name__, entry, self._known(entry), needed)
            if "step" in entry:
                counter(entry["step"])
            if key in shapes:
                _switch.check_shapes(entry, self._shapes(shapes[key], entry))
        return {**state_dict, "param_groups": groups, "state": states}

    def _known(self, entry: State) -> Collection[str]:
        """Return what the rule can remember of a parameter; ``entry`` is what was saved."""
        return self._memory or entry

    def _shapes(self, shape: torch.Size, entry: State) -> dict[str, torch.Size]:
        """Return the shapes that the tensors in ``entry`` have for a parameter of this one, as far as it decides."""
        return {key: shape for key, value in entry.items() if key != "step" and torch.is_tensor(value)}

    def _adopts(self, saved: Group, own: Group) -> str:
        """Return as what the rule goes on with Adam's average of g², or "" if it does not; raise if it may not."""
        return ""

    def _keep_bits(self, state_dict: State) -> None:
        """Put copies of the saved tensors where torch has put rounded ones, or the saved ones themselves."""
        saved_ids = _parameters(state_dict["param_groups"])
        for saved_id, parameter in zip(saved_ids, self._parameters(), strict=True):
            half = parameter.dtype in _HALF
            for key, value in state_dict["state"].get(saved_id, {}).items():
                if key == "step":  # torch makes float32 of one for fused=True
                    self.state[parameter][key] = counter(value).clone()
                elif half and torch.is_tensor(value):
                    self.state[parameter][key] = value.to(parameter.device, torch.float32, copy=True)
                elif torch.is_tensor(value) and self.state[parameter][key] is value:
                    self.state[parameter][key] = value.clone()

    def _all_groups(self) -> list[Group]:
        """Return the caller's groups: inside a ZeroRedundancyOptimizer those with the parameters of all processes."""
        owner = self._owning()
        return self.param_groups if owner is None else owner.param_groups

    def _owning(self) -> Any:
        """Return the ZeroRedundancyOptimizer that gave this optimizer some of its parameters, or None."""
        return None if self._owner is None else self._owner()

    def _parameters(self) -> Iterator[Tensor]:
        return _parameters(self.param_groups)


def _parameters(groups: Iterable[Group]) -> Iterator[Any]:
    """Return the parameters of all groups, in a saved state their numbers."""
    return chain.from_iterable(group["params"] for group in groups)


def _plain(option: Any) -> Any:
    """Return a number of numpy's as Python's, also in a pair: a checkpoint holds no other."""
    if isinstance(option, np.generic | np.ndarray):
        return option.item() if option.ndim == 0 else option
    if isinstance(option, tuple):
        return tuple(map(_plain, option))
    if isinstance(option, list):  # which its owner may change where it lies
        option[:] = map(_plain, option)
    return option


def given(arguments: Group, *others: str) -> Group:
    """Return the options among the ``locals()`` of a constructor, whose other arguments are named."""
    return {key: value for key, value in arguments.items() if key not in ("self", "params", "__class__", *others)}


def portions(tensors: list[Tensor]) -> Iterator[slice]:
    """Cut a list so that a portion stays in a processor's cache through all operations of a step.

    On the CPU a foreach operation is a loop over tensors: over the whole list each of them would wait for the memory.
    """
    if not tensors:
        return
    if torch.compiler.is_compiling() or tensors[0].device.type != "cpu":
        yield slice(None)
        return
    first = size = 0
    for i, tensor in enumerate(tensors):
        if size and size + tensor.numel() > _CACHED:
            yield slice(first, i)
            first, size = i, 0
        size += tensor.numel()
    yield slice(first, None)


def zeros(parameter: Tensor) -> Tensor:
    """Return zeros shaped and laid out like the parameter, in the dtype that its state has."""
    return torch.zeros_like(parameter, dtype=_state_dtype(parameter), memory_format=torch.preserve_format)


def _state_dtype(parameter: Tensor) -> torch.dtype:
    return torch.float32 if parameter.dtype in _HALF else parameter.dtype
