"""The residual network and the vision transformer: against definitions written out anew, and on real images."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
import torch
from resources import real
from torch import nn
from torch.func import functional_call
from torch.nn.functional import conv2d, cross_entropy, gelu, linear

from lossnav import data, ensemble, models, optim, training

SMALL = {
    "resnet": lambda seed=0: models.resnet(blocks=1, width=8, groups=8, seed=seed),
    "resnet, one group": lambda seed=0: models.resnet(blocks=1, width=8, seed=seed),
    "vit": lambda seed=0: models.vit(width=32, depth=2, seed=seed),
}


def images(count: int, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, *(shape or (3, 32, 32)), generator=torch.Generator().manual_seed(seed))


def weights_of(model: nn.Module) -> list[np.ndarray]:
    return [p.detach().double().numpy() for p in model.parameters()]


def normalised(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_the_residual_network_is_what_it_says():
    """Numpy for everything but the convolution; groups of more than one channel, two blocks a stage."""
    model = models.resnet(blocks=2, width=4, groups=2, seed=5)
    shift_the_norms(model)
    left = iter(weights_of(model))

    def layer(x: np.ndarray, stride: int = 1) -> np.ndarray:
        y = conv2d(torch.from_numpy(x), torch.from_numpy(next(left)), stride=stride, padding=1).numpy()
        grouped = normalised(y.reshape(len(y), 2, -1), (2,)).reshape(y.shape)
        scale, shift = next(left), next(left)
        return grouped * scale[:, None, None] + shift[:, None, None]

    x = images(3, 3, 15, 15)  # odd: the halves are rounded up
    h = np.maximum(layer(x.double().numpy()), 0)
    for stage in range(3):
        for block in range(2):
            stride = 2 if stage and not block else 1
            inner = layer(np.maximum(layer(h, stride), 0))
            short = np.zeros_like(inner)
            short[:, : h.shape[1]] = h[:, :, ::stride, ::stride]
            h = np.maximum(short + inner, 0)
    assert h.shape == (3, 16, 4, 4)
    logits = h.mean((2, 3)) @ next(left).T + next(left)
    assert not list(left)
    np.testing.assert_allclose(model(x).detach().numpy(), logits, rtol=1e-4, atol=1e-5)


def test_the_transformer_is_what_it_says():
    """Patch by patch, head by head, in numpy."""
    model = models.vit(2, 8, 5, patch=4, width=12, depth=2, heads=3, seed=5)
    shift_the_norms(model)
    left = iter(weights_of(model))
    x = images(3, 2, 8, 8)
    kernel, bias, positions = next(left), next(left), next(left)
    corners = [(i, j) for i in (0, 4) for j in (0, 4)]
    patches = np.stack([x.double().numpy()[:, :, i : i + 4, j : j + 4].reshape(3, -1) for i, j in corners], 1)
    h = patches @ kernel.reshape(12, -1).T + bias + positions

    def norm(h: np.ndarray) -> np.ndarray:
        return normalised(h, (2,)) * next(left) + next(left)

    def dense(h: np.ndarray) -> np.ndarray:
        return linear(*(torch.from_numpy(a) for a in (h, next(left), next(left)))).numpy()

    for _ in range(2):
        mixed = dense(norm(h))
        heads = []
        for k in range(3):
            q, key, v = (mixed[:, :, 12 * part + 4 * k :][:, :, :4] for part in range(3))
            score = np.exp(q @ key.transpose(0, 2, 1) / math.sqrt(4))
            heads.append(score / score.sum(2, keepdims=True) @ v)
        h = h + dense(np.concatenate(heads, 2))
        h = h + dense(gelu(torch.from_numpy(dense(norm(h)))).numpy())
    logits = dense(norm(h).mean(1))
    assert not list(left)
    np.testing.assert_allclose(model(x).detach().numpy(), logits, rtol=1e-4, atol=1e-5)


def shift_the_norms(model: nn.Module) -> None:
    """Give scales and shifts values that a forgotten one would be noticed by."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.GroupNorm | nn.LayerNorm):
                layer.weight.uniform_(0.5, 1.5, generator=generator)
                layer.bias.uniform_(-0.5, 0.5, generator=generator)


