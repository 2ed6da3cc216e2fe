"""Eigenpairs against known spectra, full decompositions of networks' Hessians, and multiplied out."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import torch
from curvature_cases import CASES, differences
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import mse_loss

from lossnav import NotConverged
from lossnav.analysis.curvature import Hessian, Matrix, Operator, eigenpairs

DTYPES = [torch.float32, torch.float64]
DRAW = np.random.default_rng(3)
SPECTRA = {
    "even": np.linspace(0.1, 1, 150),
    "power law": np.arange(1, 81) ** -1.5,
    "indefinite": DRAW.normal(size=200),
    "outliers": np.concatenate([[50.0, 20.0, 19.0, 5.0], DRAW.uniform(0.1, 0.5, 300), [-3.0, -2.0, -1.0]]),
    "cluster": np.concatenate([1 + 1e-3 * np.arange(6), np.linspace(0.1, 0.5, 100)]),
    "low rank": np.concatenate([[3.0, 2.0, -1.0], np.zeros(120)]),
    "negative": -np.arange(1, 80.0),
    "three values": np.repeat([5.0, 1.0, -2.0], [3, 60, 4]),
    "one value": np.full(30, 2.0),
    "zero": np.zeros(25),
    "two by two": np.array([1.0, -3.0]),
    "number": np.array([-0.7]),
}
WANTED = {
    "largest": lambda values: np.sort(values)[::-1],
    "smallest": np.sort,
    "magnitude": lambda values: values[np.argsort(-np.abs(values), kind="stable")],
}


def matrix(spectrum: np.ndarray, dtype: torch.dtype = torch.float64, seed: int = 0) -> Matrix:
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(spectrum),) * 2))[0]
    product = torch.from_numpy((axes * spectrum) @ axes.T)
    return Matrix(((product + product.T) / 2).to(dtype))


def check(operator, found, spectrum, which, tolerance):
    """The values are those of the spectrum, and the residuals are what multiplying out gives."""
    count = len(found.values)
    eps, norm = torch.finfo(operator.dtype).eps, np.abs(spectrum).max()
    key = np.abs if which == "magnitude" else np.asarray
    np.testing.assert_allclose(
        key(found.values.numpy()), key(WANTED[which](spectrum)[:count]), rtol=tolerance, atol=100 * eps * norm
    )
    vectors = found.vectors.cpu().double()
    # each restart turns the basis by a matrix that is orthogonal up to rounding
    allowed = (20 + found.restarts) * eps
    torch.testing.assert_close(vectors @ vectors.T, torch.eye(count).double(), rtol=0, atol=allowed)
    assert (vectors.gather(1, vectors.abs().argmax(1, keepdim=True)) > 0).all()
    exact = operator.matvec(found.vectors).cpu().double() - found.values[:, None] * vectors
    residuals = torch.linalg.vector_norm(exact, dim=1)
    assert (residuals <= torch.clamp(tolerance * found.values.abs(), min=1.01 * eps ** (2 / 3) * norm)).all()
    # What was taken for rounding errors is known only by its length.
    faint = torch.clamp(found.residuals, max=eps ** (2 / 3) * norm)
    assert (residuals <= 1.05 * found.residuals + faint + 100 * eps * norm).all()
    assert (found.residuals <= 1.05 * residuals + faint + 100 * eps * norm).all()
    assert found.converged


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("which", WANTED)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("name", SPECTRA)
def test_known_spectra(name, dtype, which, block):
    operator = matrix(SPECTRA[name], dtype)
    count = min(5, operator.dim)
    pairs = eigenpairs(operator, count, which=which, block=block, tolerance=1e-4, max_products=5000)
    check(operator, pairs, SPECTRA[name], which, 1e-4)
    assert pairs.products == operator.products - count


@pytest.mark.parametrize("block", [1, 4, 50])
@pytest.mark.parametrize(
    "name", ["indefinite", "low rank", "three values", "one value", "zero", "two by two", "number"]
)
def test_all_pairs_of_a_matrix(name, block):
    operator = matrix(SPECTRA[name])
    pairs = eigenpairs(operator, operator.dim, block=block)
    check(operator, pairs, SPECTRA[name], "largest", 1e-10)
    assert pairs.products <= 2 * operator.dim + block


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=25), st.sampled_from([torch.float32, torch.float64]), st.data()
)
def test_small_matrices_of_any_spectrum(values, dtype, data):
    """With few distinct values every Krylov space is exhausted, and every copy is found, whatever the block."""
    spectrum = np.array(values, dtype=float)
    operator = matrix(spectrum, dtype, seed=len(values))
    count = data.draw(st.integers(1, len(values)))
    block = data.draw(st.integers(1, 4))
    which = data.draw(st.sampled_from([*WANTED]))
    basis = data.draw(st.integers(count + 2 * block + 8, 60))
    options = {"block": block, "basis": basis, "seed": data.draw(st.integers(0, 3)), "tolerance": 1e-12}
    pairs = eigenpairs(operator, count, which=which, **options)
    check(operator, pairs, spectrum, which, 1e-4 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hessians_of_networks(case):
    spectrum = np.linalg.eigvalsh(differences(case).numpy())
    for which in WANTED:
        hessian = Hessian(case.model(), case.loss, case.batches)
        pairs = eigenpairs(hessian, 4, which=which, tolerance=1e-6, max_products=3000)
        check(hessian, pairs, spectrum, which, 1e-6)


@pytest.mark.parametrize("options", [{"block": 4}, {"copies": 10}, {"block": 2, "copies": 10, "basis": 30}], ids=str)
def test_copies_are_found_by_a_block_of_their_number_or_by_looking_for_them(options):
    """A linear model with C outputs and squared error: H = I_C ⊗ 2XᵀX/(NC), every eigenvalue C times."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(500, 60, generator=draw).double() * torch.logspace(-1, 1, 60).double()
    model = nn.Linear(60, 4, bias=False).double()
    hessian = Hessian(model, mse_loss, (x, torch.zeros(500, 4).double()))
    single = torch.linalg.eigvalsh(x.T @ x / 500 / 2).flip(0)
    pairs = eigenpairs(hessian, 12, tolerance=1e-5, **options)
    torch.testing.assert_close(pairs.values, single[:3].repeat_interleave(4), rtol=1e-9, atol=0)
    assert pairs.converged and pairs.products == hessian.products
    if "block" not in options:  # without care the answer is another: this test can tell
        assert eigenpairs(hessian, 12, tolerance=1e-5).values[3] < 0.9 * single[0]


