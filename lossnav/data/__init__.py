"""Data that has been verified, as tensors on the device that trains on it."""

from .. import _torch  # noqa: F401  says how to get torch
from ._files import DataCorrupted, DataUnavailable
from .augment import Augmentation, CropFlip
from .dataset import Dataset, Provenance, Split
from .loading import load

__all__ = ["Augmentation", "CropFlip", "DataCorrupted", "DataUnavailable", "Dataset", "Provenance", "Split", "load"]
