"""What a run leaves behind: its curves, or the error that ended it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lossnav._checks import NotConverged


@dataclass
class History:
    """What a run has seen so far: one entry an epoch, and the training loss of every step.

    Attributes:
        train_loss: mean training loss over the epoch's examples, while the weights move.
        test_loss, test_accuracy: on the test split, at the end of the epoch; the accuracy is a fraction.
        seconds: wall time of the epoch, evaluation included.
        step_loss: training loss of each batch, before the step that it causes.
        settings: what the loop was told, and what it chose where it was left the choice.
    """

    train_loss: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    step_loss: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the history as plain numbers for a record, without the losses of single steps."""
        curves = {"train_loss": self.train_loss, "test_loss": self.test_loss, "test_accuracy": self.test_accuracy}
        entries: dict[str, Any] = {key: [round(x, 6) for x in values] for key, values in curves.items()}
        entries["seconds"] = round(sum(self.seconds), 2)
        return entries


class Diverged(NotConverged):
    """A loss or a weight became infinite or NaN.

    The model and the optimizer are back at the last state that was found good.

    Attributes:
        history: the run so far, with the losses of the steps that led here.
        step: number of steps of the run that went well: the loss of the next one, or the weights or the test loss after
            it, were not finite.
        good_step: the step whose state the model now holds.
    """

    history: History
    step: int
    good_step: int

    def __init__(self, message: str, history: History, step: int, good_step: int) -> None:
        super().__init__(message)
        self.history, self.step, self.good_step = history, step, good_step