def test_looking_for_copies_where_there_are_none_costs_its_steps():
    operator = matrix(SPECTRA["outliers"])
    without, sure = (eigenpairs(operator, 4, copies=copies) for copies in (0, 8))
    assert sure.products == without.products + 2 * 8  # what is left of the block is multiplied too
    torch.testing.assert_close(sure.values, without.values, rtol=1e-7, atol=0)


def test_restarts_lose_nothing():
    """A basis that is just large enough gives the same pairs as one that is never full."""
    operator = matrix(SPECTRA["outliers"])
    wide = eigenpairs(operator, 4, basis=300, tolerance=1e-10)
    tight = eigenpairs(operator, 4, basis=6, tolerance=1e-10, max_products=5000)
    assert wide.restarts == 0 < tight.restarts and wide.products < tight.products
    torch.testing.assert_close(tight.values, wide.values, rtol=1e-12, atol=0)
    torch.testing.assert_close(tight.vectors, wide.vectors, rtol=0, atol=1e-8)


def test_a_tighter_tolerance_costs_products_and_gives_smaller_residuals():
    operator = matrix(SPECTRA["even"])
    loose, tight = (eigenpairs(operator, 5, tolerance=t) for t in (1e-2, 1e-8))
    assert loose.products < tight.products
    assert tight.residuals.max() <= 1e-8 < 1e-5 < loose.residuals.max()


def test_the_seed_decides_all_and_torchs_generator_is_left_alone():
    operator = matrix(SPECTRA["even"], torch.float32)
    state = torch.get_rng_state()
    first, repeated, reseeded = (eigenpairs(operator, 3, seed=seed, tolerance=1e-3) for seed in (1, 1, 2))
    assert torch.equal(first.vectors, repeated.vectors) and torch.equal(first.values, repeated.values)
    assert not torch.equal(first.vectors, reseeded.vectors)
    assert torch.equal(torch.get_rng_state(), state)


