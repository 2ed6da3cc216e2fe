"""The IDX format: two zero bytes, a type, the number of axes, the axes as big-endian uint32, then the values."""

from __future__ import annotations

import math
import struct

import torch
from torch import Tensor

from lossnav.lab.data._files import DataCorrupted

_UINT8 = 0x08


def parse_idx(content: bytes, name: str) -> Tensor:
    """Return the uint8 array of an IDX file.

    Args:
        content: the bytes of the file, decompressed.
        name: what to call the file in an error.

    Returns:
        A uint8 tensor of the shape that the header declares.

    Raises:
        DataCorrupted: the bytes are not an IDX file of unsigned bytes, or not as long as the header says.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UINT8 or content[3] == 0:
        raise DataCorrupted(f"{name} begins with {content[:4].hex()}, but an IDX file of bytes with 000008 and axes")
    axes = content[3]
    if axes > 8:
        raise DataCorrupted(f"{name} says that it has {axes} axes, but an array of pixels or labels has at most 8")
    start = 4 + 4 * axes
    if len(content) < start:
        raise DataCorrupted(f"{name} ends within its header of {start} bytes")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != math.prod(shape) or 0 in shape:
        raise DataCorrupted(f"{name} holds {len(content) - start} values, but its header says {shape[:8]}")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=start).reshape(shape)