def test_sizes_by_default():
    residual, transformer = models.resnet(seed=0), models.vit(seed=0)
    convolutions = [layer for layer in residual.modules() if isinstance(layer, nn.Conv2d)]
    assert len(convolutions) + 1 == 20  # ResNet-20 counts the last layer, too
    stages = [(16, 16)] * 6 + [(16, 32)] + [(32, 32)] * 5 + [(32, 64)] + [(64, 64)] * 5
    kernels = 27 * 16 + sum(9 * a * b for a, b in stages)
    assert sum(p.numel() for p in residual.parameters()) == kernels + 2 * 7 * (16 + 32 + 64) - 2 * (32 + 64) + 650
    block = (128 + 1) * 384 + (128 + 1) * 128 + (128 + 1) * 256 + (256 + 1) * 128 + 4 * 128
    count = (48 + 1) * 128 + 64 * 128 + 6 * block + 2 * 128 + 1290
    assert sum(p.numel() for p in transformer.parameters()) == count
    for make, model in ((models.resnet, residual), (models.vit, transformer)):
        assert f"{sum(p.numel() for p in model.parameters()):,} parameters" in make.__doc__
        assert model(images(2)).shape == (2, 10)
        assert make(1, outputs=7, seed=0)(images(2, 1, 32, 32)).shape == (2, 7)
    assert models.resnet(1, seed=0)(images(1, 1, 8, 6)).shape == (1, 10)
    assert models.vit(1, 28, seed=0)(images(1, 1, 28, 28)).shape == (1, 10)


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_gradients_reach_every_parameter(make):
    model = make()
    cross_entropy(model(images(8)), torch.arange(8)).backward()
    for name, p in model.named_parameters():
        assert p.grad is not None and p.grad.isfinite().all() and p.grad.abs().max() > 0, name


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_an_image_is_judged_by_itself(make):
    """No statistics of a batch, in no mode, and no state that a forward pass moves: what the module promises."""
    model, x = make(), images(6)
    assert not list(model.buffers())
    together = model.train()(x).detach()
    torch.testing.assert_close(torch.cat([model(img) for img in x.split(1)]).detach(), together, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.eval()(x).detach(), together, rtol=0, atol=0)


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_curvature_along_a_direction(make):
    """Products with the Hessian, which need a second derivative, against finite differences of the gradient."""
    model, x, y = make().double(), images(8).double(), torch.arange(8)
    names, weights = zip(*model.named_parameters(), strict=True)
    generator = torch.Generator().manual_seed(2)
    along = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in weights]
    along = [a / flat(along).norm() for a in along]

    def slope(shift: float) -> list[torch.Tensor]:
        moved = {n: p + shift * a for n, p, a in zip(names, weights, along, strict=True)}
        return list(
            torch.autograd.grad(cross_entropy(functional_call(model, moved, (x,)), y), weights, create_graph=True)
        )

    product = torch.autograd.grad(slope(0.0), weights, along)
    difference = (flat(slope(1e-6)) - flat(slope(-1e-6))) / 2e-6
    assert (flat(product) - difference).norm() <= 1e-4 * flat(product).norm() and difference.norm() > 0


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat([t.detach().reshape(-1) for t in tensors])


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_seeds_run_together_as_alone(make):
    members, x = [make(seed) for seed in range(3)], images(4)
    together = ensemble.Ensemble(members)(x.expand(3, -1, -1, -1, -1)).detach()
    torch.testing.assert_close(together, torch.stack([m(x) for m in members]).detach(), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def pictures() -> data.Dataset:
    """Two real images a class and split; the first ten have one of each class."""
    dataset = real("cifar10")
    few = {}
    for name in ("train", "test"):
        split = getattr(dataset, name)
        chosen = torch.stack([(split.y == label).nonzero()[:2, 0] for label in range(dataset.classes)], 1).flatten()
        few[name] = replace(split, x=split.x[chosen], y=split.y[chosen])
    return replace(dataset, **few)


@pytest.mark.parametrize("name", ["resnet", "vit"])
def test_the_loop_trains_them_in_its_own_choice_of_arithmetic(name, pictures):
    model = SMALL[name]()
    rule = optim.Ballistic(model.parameters(), lr=1e-3, bias_correction=False)
    history = training.train(
        model, pictures, rule, epochs=12, batch_size=8, seed=0, device="cpu", augment=data.CropFlip(), progress=False
    )
    assert history.train_loss[-1] < 0.9 * history.train_loss[0]
    assert history.settings["memory_format"] == "channels_last"


@pytest.mark.parametrize(
    ("make", "values", "message"),
    [
        (models.resnet, {"width": 12, "groups": 8}, r"width = 12.*multiple of groups = 8"),
        (models.cnn, {"size": 30}, r"size = 30.*multiple of 4"),
        (models.vit, {"size": 30}, r"size = 30.*multiple of patch = 4"),
        (models.vit, {"heads": 3}, r"width = 128.*multiple of heads = 3"),
    ],
)
def test_bad_numbers_are_named(make, values, message):
    with pytest.raises(ValueError, match=message):
        make(seed=0, **values)
