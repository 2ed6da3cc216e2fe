"""Data that has been verified, as tensors on the device that trains on it."""

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.lab.data.augment import Augmentation, CropFlip
from lossnav.lab.data.dataset import Dataset, Provenance, Split
from lossnav.lab.data.files import DataCorrupted, DataUnavailable
from lossnav.lab.data.loading import load

__all__ = ["Augmentation", "CropFlip", "DataCorrupted", "DataUnavailable", "Dataset", "Provenance", "Split", "load"]
