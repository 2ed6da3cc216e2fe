"""Streams of tasks: what is permuted, what stays, and that a member meets the same tasks in any company."""

from __future__ import annotations

import itertools

import pytest
import torch

from lossnav.lab.data.dataset import Provenance, from_pixels
from lossnav.lab.streams import BitFlipping, Permuted


@pytest.fixture
def tiny():
    """Four images of four pixels, each of one value per pixel, so that every permutation can be read off."""
    pixels = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]], dtype=torch.uint8)
    images = pixels.view(4, 1, 2, 2)
    labels = torch.tensor([0, 1, 2, 3])
    return from_pixels("tiny", (images[:3], labels[:3], images[3:], labels[3:]), scale=1.0, classes=4,
                       provenance=Provenance("tiny", "here", "none"))  # fmt: skip


def raw(tiny, x):
    split = tiny.train
    return (x * split.std[0] + split.mean[0]).round().long()


def test_a_task_permutes_pixels_and_labels_once_for_all_images(tiny):
    stream = Permuted(tiny, (0, 1), batch_size=1)
    for number, member in itertools.product(range(5), range(2)):
        x, y = stream.task(number)
        pixels, labels = raw(tiny, x[:, member, 0]), y[:, member, 0]
        image = pixels[:, 0] // 4
        assert sorted(image.tolist()) == [0, 1, 2, 3]  # train and test, each once
        assert all(len(set((row % 4).tolist())) == 4 for row in pixels)
        assert len({tuple((row % 4).tolist()) for row in pixels}) == 1  # one pixel permutation for the task
        assert sorted(labels.tolist()) == [0, 1, 2, 3]
        names = dict(zip(image.tolist(), labels.tolist(), strict=True))
        assert sorted(names) == [0, 1, 2, 3]


def test_permutations_differ_between_tasks_and_members(digits):
    stream = Permuted(digits, (0, 1))
    mean_image = {n: stream.task(n)[0].mean((0, 2)) for n in range(3)}  # the order of the images does not matter to it
    pictures = [mean_image[n][s] for n in range(3) for s in range(2)]
    for first, second in itertools.combinations(pictures, 2):
        assert (first - second).abs().max() > 0.5
        torch.testing.assert_close(first.sort().values, second.sort().values, rtol=0, atol=0.02)


def test_labels_stay_where_only_pixels_are_permuted(tiny):
    x, y = Permuted(tiny, (0,), batch_size=1, relabel=False).task(7)
    assert torch.equal(raw(tiny, x[:, 0, 0])[:, 0] // 4, y[:, 0, 0])


@pytest.mark.parametrize("bits", [False, True])
def test_a_member_meets_the_same_tasks_in_any_company(digits, bits):
    several, alone = (
        BitFlipping(seeds, period=50) if bits else Permuted(digits, seeds) for seeds in ((5, 3, 9), (3,))
    )  # fmt: skip
    for number in (4, 0):
        for group, single in zip(several.task(number), alone.task(number), strict=True):
            assert torch.equal(group[:, 1], single[:, 0])


def test_fewer_examples_are_drawn_anew_for_each_task(digits):
    stream = Permuted(digits, (0,), batch_size=10, examples=55)
    assert stream.steps == 5 and stream.inputs == 64
    x, _ = stream.task(0)
    assert tuple(x.shape) == (5, 1, 10, 64)
    contents = {tuple(image.sort().values.tolist()) for image in x.reshape(-1, 64)}
    again = {tuple(image.sort().values.tolist()) for image in stream.task(1)[0].reshape(-1, 64)}
    assert len(contents) >= 49 and len(contents & again) < 10


def test_bits_that_are_slow_stay_for_a_task():
    stream = BitFlipping((0, 1), period=400)
    for number in range(3):
        x, _ = stream.task(number)
        assert tuple(x.shape) == (400, 2, 1, 20)
        assert x[:, :, 0, :15].std(0).max() == 0
        fast = x[:, :, 0, 15:].mean(0)
        assert fast.min() > 0.35 and fast.max() < 0.65


def test_slow_bits_change_between_tasks():
    stream = BitFlipping((0,), period=1)
    bits = torch.stack([stream.task(n)[0][0, 0, 0, :15] for n in range(200)])
    changes = (bits[1:] != bits[:-1]).sum(1)
    assert 6.5 < changes.float().mean() < 8.5  # half of 15
    assert set(range(15)) == set((bits[1:] != bits[:-1]).any(0).nonzero().flatten().tolist())


def test_the_target_counts_agreeing_bits():
    """Eq. of the docstring, from the other side: a unit is on if it agrees with more than β of its 21 inputs."""
    stream = BitFlipping((3,), period=300)
    x, y = stream.task(0)
    weight, threshold, output = stream._weight[0], stream._threshold[0], stream._output[0]
    negative = (weight < 0).sum(1)
    bias = 21 * 0.7 - threshold - negative  # ±1, less 1 where the bias itself is one of the negative signs
    agree_bias = (bias > 0.5).long()
    for bits, target in zip(x[:, 0, 0], y[:, 0, 0, 0], strict=True):
        agree = ((weight > 0) == (bits > 0.5)).sum(1) + agree_bias
        assert target.item() == output[agree > 0.7 * 21].sum().item()
    assert y.std() > 0.5


def test_the_target_does_not_change_with_the_task():
    stream = BitFlipping((0,), inputs=4, slow=2, period=200, hidden=10)
    targets = {}
    for number in range(20):
        x, y = stream.task(number)
        for bits, target in zip(x[:, 0, 0].tolist(), y[:, 0, 0, 0].tolist(), strict=True):
            assert targets.setdefault(tuple(bits), target) == target
    assert len(targets) == 16
