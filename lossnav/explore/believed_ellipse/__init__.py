"""Five beliefs about the second moment of gradients, and the step that each makes."""

from __future__ import annotations

from lossnav.explore.believed_ellipse.widget import BelievedEllipse

__all__ = ["BelievedEllipse"]
