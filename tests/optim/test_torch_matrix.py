"""The checks of torch's ``test_optim.py`` that apply to an optimizer on the CPU, on ours and on two of torch's.

Written anew for pytest; the names are torch's, for comparison. ``torch_infos.NOT_PORTED`` lists the rest.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from itertools import product

import pytest

pytest.importorskip("expecttest", reason="torch's test matrix imports it")

import torch
from optim_problem import vector
from torch.nn import Parameter
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.testing._internal.common_optimizers import optim_db
from torch_infos import CONTROLS, NOT_PORTED, OURS

INFOS = [*OURS, *CONTROLS]
FLAGS = {"foreach", "fused", "differentiable"}


def configs(info, dtype=torch.float32):
    """Options of each input of an optimizer with each implementation that it has."""
    impls = [{}, *({flag: True} for flag in info.supported_impls if flag != "differentiable")]
    if "foreach" in info.supported_impls:
        impls.append({"foreach": False})
    return [{**inputs.kwargs, **impl} for inputs, impl in product(info.optim_inputs_func("cpu", dtype), impls)]


every_info = pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)


def every_config(check):
    """Make one test an optimizer of a check that takes options: all of its in turn; where one fails, it is named."""

    def each(info, **more):
        for options in configs(info):
            try:
                check(info, options, **more)
            except Exception as error:
                error.add_note(f"with {options}")
                raise

    signature = inspect.signature(check)
    each.__signature__ = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "options"])
    each.__name__, each.__doc__ = check.__name__, check.__doc__
    return every_info(each)


def make(info, params, options=None):
    return info.optim_cls(params, **copy.deepcopy(options or {}))


def pair(contiguous=True, dtype=torch.float32, seed=0):
    """A weight, a bias and an input of a linear function; not contiguous as slices of something larger."""
    g = torch.Generator().manual_seed(seed)
    shapes = [(10, 5), (10,)] if contiguous else [(10, 5, 2), (10, 2)]
    drawn = [torch.randn(shape, generator=g, dtype=dtype) for shape in shapes]
    weight, bias = (Parameter(x if contiguous else x[..., 0]) for x in drawn)
    return weight, bias, torch.randn(5, generator=g, dtype=dtype)


def closure_of(optimizer, weight, bias, x):
    def closure():
        optimizer.zero_grad()
        value = (weight.mv(x) + bias).pow(2).sum()
        value.backward()
        return value

    return closure


def trained(info, options=None, steps=3, dtype=torch.float32, seed=0):
    """Parameters, their optimizer after some steps, and the closure that takes further ones."""
    weight, bias, x = pair(dtype=dtype, seed=seed)
    optimizer = make(info, [weight, bias], options)
    closure = closure_of(optimizer, weight, bias, x)
    for _ in range(steps):
        optimizer.step(closure)
    return [weight, bias], optimizer, closure


def same_state(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_the_matrix_is_torchs_and_each_optimizer_of_ours_is_in_it():
    from lossnav import optim

    offered = {name: getattr(optim, name) for name in optim.__all__}
    public = {name for name, it in offered.items() if isinstance(it, type) and issubclass(it, torch.optim.Optimizer)}
    assert {info.name for info in OURS} == {name for name in public if not name.endswith("Reference")}
    assert len(optim_db) >= 14 and all(NOT_PORTED.values())


ERRORS = [(info, error) for info in OURS for error in info.optim_error_inputs_func("cpu", torch.float32)]


@pytest.mark.parametrize(("info", "error"), ERRORS, ids=[f"{i.name}-{e.optimizer_error_input.desc}" for i, e in ERRORS])
def test_errors(info, error):
    optim_input = error.optimizer_error_input
    params = optim_input.params if optim_input.params is not None else [Parameter(torch.randn(2, 3))]
    warns = issubclass(error.error_type, Warning)
    with (pytest.warns if warns else pytest.raises)(error.error_type, match=error.error_regex):
        info.optim_cls(params, **optim_input.kwargs)


@pytest.mark.parametrize("contiguous", [True, False])
@every_config
def test_forloop_goes_right_direction(info, options, contiguous):
    if info in CONTROLS and options.get("fused") and not contiguous:
        return  # torch's fused kernels do not take them
    weight, bias, x = pair(contiguous)
    optimizer = make(info, [weight, bias], options)
    closure = closure_of(optimizer, weight, bias, x)
    first = closure().item()
    for _ in range(10):
        optimizer.step(closure)
    last = closure().item()
    assert last > first if options.get("maximize") else last < first


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("info", OURS, ids=lambda info: info.name)
def test_foreach_and_fused_match_forloop(info, dtype):
    """Also with parameters of several shapes, of no elements and of none to fill, and with odd gradients."""
    g = torch.Generator().manual_seed(0)
    values = [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)
              for shape in ((3, 4), (5,), (), (0, 2), (1,), (4, 3))]  # fmt: skip
    grads = [[torch.randn(v.shape, generator=g, dtype=torch.float64).to(dtype) for v in values] for _ in range(6)]
    for optim_input in info.optim_inputs_func("cpu", dtype):
        weights_by_impl = {}
        impls = [{"foreach": False}, *({flag: True} for flag in info.supported_impls)]
        for impl in impls:
            params = [Parameter(v.clone()) for v in values]
            params[-1] = Parameter(values[-1].clone().t())  # not contiguous
            optimizer = make(info, params, {**optim_input.kwargs, **impl})
            for n, row in enumerate(grads):
                for k, (p, v) in enumerate(zip(params, row, strict=True)):
                    p.grad = v.clone().t() if k == 5 else v.clone()
                params[1].grad = None if n % 3 == 2 else grads[n][1][:1].expand(5)  # one number for all: stride 0
                optimizer.step()
            weights_by_impl[str(impl)] = torch.cat([p.detach().flatten() for p in params])
        first = weights_by_impl[str(impls[0])]
        eps = torch.finfo(dtype if dtype == torch.float64 else torch.float32).eps
        for weights in weights_by_impl.values():
            tolerance = (
                {"rtol": 64 * eps, "atol": 64 * eps} if dtype != torch.bfloat16 else {"rtol": 1e-2, "atol": 1e-3}
            )
            torch.testing.assert_close(weights, first, **tolerance)


@every_info
def test_mixed_dtype_in_one_group(info):
    """Each parameter moves as it would with those of its dtype alone."""
    dtypes = (torch.float32, torch.float64, torch.bfloat16)
    together = [Parameter(torch.linspace(-1, 1, 7).to(dtype)) for dtype in dtypes]
    apart = copy.deepcopy(together)
    optimizers = [make(info, together), *(make(info, [p]) for p in apart)]
    for step in range(4):
        for p in (*together, *apart):
            p.grad = torch.linspace(1, 2 + step, 7).to(p.dtype)
        for optimizer in optimizers:
            optimizer.step()
    for p, q in zip(together, apart, strict=True):
        assert torch.equal(p, q)


@every_info
def test_set_default_dtype_works_with_foreach(info):
    """The counter of steps is float64 whatever the default dtype is, and exact to 2⁵³ steps."""
    weights = []
    for default in (torch.float32, torch.float64, torch.float16):
        before = torch.get_default_dtype()
        torch.set_default_dtype(default)
        try:
            params, optimizer, _ = trained(info)
        finally:
            torch.set_default_dtype(before)
        weights.append(vector(torch.nn.ParameterList(params)))
        if info in OURS:
            assert all(state["step"].dtype == torch.float64 for state in optimizer.state.values())
    assert torch.equal(weights[0], weights[1]) and torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("info", [i for i in OURS if "fused" in i.supported_impls], ids=lambda info: info.name)
def test_fused_error_on_params_on_meta(info):
    """torch raises; ours do without the kernel, as wherever there is none, and say so once."""
    from lossnav.optim import _fused

    _fused._said.clear()
    p = Parameter(torch.empty(3, device="meta"))
    p.grad = torch.empty(3, device="meta")
    optimizer = info.optim_cls([p], fused=True)
    with pytest.warns(RuntimeWarning, match="runs unfused, .* because its parameters are on the meta device"):
        optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
    assert all(v.device.type == "meta" for k, v in optimizer.state[p].items() if torch.is_tensor(v) and k != "step")
    _fused._said.clear()


def test_a_prior_cannot_be_read_off_meta_tensors():
    info = next(i for i in OURS if i.name == "Uncertain")
    p = Parameter(torch.empty(3, device="meta"))
    p.grad = torch.empty(3, device="meta")
    with pytest.raises(ValueError, match=r"prior_variance = 'init', but .* meta device"):
        info.optim_cls([p]).step()
    info.optim_cls([p], prior_variance=1.0).step()


@pytest.mark.parametrize("named", ["neither", "first", "second", "both"])
@every_info
def test_state_dict_deterministic_and_named(info, named):
    """A state goes on in other parameters bit for bit, whether they have names or not; it is left alone."""
    for optim_input in info.optim_inputs_func("cpu"):
        params, other_params = pair(), pair(seed=1)
        x = params[2]
        labels = ("weight", "bias")
        with_names = [list(zip(labels, three[:2], strict=True)) for three in (params, other_params)]
        first = make(info, with_names[0] if named in ("first", "both") else params[:2], optim_input.kwargs)
        second = make(info, with_names[1] if named in ("second", "both") else other_params[:2], optim_input.kwargs)
        closures = [closure_of(o, *three[:2], x) for o, three in ((first, params), (second, other_params))]
        for _ in range(4):
            first.step(closures[0])
        with torch.no_grad():
            for p, q in zip(params[:2], other_params[:2], strict=True):
                q.copy_(p)
        saved = copy.deepcopy(first.state_dict())
        snapshot = copy.deepcopy(saved)
        second.load_state_dict(saved if info in OURS else copy.deepcopy(saved))  # torch's share the tensors
        assert second.param_groups[0].get("param_names") == (list(labels) if named in ("second", "both") else
                                                             list(labels) if named == "first" else None)  # fmt: skip
        for _ in range(4):
            first.step(closures[0])
            second.step(closures[1])
        for p, q in zip(params[:2], other_params[:2], strict=True):
            assert torch.equal(p, q)
        assert saved.keys() == snapshot.keys()
        same_state(saved["state"], snapshot["state"])
        same_state(first.state_dict()["state"], second.state_dict()["state"])


NUMBERS = {
    "float": lambda step: step.item(), "int": lambda step: int(step.item()), "float64": lambda step: step.double(),
    "int64": lambda step: step.long(), "(1,)": lambda step: step.reshape(1),
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
@every_config
def test_load_nontensor_step(info, options, kind):
    """A state from JSON, or from another program: the counter may be a number. It goes on as if it had not been."""
    if info in CONTROLS and (kind not in ("float", "int") or options.get("fused")):
        return  # more than torch promises
    if kind != "float" and options not in configs(info)[:4]:
        return  # the counter is one, whatever the options are: each implementation will do
    params, optimizer, closure = trained(info, options)
    twins, twin, twin_closure = trained(info, options, steps=0)
    with torch.no_grad():
        for p, q in zip(params, twins, strict=True):
            q.copy_(p)
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        if torch.is_tensor(state.get("step")):
            state["step"] = NUMBERS[kind](state["step"])
    twin.load_state_dict(saved)
    for _ in range(2):
        optimizer.step(closure)
        twin.step(twin_closure)
    for p, q in zip(params, twins, strict=True):
        assert torch.equal(p, q)
    if info in OURS:
        same_state(twin.state_dict()["state"], optimizer.state_dict()["state"])


@pytest.mark.parametrize("step", [-1, float("nan"), "three", torch.ones(2), None], ids=str)
@pytest.mark.parametrize("info", OURS, ids=lambda info: info.name)
def test_a_step_that_is_no_number_is_refused_and_nothing_is_loaded(info, step):
    params, optimizer, closure = trained(info)
    before = copy.deepcopy(optimizer.state_dict())
    saved = copy.deepcopy(before)
    saved["state"][1]["step"] = step
    saved["param_groups"][0]["lr"] = 0.5
    with pytest.raises(ValueError, match=r"^step (=|has) .*but it must be"):
        optimizer.load_state_dict(saved)
    assert optimizer.state_dict()["param_groups"] == before["param_groups"]
    same_state(optimizer.state_dict()["state"], before["state"])
    saved = copy.deepcopy(before)
    saved["param_groups"][0]["lr"] = float("nan")
    with pytest.raises(ValueError, match="lr = nan, but"):
        optimizer.load_state_dict(saved)
    optimizer.step(closure)
    assert all(torch.isfinite(p).all() for p in params)


@pytest.mark.parametrize(("saved", "loaded"), [(torch.float32, torch.float64), (torch.float64, torch.float32)], ids=str)
@every_info
def test_state_is_cast_to_the_parameter_on_load(info, saved, loaded):
    _, optimizer, _ = trained(info, dtype=saved)
    params, fresh, closure = trained(info, steps=0, dtype=loaded)
    fresh.load_state_dict(optimizer.state_dict())
    for p in params:
        tensors = [v for k, v in fresh.state[p].items() if torch.is_tensor(v) and k != "step"]
        assert all(v.dtype == loaded for v in tensors)
    fresh.step(closure)


@every_info
def test_step_hooks(info):
    """Global and own hooks, before and after, in this order, once a step; one before may replace the closure."""
    _, optimizer, closure = trained(info)
    events = []
    handles = [
        register_optimizer_step_pre_hook(lambda *_: events.append("global before")),
        register_optimizer_step_post_hook(lambda *_: events.append("global after")),
        optimizer.register_step_pre_hook(lambda *_: events.append("before")),
        optimizer.register_step_post_hook(lambda *_: events.append("after")),
    ]
    optimizer.step(closure)
    for handle in handles:
        handle.remove()
    optimizer.step(closure)
    assert events == ["global before", "before", "after", "global after"]
    calls = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: calls.append(1) or closure()), {}))
    optimizer.step(closure)
    assert calls == [1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@every_info
def test_load_state_dict_hooks(info, dtype):
    """A hook before may replace the state, one after sees the loaded one: also where bits are kept (bfloat16)."""
    _, optimizer, _ = trained(info, dtype=dtype)
    params, fresh, _ = trained(info, steps=0, dtype=dtype)
    saved, rates = optimizer.state_dict(), []

    def before(_, state_dict):
        state_dict = copy.deepcopy(state_dict)
        state_dict["param_groups"][0]["lr"] = 0.123
        for state in state_dict["state"].values():
            for key, value in state.items():
                if torch.is_tensor(value) and key != "step":
                    value.fill_(0.5)
        return state_dict

    fresh.register_load_state_dict_pre_hook(before)
    fresh.register_load_state_dict_post_hook(lambda o: rates.append(o.param_groups[0]["lr"]))
    fresh.load_state_dict(saved)
    assert rates == [0.123]
    for p in params:
        tensors = [v for k, v in fresh.state[p].items() if torch.is_tensor(v) and k != "step"]
        assert all((v == 0.5).all() for v in tensors) and (tensors or info.name == "SGD")
    if info in OURS:
        assert len(fresh._optimizer_load_state_dict_pre_hooks) == len(fresh._optimizer_load_state_dict_post_hooks) == 1


@pytest.mark.parametrize("info", OURS, ids=lambda info: info.name)
def test_defaults_changed_to_foreach(info, monkeypatch):
    """foreach=None takes all parameters of a dtype in one call, foreach=False each by itself."""
    lengths = []
    update = info.optim_cls._update
    monkeypatch.setattr(
        info.optim_cls, "_update", lambda self, group, params, *rest: (
            lengths.append(len(params)), update(self, group, params, *rest)
        )[1]
    )  # fmt: skip
    unfused = {"fused": False} if "fused" in inspect.signature(info.optim_cls).parameters else {}
    for foreach, expected in ((None, [2]), (True, [2]), (False, [1, 1])):
        lengths.clear()
        trained(info, {"foreach": foreach, **unfused}, steps=1)
        assert lengths == expected


@every_config
def test_grad_scaling_and_fused_does_not_step_if_foundinf(info, options):
    """With torch's GradScaler: scaled gradients give the same steps, and one with an inf in it gives none."""
    if options.get("fused") and info in CONTROLS:
        return  # torch's kernels unscale by themselves
    g = torch.Generator().manual_seed(2)
    grads = torch.randn(4, 6, generator=g)
    plain, scaled = Parameter(torch.linspace(-1, 1, 6)), Parameter(torch.linspace(-1, 1, 6))
    optimizers = make(info, [plain], options), make(info, [scaled], options)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1000)
    for n, row in enumerate(grads):
        scaler.scale(torch.zeros(()))  # makes the scale
        scaled.grad = row * scaler.get_scale()
        broken = n == 2
        if broken:
            scaled.grad[3] = float("inf")
        else:
            plain.grad = row.clone()
            optimizers[0].step()
        scaler.step(optimizers[1])
        scaler.update()
    torch.testing.assert_close(scaled, plain, rtol=1e-6, atol=1e-7)


