"""Batches to train on: ours, a whole batch at a time on the device, and a torch DataLoader's, an image at a time.

Both show random 32×32 images in a new order, padded by 4 pixels, cropped and mirrored at random, and normalised. Ours
is what ``training.train`` does between two steps; the loader is what one writes with ``Dataset`` and ``DataLoader``:
the same operations for each image, collated, in this process or in two others. It keeps its workers between epochs, so
that starting them is not in the times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns
from lossnav import data

IMAGES, BATCH, ROUNDS, LIMIT = 12_800, 128, 9, 60.0  # LIMIT in seconds
PAD = 4
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
OURS = "ours"
LOADERS = {"DataLoader": 0, "DataLoader, 2 workers": 2}


class Images(Dataset):
    """Images that are changed and normalised when they are asked for.

    Args:
        pixels: (N, C, H, W) uint8, on the CPU.
        labels: (N,).
        changed: whether to crop and mirror.
    """

    def __init__(self, pixels: Tensor, labels: Tensor, changed: bool) -> None:
        self.pixels, self.labels, self.changed = pixels, labels, changed
        self.mean, self.std = (torch.tensor(values).view(-1, 1, 1) for values in (MEAN, STD))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image = self.pixels[index]
        if self.changed:
            row, column = torch.randint(-PAD, PAD + 1, (2,)).tolist()
            image = crop_and_flip(image, row, column, bool(torch.rand(()) < 0.5))
        return self.normalised(image), self.labels[index]

    def normalised(self, image: Tensor) -> Tensor:
        return (image.to(torch.float32) / 255 - self.mean) / self.std


def crop_and_flip(image: Tensor, row: int, column: int, mirrored: bool) -> Tensor:
    """Return the window of the padded image (C, H, W) that lies ``row`` and ``column`` pixels off its middle."""
    height, width = image.shape[1:]
    padded = torch.nn.functional.pad(image, (PAD,) * 4)
    window = padded[:, PAD + row : PAD + row + height, PAD + column : PAD + column + width]
    return window.flip(2) if mirrored else window


def by_ours(split: data.Split, batch: int, augment: data.CropFlip | None, generator: torch.Generator) -> Tensor:
    """Make an epoch's batches on the split's device; return the last one."""
    place = split.x.device
    order = torch.randperm(len(split), generator=generator, device=place).split(batch)
    if augment is None:
        for index in order:
            x, _ = split.batch(index)
        return x
    choices = augment.draw(len(split), generator).split(batch)
    for index, rows in zip(order, choices, strict=True):
        x, _ = split.batch(index, partial(augment, choices=rows))
    return x


def by_loader(loader: DataLoader, device: torch.device) -> Tensor:
    """Draw an epoch's batches and send them to the device; return the last one."""
    for x, y in loader:
        x, _ = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
    return x


def gap(split: data.Split, images: Images) -> float:
    """Return by how much the two ways' images differ, at most, when they make the same random choices."""
    augment = data.CropFlip(PAD)
    choices = augment.draw(64, torch.Generator(split.x.device).manual_seed(1))
    x, _ = split.batch(slice(0, 64), lambda pixels: augment(pixels, choices[: len(pixels)]))
    each = zip(images.pixels[:64], choices.tolist(), strict=False)
    theirs = [images.normalised(crop_and_flip(image, row, column, bool(flip))) for image, (row, column, flip) in each]
    return float((x.cpu() - torch.stack(theirs)).abs().max())


def measure(settings: Settings, changed: bool) -> tuple[dict[str, list[float]], float]:
    """Return the seconds of an epoch each way, and by how much their images differ."""
    device = torch.device(settings.device)
    count, batch, rounds = (64, 16, 2) if settings.quick else (IMAGES, BATCH, ROUNDS)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    labels = torch.randint(0, 10, (count,), generator=generator)
    split, images = data.Split(pixels, labels, 255.0, MEAN, STD).to(device), Images(pixels, labels, changed)
    augment = data.CropFlip(PAD) if changed else None
    ways: dict[str, Callable[[], object]] = {
        OURS: partial(by_ours, split, batch, augment, torch.Generator(device).manual_seed(0))
    }
    for name, workers in LOADERS.items():
        loader = DataLoader(
            images, batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0,
            pin_memory=device.type == "cuda",
        )  # fmt: skip
        ways[name] = partial(by_loader, loader, device)
    times = take_turns(ways, rounds, warm_up=1, limit=LIMIT, wait=machine.waiter(device))
    batches = -(-count // batch)
    return {name: [t / batches for t in seconds] for name, seconds in times.items()}, gap(split, images)


def run(settings: Settings) -> Report:
    with machine.threads(settings.threads or 1) as count:  # as many as a worker of the loader has
        measured = {words: measure(settings, words != "normalise") for words in ("crop, flip, normalise", "normalise")}
    rows, checks = [], {}
    size = 16 if settings.quick else BATCH
    for words, (times, apart) in measured.items():
        for name, seconds in times.items():
            time, against = spread(seconds), ratio(seconds, times[OURS])
            rows.append([f"{words}: {name}", *time.cells(1e3), size / time.median, *against.cells()])
            if name != OURS:
                checks[f"{words}: {name} takes longer, {against} times ours"] = against.median > 1
        checks[f"{words}: the same images, {apart:.0e} apart"] = apart <= 1e-5
    return Report(
        columns=["a batch", "ms", "1st quartile", "3rd", "images/s", "times ours", "1st quartile", "3rd"],
        formats=[".2f", ".2f", ".2f", ",.0f", ".1f", ".1f", ".1f"],
        rows=rows,
        checks=checks,
        config={"images": IMAGES, "shape": [3, 32, 32], "batch_size": BATCH, "pad": PAD, "rounds": ROUNDS,
                "threads": count},
        device=machine.name(settings.device),
        notes=[f"an epoch of {IMAGES // BATCH} batches, divided by their number; our way on {count} thread(s), a "
               "loader's workers on one each"],
    )  # fmt: skip
