r"""What part of a drift, or of any update, is the gradient of something (App. G.3).

A field is split as :math:`f=-\nabla\phi+w` with :math:`\nabla\cdot w=0`. ``decompose`` does so on a box,
``split_affine`` exactly for an affine field. ``effective_loss`` puts the gradient part into the loss (Eq. 132), and
``non_gradient_fraction`` measures what is left: of a field on a box, of its Jacobians at points, or of the recorded
updates of an optimizer.
"""

from __future__ import annotations

from lossnav.analysis.helmholtz.decomposition import Decomposition, decompose, effective_loss, split_affine
from lossnav.analysis.helmholtz.fraction import Fraction, non_gradient_fraction

__all__ = ["Decomposition", "Fraction", "decompose", "effective_loss", "non_gradient_fraction", "split_affine"]
