"""Crop and flip: against the plain per-image definition, exact under a seed, uniform over all its choices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lossnav import data


def one_by_one(pixels: np.ndarray, choices: np.ndarray, pad: int) -> np.ndarray:
    """Pad with zeros, cut the window out, mirror it: one image at a time."""
    height, width = pixels.shape[2:]
    results = []
    for image, (row, column, mirrored) in zip(pixels, choices, strict=True):
        padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
        window = padded[:, pad + row : pad + row + height, pad + column : pad + column + width]
        results.append(window[:, :, ::-1] if mirrored else window)
    return np.stack(results)


@pytest.mark.parametrize(("pad", "flip"), [(4, True), (4, False), (1, True), (0, True), (0, False), (9, True)])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 6), (2, 1, 1), (1, 1, 5)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_equals_the_per_image_definition(pad, flip, shape, dtype):
    augment = data.CropFlip(pad, flip)
    pixels = torch.randint(1, 256, (40, *shape), generator=torch.Generator().manual_seed(1)).to(dtype)
    choices = augment.draw(40, torch.Generator().manual_seed(2))
    changed = augment(pixels, choices)
    assert changed.dtype == dtype
    np.testing.assert_array_equal(changed.numpy(), one_by_one(pixels.numpy(), choices.numpy(), pad))
    assert flip == bool(choices[:, 2].any())


def test_a_seed_fixes_the_bits_and_batches_do_not_matter():
    augment = data.CropFlip()
    pixels = torch.randint(0, 256, (50, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    draws = [augment.draw(50, torch.Generator().manual_seed(seed)) for seed in (7, 7, 8)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    whole = augment(pixels, draws[0])
    parts = [augment(p, c) for p, c in zip(pixels.split(7), draws[0].split(7), strict=True)]
    assert torch.equal(whole, torch.cat(parts))


def test_all_choices_are_equally_likely():
    draws = data.CropFlip(pad=2).draw(50_000, torch.Generator().manual_seed(0))
    cells = (draws[:, 0] + 2) * 10 + (draws[:, 1] + 2) * 2 + draws[:, 2]
    counts = torch.bincount(cells, minlength=50).double()
    assert len(counts) == 50
    chi_squared = float(((counts - 1000) ** 2 / 1000).sum())
    assert 22 < chi_squared < 86  # the middle 99.9 % for 49 degrees of freedom


def test_a_batch_is_changed_before_it_is_normalised():
    digits = data.load("digits")
    index = torch.tensor([5, 3])
    black = digits.train.batch(index, torch.zeros_like)[0]
    assert torch.allclose(black, torch.full_like(black, -digits.train.mean[0] / digits.train.std[0]))
    same, labels = digits.train.batch(index, lambda pixels: pixels)
    assert torch.equal(same, digits.train.batch(index)[0]) and torch.equal(labels, digits.train.y[index])
