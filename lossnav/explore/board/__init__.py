"""The explorable of the book's title: switches of assumptions, and the optimizer that follows."""

from __future__ import annotations

from lossnav.explore.board.widget import Board

__all__ = ["Board"]
