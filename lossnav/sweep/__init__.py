"""Grids of experiments times seeds: in local processes or on a Dask cluster, each result kept as it comes."""

from .drive import run
from .grids import grid, read_grids
from .results import Finished, summarise

__all__ = ["Finished", "grid", "read_grids", "run", "summarise"]