def test_what_did_not_converge_is_raised_or_returned():
    operator = matrix(SPECTRA["even"])
    with pytest.raises(
        NotConverged, match=r"of 5 eigenpairs have residuals within 1e-12 .* after 20 products and 0 res"
    ):
        eigenpairs(operator, 5, tolerance=1e-12, max_products=20)
    pairs = eigenpairs(operator, 5, tolerance=1e-12, max_products=20, throw=False)
    assert not pairs.converged and pairs.products == 20
    exact = operator.matvec(pairs.vectors) - pairs.values[:, None] * pairs.vectors
    torch.testing.assert_close(pairs.residuals, torch.linalg.vector_norm(exact, dim=1), rtol=1e-6, atol=1e-12)
    few = eigenpairs(operator, 5, max_products=2, throw=False)
    assert len(few.values) == 2 and not few.converged


class Given(Operator):
    """Products by a function."""

    def __init__(self, product, dim: int, dtype: torch.dtype = torch.float64) -> None:
        self.product, self.dim, self.dtype, self.device = product, dim, dtype, torch.device("cpu")

    def _products(self, block):
        return self.product(block)


def test_what_is_not_a_symmetric_matrix_is_refused():
    skew = torch.triu(torch.ones(30, 30)).double()
    with pytest.raises(ValueError, match=r"operator differs from its transpose by .*, but it must be symmetric"):
        eigenpairs(Given(lambda block: block @ skew.T, 30), 2)
    with pytest.raises(ValueError, match="operator gives products that are not finite"):
        eigenpairs(Given(lambda block: block / 0, 30), 2)
    for wrong in (torch.eye(3)[:2], torch.zeros(0, 0), torch.full((2, 2), torch.nan), torch.tensor([[0.0, 1], [0, 0]])):
        with pytest.raises(ValueError, match="matrix "):
            Matrix(wrong)
    with pytest.raises(ValueError, match=r"matrix has dtype torch\.float16"):
        Matrix(torch.eye(3).half())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator": torch.eye(10)}, "operator = tensor.*, but it must be an Operator"),
        ({"count": 0}, "count = 0, but it must be a whole number >= 1"),
        ({"count": 11}, "count = 11, but it must be at most D = 10"),
        ({"which": "LA"}, "which = 'LA', but it must be one of 'largest', 'magnitude', 'smallest'"),
        ({"tolerance": 0}, "tolerance = 0, but it must be a finite number > 0"),
        ({"basis": 3}, "basis = 3, but it must be a whole number >= 4"),
        ({"copies": -1}, "copies = -1, but it must be a whole number >= 0"),
        ({"block": 0}, "block = 0, but it must be a whole number >= 1"),
        ({"seed": -1}, "seed = -1, but it must be a whole number >= 0"),
        ({"max_products": 0}, "max_products = 0, but it must be a whole number >= 1"),
    ],
)
def test_arguments_out_of_range_are_named(change, message):
    arguments = {"operator": Matrix(torch.eye(10)), "count": 2, **change}
    with pytest.raises(ValueError, match=message):
        eigenpairs(arguments.pop("operator"), arguments.pop("count"), **arguments)


def test_products_are_asked_for_in_blocks():
    widths = []
    spectrum = torch.arange(40.0).double()

    def product(block):
        widths.append(len(block))
        return block * spectrum

    eigenpairs(Given(product, 40), 6, block=4)
    assert widths[0] == 4 and set(widths[:-1]) == {4}


def test_a_bar_shows_the_pairs_that_have_converged(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    eigenpairs(matrix(SPECTRA["even"]), 5)
    assert screen.getvalue() == ""
    eigenpairs(matrix(SPECTRA["even"]), 5, progress=True)
    assert "5/5" in screen.getvalue() and "products=" in screen.getvalue()


def test_memory_is_that_of_the_basis():
    """A restart rotates the basis in place."""
    spectrum = torch.linspace(0, 1, 200_000)
    rows = []

    def product(block):
        rows.append(block.untyped_storage().nbytes() // (4 * 200_000))
        return block * spectrum

    eigenpairs(Given(product, 200_000, torch.float32), 2, basis=8, max_products=30, throw=False)
    assert set(rows) == {8}


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("vmap", [False, True])
def test_everything_stays_on_the_models_device(device, vmap):
    """Batches come from the host, and are moved."""
    case = CASES[0]
    hessian = Hessian(case.model().to(device), case.loss, case.batches, vmap=vmap)
    pairs = eigenpairs(hessian, 3, block=2, tolerance=1e-6)
    assert pairs.vectors.device.type == hessian.device.type == device
    assert pairs.values.device.type == pairs.residuals.device.type == "cpu"
    check(hessian, pairs, np.linalg.eigvalsh(differences(case).numpy()), "largest", 1e-6)
