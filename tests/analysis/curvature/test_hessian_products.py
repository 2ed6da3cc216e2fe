"""Products with the Hessian against finite differences of gradients; what it refuses."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from curvature_cases import CASES, Case, differences, gradients, labelled
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from lossnav.analysis.curvature import Hessian


@pytest.mark.parametrize("memory", [1e9, 0.0], ids=["kept", "recomputed"])
@pytest.mark.parametrize("vmap", [True, False])
def test_the_matrix_is_that_of_differences(case, memory, vmap):
    hessian = Hessian(case.model(), case.loss, case.batches, memory=memory, vmap=vmap)
    expected = differences(case)
    assert hessian.dim == len(expected) and hessian.examples == sum(len(x) for x, _ in case.batches)
    assert hessian.kept == (len(case.batches) if memory else 0)
    dense = hessian.dense(block=7)
    torch.testing.assert_close(dense, expected, atol=1e-8, rtol=1e-7)
    assert hessian.products == hessian.dim


def test_uneven_batches_count_every_example_once():
    case = CASES[0]
    x, y = (torch.cat(part) for part in zip(*case.batches, strict=True))
    vector = torch.randn(51, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    reference, *products = (
        Hessian(case.model(), case.loss, batches, memory=memory).matvec(vector)
        for batches, memory in [
            ((x, y), 0), (case.batches, 0), (case.batches, 1e9), ([(x[:1], y[:1]), (x[1:], y[1:])], 0),
        ]
    )  # fmt: skip
    for product in products:
        torch.testing.assert_close(product, reference, rtol=1e-12, atol=1e-14)


def test_as_many_graphs_are_kept_as_fit():
    case = CASES[0]
    all_of_them = [Hessian(case.model(), case.loss, case.batches, memory=m).kept for m in (0, 1e3, 1e4, 1e6)]
    assert all_of_them == sorted(all_of_them) and all_of_them[0] == 0 and all_of_them[-1] == 3
    vector = torch.ones(51, dtype=torch.float64)
    expected = Hessian(case.model(), case.loss, case.batches).matvec(vector)
    counts = set()
    for memory in np.geomspace(1e3, 1e5, 30):
        hessian = Hessian(case.model(), case.loss, case.batches, memory=memory)
        counts.add(hessian.kept)
        torch.testing.assert_close(hessian.matvec(vector), expected, rtol=1e-12, atol=1e-14)
    assert counts == {0, 1, 2, 3}


def test_a_loader_that_shuffles_is_kept_whole_or_not_at_all():
    case = CASES[0]
    x, y = (torch.cat(part) for part in zip(*case.batches, strict=True))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, y), 4, shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    vector = torch.ones(51, dtype=torch.float64)
    expected = Hessian(case.model(), case.loss, (x, y)).matvec(vector)
    counts = set()
    for memory in np.geomspace(1e3, 1e5, 12):
        hessian = Hessian(case.model(), case.loss, loader, memory=memory)
        counts.add(hessian.kept)
        for _ in range(2):
            torch.testing.assert_close(hessian.matvec(vector), expected, rtol=1e-12, atol=1e-14)
    assert counts == {0, 4}


def test_chosen_parameters_are_a_block_of_the_matrix():
    case = CASES[0]
    model = case.model()
    full = Hessian(model, case.loss, case.batches)
    rows = torch.cat([torch.full((p.numel(),), name in ("0.bias", "2.weight")) for name, p in model.named_parameters()])
    block = full.dense()[rows][:, rows]
    chosen = Hessian(model, case.loss, case.batches, parameters=["2.weight", "0.bias"])
    assert chosen.names == ["0.bias", "2.weight"]
    torch.testing.assert_close(chosen.dense(), block, rtol=1e-12, atol=1e-14)
    for name, p in model.named_parameters():
        p.requires_grad_(name in chosen.names)
    torch.testing.assert_close(Hessian(model, case.loss, case.batches).dense(), block, rtol=1e-12, atol=1e-14)
    assert all(p.requires_grad == (name in chosen.names) for name, p in model.named_parameters())


def test_a_parameter_that_the_loss_is_linear_in_or_blind_to_has_no_curvature():
    class Offset(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.slope, self.unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x @ self.slope

    data = (torch.ones(4, 2), torch.zeros(4))
    hessian = Hessian(Offset(), lambda output, target: (output - target).mean(), data)
    assert torch.equal(hessian.dense(), torch.zeros(5, 5))
    bent = Hessian(Offset(), mse_loss, data)
    expected = torch.zeros(5, 5)
    expected[:2, :2] = 2.0
    assert torch.equal(bent.dense(), expected)


def test_float64_is_exact_where_float32_is_not():
    case = CASES[0]
    model = case.model().float()
    exact = differences(Case("single", lambda: copy.deepcopy(model), case.loss, case.batches))
    single, double = (Hessian(model, case.loss, case.batches, dtype=t) for t in (None, torch.float64))
    assert single.dtype == torch.float32 and double.dtype == torch.float64
    assert next(model.parameters()).dtype == torch.float32
    torch.testing.assert_close(double.dense(), exact, atol=1e-8, rtol=1e-7)
    error = (single.dense() - exact).abs().max().item()
    assert 1e-9 < error < 1e-6
    half = Hessian(copy.deepcopy(model).bfloat16(), case.loss, case.batches)
    assert half.dtype == torch.float32 and (half.dense() - exact).abs().max() < 0.1


def test_a_snapshot_is_not_changed_by_training_and_changes_nothing(case):
    model = case.model()
    case.loss(model(case.batches[0][0]), case.batches[0][1]).backward()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    grads = [p.grad.clone() for p in model.parameters()]
    generator = torch.get_rng_state()
    hessian = Hessian(model, case.loss, case.batches, memory=0)
    vector = torch.ones(hessian.dim, dtype=torch.float64)
    first = hessian.matvec(vector)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), grads, strict=True))
    assert torch.equal(torch.get_rng_state(), generator)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    model.train()
    assert torch.equal(hessian.matvec(vector), first)


def test_vectors_and_named_tensors():
    case = CASES[0]
    model = case.model()
    hessian = Hessian(model, case.loss, case.batches)
    vector = torch.arange(51, dtype=torch.float64)
    parts = hessian.unflatten(vector)
    assert {name: part.shape for name, part in parts.items()} == {n: p.shape for n, p in model.named_parameters()}
    assert torch.equal(hessian.flatten(dict(reversed(parts.items()))), vector)
    block = hessian.unflatten(torch.stack([vector, -vector]))
    assert torch.equal(block["2.weight"][1], -parts["2.weight"])
    along = hessian.flatten({name: p.grad for name, p in _with_gradient(case, model).named_parameters()})
    torch.testing.assert_close(along, gradients(case, case.model()).mean(0), rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match=r"tensors has the names \['0.bias'\], but they must be \['0.weight', "):
        hessian.flatten({"0.bias": parts["0.bias"]})
    with pytest.raises(ValueError, match=r"tensors\['0.bias'\] has shape \(2,\), but it must be \(6,\)"):
        hessian.flatten({**parts, "0.bias": torch.zeros(2)})


def _with_gradient(case: Case, model: nn.Module) -> nn.Module:
    x, y = (torch.cat(part) for part in zip(*case.batches, strict=True))
    model.zero_grad()
    case.loss(model(x), y).backward()
    return model


def test_scipy_sees_the_same_matrix(case):
    hessian = Hessian(case.model(), case.loss, case.batches)
    operator = hessian.as_scipy()
    columns = np.random.default_rng(0).normal(size=(hessian.dim, 3))
    expected = differences(case).numpy() @ columns
    np.testing.assert_allclose(operator @ columns, expected, atol=1e-7)
    np.testing.assert_allclose(operator @ columns[:, 0], expected[:, 0], atol=1e-7)
    assert operator.dtype == np.float64


BATCH = labelled((4,), (6,))[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batches": []}, "batches holds no examples"),
        ({"batches": iter([BATCH])}, "batches can be passed through only once"),
        ({"batches": 3}, "batches = 3, but it must be a pair of tensors or an iterable"),
        ({"batches": [BATCH[0]]}, r"batches has the batch .*, but each must be a pair"),
        ({"batches": [(BATCH[0], BATCH[1][:2])]}, r"inputs of shape \(6, 4\) with targets of shape \(2,\)"),
        ({"batches": [(BATCH[0][:0], BATCH[1][:0])]}, "must be the same examples, at least one"),
        ({"batches": [(BATCH[0] * torch.inf, BATCH[1])]}, "the loss of the first batch is nan, but it must be finite"),
        ({"parameters": ["weight"]}, "parameters has 'weight', but it must have names among 0.weight, 0.bias"),
        ({"parameters": []}, "parameters has no names"),
        ({"dtype": torch.bfloat16}, "dtype has dtype torch.bfloat16, but it must be torch.float32 or torch.float64"),
        ({"memory": -1}, "memory = -1, but it must be a finite number >= 0"),
        ({"loss": lambda z, y: cross_entropy(z, y, reduction="none")}, r"loss returned a tensor of shape \(6,\)"),
        ({"loss": lambda z, y: cross_entropy(z, y, reduction="sum")}, "loss must be the mean over examples"),
        ({"loss": lambda z, y: 1.0}, "loss returned 1.0, but it must return a scalar"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(change, message):
    model = nn.Sequential(nn.Linear(4, 3)).double()
    with pytest.raises(ValueError, match=message):
        Hessian(model, **{"loss": cross_entropy, "batches": [BATCH], **change})


def test_random_layers_and_batch_statistics_are_refused_in_training_mode():
    for layer, message in [
        (nn.Dropout(0.5), "not random: call model.eval"),
        (nn.BatchNorm1d(4), "batch normalisation"),
    ]:
        model = nn.Sequential(layer, nn.Linear(4, 3)).double()
        state = copy.deepcopy(model.state_dict())
        with pytest.raises(ValueError, match=message):
            Hessian(model, cross_entropy, [BATCH])
        assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
        assert Hessian(model.eval(), cross_entropy, [BATCH]).dim >= 15


def test_a_model_without_gradients_is_refused_unless_parameters_are_named():
    model = nn.Sequential(nn.Linear(4, 3)).double().requires_grad_(False)
    with pytest.raises(ValueError, match="no parameter of the model requires gradients"):
        Hessian(model, cross_entropy, [BATCH])
    assert Hessian(model, cross_entropy, [BATCH], parameters="0.weight").dim == 12


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (torch.zeros(3), r"vectors has shape \(3,\), but it must be a tensor of shape \(15,\) or \(B, 15\)"),
        (torch.zeros(15), "vectors has dtype torch.float32 on cpu, but it must have torch.float64 on cpu"),
        ([0.0] * 15, "vectors = .*, but it must be a tensor"),
        (torch.zeros(2, 2, 15).double(), r"vectors has shape \(2, 2, 15\)"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, message):
    hessian = Hessian(nn.Linear(4, 3).double(), cross_entropy, BATCH)
    with pytest.raises(ValueError, match=message):
        hessian.matvec(vectors)


def test_inference_mode_does_not_make_a_loss_linear():
    model, x = nn.Linear(1, 1, bias=False), torch.tensor([[1.0], [3.0]])
    outside = Hessian(model, mse_loss, (x, 2 * x), memory=0)
    with torch.inference_mode():
        inside = Hessian(model, mse_loss, (x, 2 * x))
        assert inside.matvec(torch.ones(1)).item() == outside.matvec(torch.ones(1)).item() == 10.0


def test_a_network_at_an_exact_minimum_is_judged_beside_it():
    """Its loss is rounding, and that of its halves other rounding; a loss that sums is refused all the same."""
    torch.manual_seed(1)
    weights, x = torch.randn(5, 1, dtype=torch.float64), torch.randn(51, 5, dtype=torch.float64)
    model = nn.Linear(5, 1, bias=False).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(400):
        optimizer.zero_grad()
        mse_loss(model(x), x @ weights).backward()
        optimizer.step()
    dense = Hessian(model, mse_loss, (x, x @ weights)).dense()
    torch.testing.assert_close(dense, 2 * x.T @ x / 51)
    with pytest.raises(ValueError, match="mean over examples"):
        Hessian(model, nn.MSELoss(reduction="sum"), (x, x @ weights))
