"""What ``PathPace`` is to show, by the library."""

from __future__ import annotations

from lossnav import explore


class PathPace(explore.PathPace):
    def said(self) -> list[str]:
        speed, direction = self.parts()
        return [f"{self.power:.2f}", f"{self.pace:.2f}", f"{speed:.3f}", f"{direction:.3f}"]
