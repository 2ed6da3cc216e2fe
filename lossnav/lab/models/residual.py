"""A small residual network for small images."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import pad, relu

from lossnav._checks import counts, room
from lossnav.lab.models.weights import seeded


class Residual(nn.Module):
    """A block y = relu(x' + N(conv(relu(N(conv(x)))))), both convolutions 3×3, N a group normalisation.

    Where the block has more channels than its input, it also takes every ``stride``-th row and column, and the shortcut
    x' has zeros in the new channels: it has no weights of its own.

    Args:
        before: channels of the input.
        after: channels of the output, >= ``before``.
        stride: of rows and columns.
        groups: of channels that are normalised together.
    """

    stride: int
    new: int
    branch: nn.Sequential

    def __init__(self, before: int, after: int, stride: int, groups: int) -> None:
        super().__init__()
        self.stride, self.new = stride, after - before
        self.branch = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, padding=1, bias=False), nn.GroupNorm(groups, after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1, bias=False), nn.GroupNorm(groups, after),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, after, ⌈H/stride⌉, ⌈W/stride⌉) for (B, before, H, W)."""
        shortcut = x[..., :: self.stride, :: self.stride]
        if self.new:
            shortcut = pad(shortcut, (0, 0, 0, 0, 0, self.new))
        return relu(shortcut + self.branch(x))


def resnet(
    channels: int = 3, outputs: int = 10, *, blocks: int = 3, width: int = 16, groups: int = 1, seed: int
) -> nn.Sequential:
    """Return a residual network for small images, by default with the layers and widths of ResNet-20.

    A 3×3 convolution; three stages of ``blocks`` blocks with ``width``, 2 ``width`` and 4 ``width`` channels, of which
    the second and the third halve the image; the mean over what is left of it; logits. That makes 6 ``blocks`` + 2
    layers with weights. By default 269,722 parameters, for images of any size.

    The original has batch normalisation. Here it is group normalisation: mean and variance over all pixels of some
    channels of *one* image. Batch normalisation makes the loss of an example depend on its batch, and the trained model
    on running averages that no learning rule moves; group normalisation does neither (see ``lossnav.models``), at the
    price of some accuracy at the end of long training. More than one group may learn a little faster (after five epochs
    on 4,000 images, Adam, one seed: loss 1.75 with eight, 1.83 with one), but torch's kernel for it is slow in bfloat16
    on CPUs: forward and backward pass of 128 images on one core of an AMD EPYC took 0.2 s with one group, as with batch
    normalisation, and 0.56 s with eight.

    Args:
        channels: of the images, (B, channels, H, W).
        outputs: number of classes.
        blocks: of each stage; 3 for ResNet-20, 5 for ResNet-32, 9 for ResNet-56.
        width: channels of the first stage, a multiple of ``groups``.
        groups: of channels that are normalised together.
        seed: of the initial weights. torch's global generator is neither read nor moved.

    Returns:
        A module from images to logits (B, outputs), on the CPU in float32.

    Raises:
        ValueError: a number is not allowed; names it.

    Example:
        >>> import torch
        >>> resnet(seed=0)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])

    References:
        He, Zhang, Ren, Sun (2016), Deep residual learning for image recognition, §4.2, with shortcuts A; Wu, He (2018),
        Group normalization.
    """
    counts(channels=channels, outputs=outputs, blocks=blocks, width=width, groups=groups)
    if width % groups:
        raise ValueError(f"width = {width}, but it must be a multiple of groups = {groups}")
    weights = 9.0 * channels * width + 288.0 * blocks * width * width + 4.0 * width * outputs  # at least
    room(weights, 4, channels=channels, outputs=outputs, blocks=blocks, width=width)

    def build() -> nn.Sequential:
        layers: list[nn.Module] = [
            nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.GroupNorm(groups, width), nn.ReLU()
        ]  # fmt: skip
        before = width
        for stage in range(3):
            for block in range(blocks):
                after, stride = width << stage, 2 if stage and not block else 1
                layers.append(Residual(before, after, stride, groups))
                before = after
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, outputs))

    return seeded(build, seed)
