"""Uncertain against its literal twin, its differential equation, closed forms, and statistics of its draws."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from drive import gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from optim_problem import assert_resumes, loss, network, vector
from scipy.integrate import solve_ivp

from lossnav.optim import Reset, Uncertain

T, VP = 0.01, 0.5  # temperature and prior variance of most tests


def one(value=0.0, size=1, dtype=torch.float64):
    return torch.nn.Parameter(torch.full((size,), value, dtype=dtype))


def feed(parameter, optimizer, grads):
    for g in grads:
        parameter.grad = torch.as_tensor(g, dtype=parameter.dtype).expand_as(parameter).clone()
        optimizer.step()


def test_the_variance_follows_its_differential_equation():
    """γv̇ = ηλ_S v − ηk(h + T/v_p)v², integrated by scipy; ρ = ηλ_SΔt/γ and T = λ_S/k tie the two together."""
    eta, k, gamma, entropy, dt = 0.8, 2.0, 30.0, 0.02, 1.5
    rho, temperature = eta * entropy * dt / gamma, entropy / k
    parameter = one()
    optimizer = Uncertain([parameter], lr=0.0, forgetting=rho, temperature=temperature, prior_variance=VP, clip=1.0)
    plan = [(0.3, 900), (0.0, 700), (2.5, 400)]  # curvature, steps: a task, a task that needs nothing, a steep one
    v = VP
    for h, steps in plan:
        feed(parameter, optimizer, [math.sqrt(h)] * steps)

        def velocity(_, v, h=h):
            return (eta * entropy * v - eta * k * (h + temperature / VP) * v**2) / gamma

        v = solve_ivp(velocity, (0, steps * dt), [v], rtol=1e-10, atol=1e-14).y[0, -1]
        assert 1 / optimizer.state[parameter]["precision"].item() == pytest.approx(v, rel=1e-6)


@pytest.mark.parametrize("h", [0.0, 1e-3, 1.0, 1e4])
def test_at_rest_the_precision_is_curvature_over_temperature_and_the_prior(h):
    parameter = one()
    optimizer = Uncertain([parameter], lr=0.05, temperature=T, prior_variance=VP)
    signs = np.random.default_rng(0).choice([-1, 1], size=1500)
    feed(parameter, optimizer, signs * math.sqrt(h))
    assert optimizer.state[parameter]["precision"].item() == pytest.approx(h / T + 1 / VP, rel=1e-9)


def test_without_a_prior_to_speak_of_it_is_equation_149_found_by_sampling():
    """v = T/H (Eq. 149) in a bowl of curvature H, seen only through gradients at samples: 20,000 weights average."""
    hessian = torch.tensor([0.2, 5.0], dtype=torch.float64).repeat_interleave(10_000)
    parameter = one(0.0, 20_000)
    options = {"lr": 1e-4, "forgetting": 0.02, "temperature": T, "prior_variance": 1e3, "sample": True, "clip": None}
    optimizer = Uncertain([parameter], **options)
    optimizer._state_of(parameter, optimizer.param_groups[0])["precision"].fill_(10.0)
    for _ in range(400):
        optimizer.zero_grad()
        with optimizer.sampled():
            (0.5 * hessian * parameter**2).sum().backward()
        optimizer.step()
    precision = optimizer.state[parameter]["precision"].reshape(2, -1).mean(1)
    torch.testing.assert_close(1 / precision, T / torch.tensor([0.2, 5.0], dtype=torch.float64), rtol=0.02, atol=0)


@given(st.lists(st.floats(0, 1e8), min_size=1, max_size=30), st.floats(1e-4, 1.5), st.floats(1e-6, 10.0))
@settings(max_examples=100, deadline=None)
def test_the_precision_stays_between_the_priors_and_infinity(grads, rho, temperature):
    parameter = one(1.0)
    optimizer = Uncertain([parameter], lr=rho, temperature=temperature, prior_variance=VP, speed=5.0)
    for g in grads:
        feed(parameter, optimizer, [g])
        p = optimizer.state[parameter]["precision"].item()
        assert (1 / VP) * (1 - 1e-12) <= p < math.inf
        assert math.isfinite(parameter.item())


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=30), st.floats(1e-3, 1.593))
@settings(max_examples=100, deadline=None)
def test_the_mean_contracts_after_any_jump_of_the_curvature(exponents, rho):
    """A bowl whose curvature H jumps over twelve decades, and a rule that sees H: |μ| never grows, with no clip."""
    parameter = one(1.0)
    optimizer = Uncertain([parameter], lr=rho, temperature=T, prior_variance=VP, prior_mean=0.0, clip=None)
    for exponent in exponents:
        hessian, mu = 10.0**exponent, parameter.item()
        if abs(mu) < 1e-100:
            return
        optimizer.param_groups[0]["curvature_scale"] = 1 / (hessian * mu**2)  # so that scale · g² = H
        feed(parameter, optimizer, [hessian * mu])
        assert abs(parameter.item()) <= abs(mu) * (1 + 1e-12)


def test_rates_that_would_diverge_are_refused():
    Uncertain([one(1.0)], lr=1.59)
    with pytest.raises(ValueError, match=r"lr = 1\.6, but it must be < 1\.594 where forgetting is lr"):
        Uncertain([one(1.0)], lr=1.6)
    with pytest.raises(
        ValueError, match=r"lr = 0\.5, but it must be < 0\.1903 where forgetting = 0\.1 and clip is None"
    ):
        Uncertain([one(1.0)], lr=0.5, forgetting=0.1, clip=None)
    Uncertain([one(1.0)], lr=0.5, forgetting=0.1)  # the trust region bounds it


@pytest.mark.parametrize("clip", [0.01, 0.5])
def test_no_step_leaves_the_trust_region(clip):
    grads = gradients(200) * np.where(np.random.default_rng(1).random((200, 1)) < 0.1, 1e4, 1.0)
    parameter = one(1.0, 4)
    optimizer = Uncertain([parameter], lr=0.5, temperature=T, prior_variance=VP, clip=clip)
    reached = False
    for g in grads:
        before = parameter.detach().clone()
        feed(parameter, optimizer, [g])
        moved = (parameter.detach() - before).abs() * optimizer.state[parameter]["precision"].sqrt()
        assert (moved <= clip * (1 + 1e-6)).all()  # a difference of numbers near 1
        reached |= bool((moved > 0.999 * clip).any())
    assert reached


def test_a_weight_without_evidence_goes_back_to_the_prior():
    """After a task, with gradients of zero: p − 1/v_p falls as e^{−ρn}, and the mean goes to that of the prior."""
    parameter = one(1.0)
    optimizer = Uncertain([parameter], lr=0.01, temperature=T, prior_variance=VP, prior_mean=0.25, clip=None)
    feed(parameter, optimizer, [3.0, -3.0] * 50)
    excess = optimizer.state[parameter]["precision"].item() - 1 / VP
    feed(parameter, optimizer, [0.0] * 300)
    assert optimizer.state[parameter]["precision"].item() - 1 / VP == pytest.approx(excess * math.exp(-3), rel=1e-9)
    feed(parameter, optimizer, [0.0] * 3000)
    assert parameter.item() == pytest.approx(0.25, abs=1e-6)


def test_a_travelling_mean_grows_uncertain_as_in_the_v_form():
    """With neither curvature nor forgetting, γv̇ = μ̇² (Eq. 148 with its speed term): v grows by χ Σ d²."""
    parameter = one(1.0)
    options = {"temperature": T, "prior_variance": VP, "speed": 0.3, "speed_beta": 0.0}
    optimizer = Uncertain([parameter], lr=0.05, clip=None, **options)
    feed(parameter, optimizer, [4.0, -4.0] * 30)
    optimizer.param_groups[0].update(curvature_scale=0.0, forgetting=0.0, lr=1e-3)
    v, path = 1 / optimizer.state[parameter]["precision"].item(), [parameter.item()]
    for _ in range(20):
        feed(parameter, optimizer, [1.0])
        path.append(parameter.item())
    grown = 1 / optimizer.state[parameter]["precision"].item()
    assert grown == pytest.approx(v + 0.3 * np.sum(np.diff(path) ** 2), rel=1e-9)
    assert grown > 1.0001 * v
    feed(parameter, optimizer, [50.0] * 2000)
    assert 1 / optimizer.state[parameter]["precision"].item() == pytest.approx(VP, rel=1e-12)  # and no further


def test_noise_alone_does_not_pass_for_travel():
    """The averaged displacement ignores a mean that shakes on the spot; the raw one does not."""
    precisions = {}
    for beta in (0.0, 0.99):
        parameter = one(1.0, 200)
        options = {"lr": 0.02, "temperature": T, "prior_variance": VP, "speed": 100.0, "clip": 0.5}
        optimizer = Uncertain([parameter], speed_beta=beta, **options)
        feed(parameter, optimizer, np.random.default_rng(0).normal(size=(600, 200)))
        precisions[beta] = optimizer.state[parameter]["precision"].median().item()
    stationary = 1 / T + 1 / VP
    assert precisions[0.99] > 0.6 * stationary
    assert precisions[0.0] < 0.5 * precisions[0.99]


def test_idle_weights_are_drawn_afresh_at_the_given_rate():
    """Half the weights see nothing. After ``age`` steps each of them is redrawn with the probability, and only they."""
    size, probability = 20_000, 0.2
    parameter = one(0.1, size)
    active = torch.arange(size) % 2 == 0
    grads = torch.where(active, 1.0, 0.0).double()
    options = {"lr": 0.1, "temperature": T, "prior_variance": VP, "prior_mean": 0.0, "clip": 1e-9}
    optimizer = Uncertain([parameter], reset=Reset(probability, threshold=0.1, age=3), **options)
    feed(parameter, optimizer, [grads] * 3)
    assert (parameter.detach() - 0.1).abs().max() < 1e-6  # nobody is old enough
    feed(parameter, optimizer, [grads])
    fresh = (parameter.detach() - 0.1).abs() > 1e-6
    assert not fresh[active].any()
    idle = fresh[~active].double()
    assert idle.mean().item() == pytest.approx(
        probability, abs=4 * math.sqrt(probability * (1 - probability) * 2 / size)
    )
    drawn = parameter.detach()[fresh]
    count = len(drawn)
    assert drawn.mean().item() == pytest.approx(0.0, abs=4 * math.sqrt(VP / count))
    assert drawn.var().item() == pytest.approx(VP, rel=4 * math.sqrt(2 / count))
    state = optimizer.state[parameter]
    assert (state["age"][fresh] == 0).all() and (state["age"][~fresh] == 4).all()
    assert (state["precision"][fresh] == 1 / VP).all()
    feed(parameter, optimizer, [grads])
    again = (parameter.detach()[~active & ~fresh] - 0.1).abs() > 1e-6
    assert again.double().mean().item() == pytest.approx(probability, abs=0.02)  # not the same draw twice
    assert torch.allclose(parameter.detach()[fresh], drawn, atol=1e-6)  # the young are spared


def test_a_redrawn_weight_forgets_what_little_it_knew():
    parameter, grads = one(0.1, 100), [torch.full((100,), math.sqrt(T / VP)).double()]
    options = {"lr": 0.1, "temperature": T, "prior_variance": VP, "speed": 1e-9}
    known = Uncertain([parameter], **options)
    feed(parameter, known, grads)
    assert (known.state[parameter]["precision"] > 1.05 / VP).all() and known.state[parameter]["drift"].all()
    redrawn = Uncertain([parameter], **options, reset=(1.0, 0.5, 0))
    feed(parameter, redrawn, grads)
    state = redrawn.state[parameter]
    assert (state["precision"] == 1 / VP).all() and not state["drift"].any() and not state["age"].any()


@pytest.mark.parametrize(
    "form", [Reset(0.1, 0.2, 30), (0.1, 0.2, 30), [0.1, 0.2, 30.0], {"probability": 0.1, "threshold": 0.2, "age": 30}]
)
def test_a_reset_may_be_given_in_any_form_and_is_kept_as_plain_numbers(form):
    assert Uncertain([one(1.0)], reset=form).param_groups[0]["reset"] == (0.1, 0.2, 30.0)
    assert Uncertain([one(1.0)], reset={"probability": 0.5}).param_groups[0]["reset"] == (0.5, 0.1, 1000.0)
    with pytest.raises(ValueError, match=r"reset\.probability = 2, but it must be a finite number >= 0 and <= 1"):
        Uncertain([one(1.0)], reset=(2, 0.1, 10))
    with pytest.raises(ValueError, match=r"reset = .*but it must be None or \(probability"):
        Uncertain([one(1.0)], reset={"chance": 0.5})


def test_a_schedule_of_the_rate_carries_the_forgetting_with_it():
    parameter = one(1.0)
    optimizer = Uncertain([parameter], lr=0.5, temperature=T, prior_variance=VP)
    feed(parameter, optimizer, [1.0] * 5)
    p = optimizer.state[parameter]["precision"].item()
    optimizer.param_groups[0]["lr"] = 0.0
    feed(parameter, optimizer, [30.0])
    assert optimizer.state[parameter]["precision"].item() == p


# The prior


def test_the_prior_is_what_a_tensor_was_drawn_from():
    model = torch.nn.Sequential(torch.nn.Linear(50, 40), torch.nn.LayerNorm(40), torch.nn.Linear(40, 3))
    with torch.no_grad():
        model[2].bias.zero_()
    optimizer = Uncertain(model.parameters())
    torch.nn.functional.cross_entropy(model(torch.ones(4, 50)), torch.tensor([0, 1, 2, 0])).backward()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer.step()
    state = {name: optimizer.state[p] for name, p in model.named_parameters()}
    varied = ("0.weight", "0.bias", "2.weight")
    for name in varied:
        assert state[name]["prior_mean"] == pytest.approx(before[name].mean().item(), rel=1e-5)
        assert state[name]["prior_variance"] == pytest.approx(before[name].var(correction=0).item(), rel=1e-5)
    sizes = np.array([before[name].numel() for name in varied])
    borrowed = sizes @ [state[name]["prior_variance"] for name in varied] / sizes.sum()
    for name, mean in (("1.weight", 1.0), ("1.bias", 0.0), ("2.bias", 0.0)):
        assert state[name]["prior_mean"] == mean
        assert state[name]["prior_variance"] == pytest.approx(borrowed, rel=1e-6)


def test_a_prior_that_nothing_tells_must_be_given():
    parameter = one(0.0, 3)
    parameter.grad = torch.ones_like(parameter)
    with pytest.raises(ValueError, match=r"prior_variance = 'init', but the values of a parameter of shape \(3,\)"):
        Uncertain([parameter]).step()
    Uncertain([parameter], prior_variance=0.1).step()


def test_equal_weights_have_their_own_size_for_a_scale():
    parameter = one(-0.3, 3)
    parameter.grad = torch.ones_like(parameter)
    empty = torch.nn.Parameter(torch.zeros(0, 3, dtype=parameter.dtype))  # it tells nothing of the others' scale
    rule = Uncertain([empty, parameter])
    rule.step()
    state = rule.state[parameter]
    assert (state["prior_mean"], state["prior_variance"]) == pytest.approx((-0.3, 0.09))


def test_weights_that_have_learned_stay_where_they_are():
    """Gains of a normalisation after training, near 1.014, without evidence: 3,000 steps move their mean nowhere."""
    gains = torch.nn.Parameter(1.014 + 0.02 * torch.randn(64, generator=torch.Generator().manual_seed(0)))
    rule = Uncertain([gains], lr=1e-2)
    before = gains.detach().mean().item()
    for _ in range(3_000):
        gains.grad = torch.zeros_like(gains)
        rule.step()
    assert gains.detach().mean().item() == pytest.approx(before, abs=1e-4)
    assert rule.state[gains]["prior_variance"] < 1e-3


# Sampling


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_samples_come_and_go_without_a_trace(dtype):
    model = network(dtype=dtype)
    optimizer = Uncertain(model.parameters())
    before = vector(model).clone()
    with optimizer.sampled():
        first = vector(model).clone()
    assert torch.equal(vector(model), before)
    with pytest.raises(ZeroDivisionError), optimizer.sampled():
        second = vector(model).clone()
        1 / 0  # noqa: B018
    assert torch.equal(vector(model), before)
    assert not torch.equal(first, before) and not torch.equal(first, second)
    with optimizer.sampled():
        assert not torch.equal(vector(model), before)


def test_samples_have_the_weights_distribution():
    parameter = one(3.0, 40_000)
    optimizer = Uncertain([parameter], prior_variance=0.25)
    with optimizer.sampled():
        noise = parameter.detach() - 3.0
    assert noise.mean().item() == pytest.approx(0.0, abs=4 * 0.5 / 200)
    assert noise.var().item() == pytest.approx(0.25, rel=4 * math.sqrt(2 / 40_000))
    again = Uncertain([one(3.0, 40_000)], prior_variance=0.25)
    reseeded = Uncertain([one(3.0, 40_000)], prior_variance=0.25, seed=1)
    for optimizer, same in ((again, True), (reseeded, False)):
        with optimizer.sampled():
            drawn = optimizer.param_groups[0]["params"][0].detach() - 3.0
        assert torch.equal(drawn, noise) is same


def test_the_curvature_of_a_sample_is_g_z_root_p():
    """One step by hand: z from the shift of the weights, h from the gradient there."""
    parameter = torch.nn.Parameter(torch.tensor([0.3, -0.2, 0.5, 1.0], dtype=torch.float64))
    hessian = torch.tensor([2.0, 0.5, -3.0, 1.0], dtype=torch.float64)
    optimizer = Uncertain([parameter], lr=0.1, temperature=T, prior_variance=VP, sample=True)
    mean = parameter.detach().clone()
    with optimizer.sampled():
        z = (parameter.detach() - mean) / math.sqrt(VP)
        (0.5 * hessian * parameter**2).sum().backward()
    optimizer.step()
    h = torch.clamp(parameter.grad * z / math.sqrt(VP), min=0)
    expected = math.exp(-0.1) / VP + (1 - math.exp(-0.1)) * (h / T + 1 / VP)
    torch.testing.assert_close(optimizer.state[parameter]["precision"], expected, rtol=1e-9, atol=0)
    assert (h == 0).any() and (h > 0).any()


def test_sampling_has_to_be_done_right():
    model = network()
    optimizer = Uncertain(model.parameters(), sample=True)
    advance_error = r"has no sample for a parameter of shape \(7, 5\).*optimizer\.sampled\(\)"
    loss(model, 0).backward()
    with pytest.raises(RuntimeError, match=advance_error):
        optimizer.step()
    with optimizer.sampled():
        loss(model, 0).backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match=advance_error):  # one sample, one step
        optimizer.step()
    with optimizer.sampled(), pytest.raises(RuntimeError, match=r"sampled\(\) inside sampled"), optimizer.sampled():
        pass
    with optimizer.sampled(), pytest.raises(RuntimeError, match=r"step\(\) inside sampled\(\)"):
        optimizer.step()
    with optimizer.sampled():
        value = loss(model, 0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # backward belongs inside
        value.backward()


def test_a_sampling_run_resumes_bit_for_bit():
    def run(model, optimizer, steps):
        for step in steps:
            optimizer.zero_grad()
            with optimizer.sampled():
                loss(model, step).backward()
            optimizer.step()

    options = {"sample": True, "reset": (0.2, 5.0, 2), "temperature": 0.1, "lr": 0.02, "seed": 3}
    assert_resumes(partial(Uncertain, **options), Uncertain, run, 6, 14)


def test_one_rate_for_all_curvatures():
    """Near equilibrium every weight relaxes at the same rate, Newton-like: the same factor a step for all h."""
    hessian = np.array([0.1, 1.0, 10.0])
    parameter = torch.nn.Parameter(torch.full((3,), 1e-3, dtype=torch.float64))
    optimizer = Uncertain([parameter], lr=0.05, temperature=T, prior_variance=1e9, clip=None)
    optimizer._state_of(parameter, optimizer.param_groups[0])["precision"].copy_(torch.tensor(hessian / T))
    optimizer.param_groups[0]["forgetting"] = 0.0
    optimizer.param_groups[0]["curvature_scale"] = 0.0
    path = [parameter.detach().numpy().copy()]
    for _ in range(10):
        feed(parameter, optimizer, [hessian * parameter.detach().numpy()])
        path.append(parameter.detach().numpy().copy())
    np.testing.assert_allclose(np.array(path)[1:] / np.array(path)[:-1], 0.95, rtol=1e-9)