@every_info
def test_add_param_group_takes_what_torch_takes(info):
    first, second, third = (Parameter(torch.tensor([1.0, 2.0])) for _ in range(3))
    optimizer = make(info, iter([first]))
    optimizer.add_param_group({"params": second, "name": "one tensor"})
    optimizer.add_param_group({"params": (p for p in [third])})
    with pytest.raises(TypeError):
        optimizer.add_param_group([first])
    with pytest.raises(TypeError, match="set"):
        optimizer.add_param_group({"params": {Parameter(torch.ones(2))}})
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [first]})
    with pytest.raises(ValueError, match="non-leaf"):
        optimizer.add_param_group({"params": [first * 2]})
    assert len(optimizer.param_groups) == 3 and optimizer.param_groups[1]["name"] == "one tensor"
    for p in (first, second, third):
        p.grad = torch.ones(2)
    optimizer.step()
    assert torch.equal(first, second) and torch.equal(first, third) and (first < torch.tensor([1.0, 2.0])).all()


@pytest.mark.parametrize("info", OURS, ids=lambda info: info.name)
def test_a_gradient_of_another_dtype(info):
    """torch lets a parameter say what dtype its gradient has (``grad_dtype``); the state keeps the parameter's."""
    if not hasattr(torch.Tensor, "grad_dtype"):
        pytest.skip("an older torch")
    for impl in ({"foreach": False}, *({flag: True} for flag in info.supported_impls)):
        odd, plain = Parameter(torch.linspace(-1, 1, 6)), Parameter(torch.linspace(-1, 1, 6))
        odd.grad_dtype = torch.bfloat16
        optimizers = make(info, [odd], impl), make(info, [plain], impl)
        for _ in range(3):
            odd.grad = torch.linspace(1, 3, 6).bfloat16()
            plain.grad = odd.grad.float()
            for optimizer in optimizers:
                optimizer.step()
        assert torch.equal(odd, plain)
        tensors = [v for k, v in optimizers[0].state[odd].items() if torch.is_tensor(v) and k != "step"]
        assert all(v.dtype == torch.float32 for v in tensors)
