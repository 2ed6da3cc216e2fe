"""Groups of weights by name and place, and maps of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from lossnav._checks import instance


@dataclass(frozen=True)
class Block:
    """Consecutive rows (axis 0) or columns (axis 1) of one parameter.

    Attributes:
        name: of the parameter, as in ``model.named_parameters()``.
        axis: 0 | 1.
        start, stop: the range of indices on it.
    """

    name: str
    axis: int
    start: int
    stop: int

    def of(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return the block's part of a parameter, or of what is shaped like it, as a view."""
        instance("tensors", tensors, Mapping, "a mapping from names to tensors")
        if self.name not in tensors:
            raise ValueError(f"tensors has no {self.name!r}, but it must hold every parameter of the block")
        return tensors[self.name].narrow(self.axis, self.start, self.stop - self.start)

    def overlaps(self, other: Block) -> bool:
        """Whether the two have entries in common."""
        if self.name != instance("other", other, Block, "a Block").name:
            return False
        return self.axis != other.axis or (self.start < other.stop and other.start < self.stop)


@dataclass(frozen=True)
class Family:
    """All groups of one kind that lie in the same parameters; each can be mapped by itself.

    Attributes:
        kind: "scale": the group times c > 0; "rescale": the group times c, its partner divided by c; "translation":
            the group plus the same number in all its rows.
        groups: per group its blocks: rows of a weight, with those of its bias where both have to move together.
        partners: "rescale": per group the blocks that are divided, otherwise ().
        violation: largest |⟨∇f, ξ⟩| / |∇f||ξ| over the groups, for the model as it is: what the ε of its normalisation
            layers leaves of the symmetry.
        change: largest relative change of the loss when all groups are mapped at random by up to e^{±1}, ε taken away:
            rounding.
    """

    kind: str
    groups: tuple[tuple[Block, ...], ...]
    partners: tuple[tuple[Block, ...], ...]
    violation: float
    change: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that the groups lie in."""
        return tuple(block.name for block in self.groups[0])

    @property
    def partner_names(self) -> tuple[str, ...]:
        """Names of the parameters that the partners lie in; () but for "rescale"."""
        return tuple(block.name for block in self.partners[0]) if self.partners else ()

    def __repr__(self) -> str:
        places = " + ".join(self.names) + (" against " + " + ".join(self.partner_names) if self.partners else "")
        count = f"{len(self.groups)} group{'s' if len(self.groups) > 1 else ''}"
        return f"Family({self.kind}: {places}, {count}, violation={self.violation:.1e})"
