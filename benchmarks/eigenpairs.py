"""Eigenpairs of a network's Hessian: ours against scipy's ARPACK and LOBPCG on the very same products.

The network is the paper's perceptron with the inputs of scikit-learn's digits, some hundred steps of Adam after its
start, where the spectrum is what it is in networks: a few outliers, a crowd near zero, some negative values. All are
asked for the same relative residuals; what each reached is multiplied out afterwards, in float64.

Products with the Hessian are what costs. Ours keep the graph of the gradient; the first rows show what that saves.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import eigsh, lobpcg
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp
from torch.nn.functional import cross_entropy

from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns
from lossnav import curvature, data, models

WIDTHS, IMAGES, STEPS, BATCH, RATE = (512, 256), 300, 200, 64, 1e-3
TASKS = (("largest", 10), ("largest", 30), ("smallest", 5))
TOLERANCE, ENOUGH = 1e-3, 20_000  # of the residuals; products after which one gives up
ROUNDS, PRODUCT_ROUNDS, LIMIT = 7, 21, 10.0  # LIMIT in seconds, of each group of rows
LOBPCG_STEPS = 20
OURS, ARPACK, WIDE = "eigenpairs", "ARPACK", "ARPACK, our basis"
IN_ARPACK = {"largest": "LA", "smallest": "SA"}
Pairs = tuple[np.ndarray, Tensor]


@dataclass
class Contender:
    """A way to find pairs, with all that it found; each call has a random start of its own.

    Attributes:
        hessian: what counts the products.
        solve: seed → values, the wanted one first, and vectors, one a row.
        products: number of vectors multiplied, call by call.
        found: pairs, call by call.
    """

    hessian: curvature.Hessian
    solve: Callable[[int], Pairs]
    products: list[int] = field(default_factory=list)
    found: list[Pairs] = field(default_factory=list)

    def __call__(self) -> None:
        self.hessian.products = 0
        self.found.append(self.solve(len(self.found)))
        self.products.append(self.hessian.products)


def trained(digits: data.Dataset, widths: tuple[int, ...], steps: int) -> nn.Module:
    """Return the perceptron after some steps of Adam."""
    model = models.mlp(digits.inputs, widths, seed=0).to(digits.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    draw = torch.Generator().manual_seed(0)
    for _ in range(steps):
        x, y = digits.train.batch(torch.randint(len(digits.train), (BATCH,), generator=draw).to(digits.device))
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def by_torch_func(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Callable[[Tensor], Tensor]:
    """Return the usual product, the derivative of ``torch.func.grad`` along a direction."""
    weights = {name: p.detach() for name, p in model.named_parameters()}
    sizes = [p.numel() for p in weights.values()]

    def loss(at: dict[str, Tensor]) -> Tensor:
        return cross_entropy(functional_call(model, at, (batch[0],)), batch[1])

    def product(vector: Tensor) -> Tensor:
        parts = zip(weights.items(), vector.split(sizes), strict=True)
        along = {name: part.view(p.shape) for (name, p), part in parts}
        return torch.cat([h.flatten() for h in jvp(grad(loss), (weights,), (along,))[1].values()])

    return product


def ours(hessian: curvature.Hessian, which: str, count: int, seed: int) -> Pairs:
    pairs = curvature.eigenpairs(
        hessian, count, which=which, seed=seed, tolerance=TOLERANCE, max_products=ENOUGH, throw=False
    )
    return pairs.values.numpy(), pairs.vectors


def by_arpack(hessian: curvature.Hessian, which: str, count: int, seed: int, basis: int | None = None) -> Pairs:
    start = np.random.default_rng(seed).normal(size=hessian.dim).astype(np.float32)
    options: dict[str, Any] = {"v0": start, "tol": TOLERANCE, "ncv": basis, "maxiter": ENOUGH}
    with threadpool_limits(1, user_api="blas"):  # else its threads and those of the products fight for the cores
        values, vectors = eigsh(hessian.as_scipy(), count, which=IN_ARPACK[which], **options)
    return _sorted(values, vectors, which)


def by_lobpcg(hessian: curvature.Hessian, count: int, seed: int) -> Pairs:
    """Return the largest that LOBPCG reaches in a number of steps; its tolerance is absolute."""
    start = np.random.default_rng(seed).normal(size=(hessian.dim, count)).astype(np.float32)
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")  # that it did not converge is in the table
        values, vectors, *_ = lobpcg(hessian.as_scipy(), start, largest=True, tol=TOLERANCE, maxiter=LOBPCG_STEPS)
    return _sorted(values, vectors, "largest")


def _sorted(values: np.ndarray, vectors: np.ndarray, which: str) -> Pairs:
    order = np.argsort(values if which == "smallest" else -values)
    return values[order].astype(float), torch.from_numpy(np.ascontiguousarray(vectors[:, order].T))


def residual(exact: curvature.Hessian, pairs: Pairs) -> float:
    """Return the largest |Hq − λq| / |λ|, multiplied out with the Hessian in float64."""
    vectors = pairs[1].to(exact.device).double()
    vectors = vectors / torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    values = torch.from_numpy(pairs[0]).to(vectors)
    gaps = torch.linalg.vector_norm(exact.matvec(vectors) - values[:, None] * vectors, dim=1)
    return (gaps / values.abs()).max().item()


def apart(one: Contender, other: Contender) -> float:
    """Return by how much the eigenvalues of two contenders differ, in any round, relative to themselves."""
    values = (np.array([pairs[0] for pairs in contender.found]) for contender in (one, other))
    first, second = values
    return float(np.max(np.abs(first / second - 1)))


def run(settings: Settings) -> Report:
    digits = data.load("digits").to(settings.device)
    images, widths, rounds = (100, (16,), 2) if settings.quick else (IMAGES, WIDTHS, ROUNDS)
    batch = digits.train.batch(slice(0, images))
    tasks = [(which, 3) for which in IN_ARPACK] if settings.quick else TASKS
    with machine.threads(settings.threads) as threads:
        model = trained(digits, widths, STEPS)
        build = partial(curvature.Hessian, model, cross_entropy, batch)
        rows, checks = _products(model, batch, build, 3 if settings.quick else PRODUCT_ROUNDS)
        for which, count in tasks:
            group = _pairs(build(), build(dtype=torch.float64), which, count, rounds)
            rows += group[0]
            checks |= group[1]
    return Report(
        columns=["task", "products", "ms", "ours is faster", "1st quartile", "3rd", "residual"],
        formats=[".0f", ".1f", ".2f", ".2f", ".2f", ".1e"],
        rows=rows,
        checks=checks,
        config={
            "inputs": digits.inputs, "widths": list(widths), "images": images, "tolerance": TOLERANCE,
            "rounds": rounds, "threads": threads, "parameters": sum(p.numel() for p in model.parameters()),
            "data": digits.provenance.label,
        },
        device=machine.name(settings.device),
        notes=[
            f"{sum(p.numel() for p in model.parameters())} parameters, {images} images, {threads} thread(s); products: "
            f"median of {rounds} random starts",
            f"all were asked for residuals of {TOLERANCE:g}; ARPACK looks at them only between restarts, and then has "
            "more than it was asked for",
            "ARPACK's and LOBPCG's own arithmetic has one thread, the products have all: with more they take longer, "
            "for numpy's threads and torch's want the same cores",
            f"LOBPCG: {LOBPCG_STEPS} steps at most, once",
        ],
    )  # fmt: skip


def _products(
    model: nn.Module, batch: tuple[Tensor, Tensor], build: Callable[..., curvature.Hessian], rounds: int
) -> tuple[list[list[Any]], dict[str, bool]]:
    kept, anew, usual = build(), build(memory=0), by_torch_func(model, batch)
    vector = torch.randn(kept.dim, generator=torch.Generator().manual_seed(0)).to(kept.device)
    gap = (kept.matvec(vector) - usual(vector)).abs().max().item() / kept.matvec(vector).abs().max().item()
    names = {"graph kept": kept.matvec, "graph made anew": anew.matvec, "torch.func": usual}
    calls: dict[str, Callable[[], object]] = {name: partial(call, vector) for name, call in names.items()}
    times = take_turns(calls, rounds, wait=machine.waiter(kept.device), limit=LIMIT)
    rows, checks = [], {}
    for name, seconds in times.items():
        gain = ratio(seconds, times["graph kept"])
        quartiles = [None] * 3 if name == "graph kept" else gain.cells()
        rows.append([f"a product: {name}", 1, 1e3 * spread(seconds).median, *quartiles, None])
    gain = ratio(times["torch.func"], times["graph kept"])
    checks[f"a product: {gain} times as fast as torch.func's, at least 1.5"] = gain.median >= 1.5
    checks[f"a product: the same as torch.func's, {gap:.0e} apart"] = gap <= 1e-5
    return rows, checks


def _pairs(
    hessian: curvature.Hessian, exact: curvature.Hessian, which: str, count: int, rounds: int
) -> tuple[list[list[Any]], dict[str, bool]]:
    ways = {
        OURS: Contender(hessian, partial(ours, hessian, which, count)),
        ARPACK: Contender(hessian, partial(by_arpack, hessian, which, count)),
        WIDE: Contender(hessian, partial(by_arpack, hessian, which, count, basis=3 * count + 20)),
    }
    times = take_turns(ways, rounds, warm_up=0, wait=machine.waiter(hessian.device), limit=LIMIT)
    rows, checks, task = [], {}, f"{count} {which}"
    for name, way in ways.items():
        reached, used = residual(exact, way.found[-1]), spread(way.products).median
        gain = ratio(times[name], times[OURS])
        factors = [None] * 3 if name == OURS else gain.cells()
        rows.append([f"{task}: {name}", used, 1e3 * spread(times[name]).median, *factors, reached])
        if name == OURS:
            fewest, words = used, f"{task}: residuals {reached:.1e}, at most {TOLERANCE:g}"
            checks[words] = reached <= TOLERANCE
        else:
            gap = apart(ways[OURS], way)
            checks[f"{task}: {fewest:.0f} products, no more than the {used:.0f} of {name}"] = fewest <= used
            checks[f"{task}: {gain} times as fast as {name}, at least 1"] = gain.median >= 1
            checks[f"{task}: the same values as {name}, {gap:.0e} apart"] = gap <= TOLERANCE
    if (which, count) == TASKS[0]:  # once, and not for more: it needs many times the products
        rows.append(_lobpcg(hessian, exact, count, spread(times[OURS]).median))
    return rows, checks


def _lobpcg(hessian: curvature.Hessian, exact: curvature.Hessian, count: int, reference: float) -> list[Any]:
    way = Contender(hessian, partial(by_lobpcg, hessian, count))
    begin = time.perf_counter()
    way()
    seconds = time.perf_counter() - begin
    name = f"{count} largest: LOBPCG"
    return [name, way.products[0], 1e3 * seconds, seconds / reference, None, None, residual(exact, way.found[0])]
