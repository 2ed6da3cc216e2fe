"""BallisticMatrix: what the contract of all optimizers does not say."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from drive import drive, noise
from reference_matrix import BallisticMatrixReference

from lossnav.optim import BallisticMatrix, Belief
from lossnav.optim.matrix import Curvature

CURVATURES = [kind for kind in get_args(Curvature) if kind != "diagonal"]  # which is Belief

SHAPES = ((4, 5), (5, 3), (1, 4), (4, 1), (3, 2, 2, 1))
OPTIONS = (
    {}, {"discount": 0.3}, {"max_dim": 4, "long": "identity"}, {"max_dim": 4, "long": "polar"}, {"block": 2},
    {"block": 4, "max_dim": 2, "long": "identity"}, {"block": 3, "max_dim": 2, "long": "polar"},
    {"eps": 0.1, "maximize": True}, {"weight_decay": 0.1, "every": 3, "watch": 2}, {"lr_overdamped": 0.02},
)  # fmt: skip


def driven(make, gradients, **options):
    """Return where a parameter that starts at zero is after each gradient."""
    return torch.from_numpy(drive(make, gradients, start=0.0, dtype=gradients.dtype, **options))


def orthogonal(size, seed):
    return torch.linalg.qr(noise(size, size, seed=seed))[0]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ", ".join(o) or "default")
@pytest.mark.parametrize("curvature", CURVATURES)
def test_steps_are_those_of_the_curvature_of_all_weights_with_all(curvature, options):
    """The reference writes C out, D × D, and takes its root by eigenvalues."""
    for shape in SHAPES:
        gradients = noise(16, *shape)
        paths = [
            driven(make, gradients, lr=0.01, curvature=curvature, **{"every": 5, **options})
            for make in (BallisticMatrix, BallisticMatrixReference)
        ]
        torch.testing.assert_close(*paths, rtol=0, atol=1e-7 if "polar" in (curvature, options.get("long")) else 1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ", ".join(o) or "default")
@pytest.mark.parametrize("curvature", CURVATURES)
def test_a_stack_takes_the_steps_of_its_matrices(curvature, options):
    """Four of one shape, one of which begins later, together and one by one."""
    gradients = noise(12, 4, 7, 6)

    def walked(together):
        weights = [torch.nn.Parameter(torch.zeros(7, 6, dtype=torch.float64)) for _ in range(4)]
        rule = BallisticMatrix(weights, lr=0.01, curvature=curvature, foreach=together, **{"every": 5, **options})
        for n, row in enumerate(gradients):
            for i, (w, g) in enumerate(zip(weights, row, strict=True)):
                w.grad = None if i == 2 and n < 3 else g.clone()
            rule.step()
        return torch.stack([w.detach() for w in weights])

    assert walked(True).abs().max() > 1e-3
    torch.testing.assert_close(walked(True), walked(False), rtol=0, atol=1e-8)


@pytest.mark.parametrize("curvature", CURVATURES)
def test_turned_gradients_make_turned_steps_and_those_of_belief_are_not(curvature):
    left, right = orthogonal(4, 1), orthogonal(4, 2)
    gradients = noise(20, 4, 4) * torch.logspace(-1, 1, 4)  # square: a first gradient of full rank
    options = {"lr": 0.1, "curvature": curvature, "every": 1, "watch": 1}
    turned = driven(BallisticMatrix, left @ gradients @ right, **options)
    expected = left @ driven(BallisticMatrix, gradients, **options) @ right
    near = 1e-4 if curvature == "polar" else 1e-5  # the ridge that parts equal eigenvalues knows the coordinates
    assert (turned - expected).norm() < near * expected.norm()
    theirs = driven(Belief, left @ gradients @ right, lr=0.1)
    ours = left @ driven(Belief, gradients, lr=0.1) @ right
    assert (theirs - ours).norm() > 0.1 * ours.norm()


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float64, 1e-60), (torch.float64, 1e60), (torch.float32, 1e-14)])
@pytest.mark.parametrize("curvature", CURVATURES)
def test_steps_do_not_depend_on_the_unit_of_a_loss_as_far_as_squares_are_held(curvature, dtype, unit):
    gradients = noise(40, 5, 4) * torch.logspace(-1, 1, 4)
    # Where a processor multiplies in bfloat16, "auto" would take polar factors with the two digits of that.
    options = {"lr": 0.01, "curvature": curvature, "every": 5, "watch": 2, "root": "exact"}
    path = driven(BallisticMatrix, (gradients * unit).to(dtype), **options)
    expected = driven(BallisticMatrix, gradients, **options)
    assert (path - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("curvature", [kind for kind in CURVATURES if kind != "bound"])
def test_the_rate_is_the_root_mean_square_of_a_step_whatever_the_curvature(curvature):
    """M14: without a memory in m, on stationary noise of any covariance of rows and columns."""
    a, b = orthogonal(12, 1) * torch.logspace(-0.3, 0.3, 12), orthogonal(16, 2) * torch.logspace(0.3, -0.3, 16)
    path = driven(
        BallisticMatrix, a @ noise(400, 12, 16) @ b.T, lr=0.01, betas=(0.0, 0.99), curvature=curvature,
        eps_relative=0.0,
    )  # fmt: skip
    root_mean_square = path.diff(dim=0)[200:].square().mean().sqrt() / 0.01
    assert 0.9 < root_mean_square < 1.1


def test_the_bound_makes_shorter_steps_by_a_root_of_the_number_of_weights():
    """On white noise L = n I and R = m I are believed to make C = √(mn) I, where it is I."""
    path = driven(BallisticMatrix, noise(400, 12, 16), lr=0.01, betas=(0.0, 0.99), curvature="bound")
    root_mean_square = path.diff(dim=0)[200:].square().mean().sqrt() / 0.01
    assert 0.9 < root_mean_square * (12 * 16) ** 0.25 < 1.1


def test_bases_turn_however_long_a_run_is():
    """At 2²⁴ a counter in float32 would stand still, and no step be one for it again."""
    p = torch.nn.Parameter(torch.zeros(4, 3))
    optimizer, bases = BallisticMatrix([p], curvature="eigenbasis", every=5), []
    for g in noise(12, 4, 3, dtype=torch.float32):
        p.grad = g
        optimizer.step()
        if not bases:
            optimizer.state[p]["step"].fill_(2**24)
        bases.append(optimizer.state[p]["ql"].clone())
    turns = [2**24 + n for n in range(1, 12) if not torch.equal(bases[n], bases[n - 1])]
    assert turns == [n for n in range(2**24 + 1, 2**24 + 12) if n % 5 == 0]


def test_without_a_basis_it_is_belief():
    gradients = noise(10, 5, 6)
    path = driven(BallisticMatrix, gradients, lr=0.1, max_dim=4)
    torch.testing.assert_close(path, driven(Belief, gradients, lr=0.1, betas=(0.9, 0.99), eps=0.0), rtol=0, atol=1e-12)


def test_a_long_side_may_make_a_matrix_polar_and_leaves_the_others_as_they_are():
    gradients, short = noise(8, 3, 9), noise(8, 4, 5)
    options = {"lr": 0.1, "max_dim": 5, "curvature": "eigenbasis"}
    path, polar = (driven(BallisticMatrix, gradients, **{**options, name: "polar"}) for name in ("long", "curvature"))
    assert torch.equal(path, polar)
    paths = [driven(BallisticMatrix, short, **options, long=long) for long in ("polar", "identity")]
    assert torch.equal(*paths)
    assert not torch.allclose(path, driven(BallisticMatrix, gradients, **options, long="identity"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_gradients_of_low_rank_dead_inputs_and_a_late_start_do_no_harm(curvature, dtype):
    gradients = noise(40, 30, 2) @ noise(40, 2, 50, seed=1)
    gradients[:, :, :20] = 0.0
    gradients[:3] = 0.0
    gradients[20, :, 3] = 1.0  # a pixel that is lit once
    path = driven(BallisticMatrix, gradients.to(dtype), lr=0.01, curvature=curvature, every=5)
    assert torch.isfinite(path).all() and torch.equal(path[2], torch.zeros_like(path[2]))
    assert path.diff(dim=0).abs().max() < 10 * 0.01 * 40


@pytest.mark.parametrize("curvature", CURVATURES)
def test_a_convolution_is_the_matrix_of_its_flattened_kernels(curvature):
    gradients = noise(12, 4, 3, 2, 2)
    path = driven(BallisticMatrix, gradients, lr=0.1, curvature=curvature)
    flat = driven(BallisticMatrix, gradients.flatten(2), lr=0.1, curvature=curvature)
    assert torch.equal(path.flatten(2), flat)


@pytest.mark.parametrize("shape", [(16, 16), (8, 40), (40, 8), (1, 5)])
def test_an_iterated_root_is_nearly_the_exact_one_and_matrices_of_one_shape_do_not_meet(shape):
    """Singular values from 10⁻³ of the Frobenius norm on come out as 1 ± .16, in float32 or bfloat16."""
    generator = torch.Generator().manual_seed(0)
    gradients = [torch.randn(shape, generator=generator) * 10.0**k for k in (-6, 0, 6)]

    def moved(root, together, dtype=torch.float32):
        weights = [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for _ in gradients]
        rule = BallisticMatrix(weights, lr=1.0, root=root, foreach=together)
        for _ in range(3):
            for w, g in zip(weights, gradients, strict=True):
                w.grad = g.to(dtype)
            before = [w.detach().clone() for w in weights]
            rule.step()
        return [(w.detach() - b).double() for w, b in zip(weights, before, strict=True)]

    for exact, *others in zip(
        moved("exact", True, torch.float64), moved("iterated", True), moved("iterated", False), strict=True
    ):
        weights = [0.1 * 0.9**past / (1 - 0.9**3) for past in range(3)]
        length = (max(shape) * sum(w * w for w in weights)) ** 0.5
        for move in others:
            values = torch.linalg.svdvals(move) / length
            assert values.min() > 0.83 and values.max() < 1.17
            assert torch.linalg.matrix_norm(move - exact, 2) / length < 0.17
        torch.testing.assert_close(*others, rtol=0, atol=0.02 * length)


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.95])
def test_on_white_noise_its_steps_are_as_long_as_those_of_adam(beta):
    """From the second step to the hundredth; of Adam's V with β₂ = .999 about 2 in 100 is left to chance."""
    gradients = noise(100, 40, 60)
    betas = (beta, 0.999)
    ours = driven(BallisticMatrix, gradients, lr=1.0, betas=betas, curvature="polar")
    adams = driven(BallisticMatrix, gradients, lr=1.0, betas=betas, curvature="diagonal")
    lengths = [path.diff(dim=0).square().mean((1, 2)).sqrt() for path in (ours, adams)]
    torch.testing.assert_close(*lengths, rtol=0.05, atol=0)
    assert lengths[0][-1].item() == pytest.approx(((1 - beta) / (1 + beta)) ** 0.5, rel=0.01)
