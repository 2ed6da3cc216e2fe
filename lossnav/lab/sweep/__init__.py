"""Grids of experiments times seeds: in local processes or on a Dask cluster, each result kept as it comes."""

from lossnav.lab.sweep.drive import run
from lossnav.lab.sweep.grids import grid
from lossnav.lab.sweep.results import Finished, summarise
from lossnav.lab.sweep.tuned import Comparison, Tuned, compare, every

__all__ = ["Comparison", "Finished", "Tuned", "compare", "every", "grid", "run", "summarise"]
