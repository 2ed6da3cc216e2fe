"""Several assumptions on one loss, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._shown import Shown, by_coordinate
from lossnav.problem.losses import Loss
from lossnav.problem.losses.function import Formula
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve


class Comparison(Mapping[str, Trajectory], Shown):
    """The optimal paths of several assumptions from one start, a mapping from their names; made by ``compare``.

    ``plot()`` draws them in one picture, ``to_frame()`` has them below each other, with a column ``assumption``.
    """

    _drawing = "comparison"

    def __init__(self, paths: Mapping[str, Trajectory]):
        self._paths = _named("paths", paths, Trajectory, "a lossnav.Trajectory")

    def __getitem__(self, name: str) -> Trajectory:
        return self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        width = max(map(len, self))
        return "\n".join(f"{name:{width}}  {path!r}" for name, path in self.items())

    def _columns(self) -> dict[str, Any]:
        times = [path.times for path in self.values()]
        places = by_coordinate("theta", np.concatenate([path(path.times) for path in self.values()]))
        return {
            "assumption": np.repeat(list(self), [len(t) for t in times]), "t": np.concatenate(times), **places,
        }  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        return {"action": {name: path.action for name, path in self.items()}}


def compare(
    objectives: Mapping[str, Objective],
    loss: Loss | Callable[[Any], Any] | Formula,
    theta0: ArrayLike,
    **options: Any,
) -> Comparison:
    """Return the optimal path of each of several assumptions on one loss, from one start.

    Args:
        objectives: name → assumptions, at least one; a name of the book's rules ("momentum", "newton", …) has that
            rule's colour in the picture.
        loss, theta0: as in ``solve``, whose options are taken, too.

    Raises:
        ValueError: ``objectives`` is no mapping from names to objectives, or empty; else as ``solve``.
        NoMinimiser, NotConverged: as ``solve``; the message begins with the name of the assumptions.

    Example:
        >>> import lossnav as ln
        >>> ways = {"patient": ln.Objective(gamma=0.1), "hasty": ln.Objective(gamma=2.0)}
        >>> paths = compare(ways, ln.losses.DoubleWell(), [-1.2, 0.8])
        >>> [round(float(path.asymptote[0]), 2) for path in paths.values()]
        [1.06, -0.93]
    """
    assumed = _named("objectives", objectives, Objective, "a lossnav.Objective")
    paths = {}
    for name, objective in assumed.items():
        try:
            paths[name] = solve(objective, loss, theta0, **options)
        except (_checks.NoMinimiser, _checks.NotConverged) as error:
            raise type(error)(f"{name}: {error}") from None
    return Comparison(paths)


def _named(name: str, mapping: Any, kind: type[Any], wanted: str) -> dict[str, Any]:
    """Return a mapping from names to things of one kind as a dictionary, or raise ValueError."""
    entries = dict(_checks.instance(name, mapping, Mapping, f"a mapping from names, each to {wanted}"))
    if not entries:
        raise ValueError(f"{name} is empty, but it must have at least one entry")
    for key, value in entries.items():
        _checks.instance(f"a name in {name}", key, str, "a string")
        _checks.instance(f"{name}[{key!r}]", value, kind, wanted)
    return entries
