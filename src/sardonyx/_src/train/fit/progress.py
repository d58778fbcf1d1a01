"""The position of a run of `fit`; a checkpoint contains it besides the state of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The result of an epoch.

    epoch: its number, from 1.
    step: the number of steps of the run so far.
    metrics: means over the examples of the epoch, as the training steps computed them.
    validation: means over the validation data after the epoch; empty without validation data.
    seconds: the duration of the steps.
    """

    epoch: int
    step: int
    metrics: Mapping[str, float]
    validation: Mapping[str, float]
    seconds: float


@dataclass(slots=True)
class RunProgress:
    """The position of a run.

    run: what identifies the run: its model, data, seed, batch size and other arguments that decide its results.
    epoch, batch: the number of the next batch to train on, and of its epoch, both from 0.
    step: the number of steps so far.
    examples: the number of examples of this epoch so far.
    sums: sums of the metrics over the examples of this epoch.
    seconds: the duration of the steps of this epoch.
    best, best_epoch: the monitored metric of the best epoch, and the number of that epoch; None and -1 before the first.
    history: the records of the epochs that are complete.
    log_sizes: bytes of the metrics files, by name.
    """

    run: dict[str, object]
    epoch: int = 0
    batch: int = 0
    step: int = 0
    examples: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    best: float | None = None
    best_epoch: int = -1
    history: list[EpochRecord] = field(default_factory=list)
    log_sizes: dict[str, int] = field(default_factory=dict)

    def add(self, metrics: Mapping[str, float], examples: int) -> None:
        """Counts a step."""
        for name, number in metrics.items():
            self.sums[name] = self.sums.get(name, 0.0) + number * examples
        self.examples += examples
        self.batch += 1
        self.step += 1

    def means(self) -> dict[str, float]:
        """The metrics of this epoch so far."""
        return {name: total / self.examples for name, total in self.sums.items()} if self.examples else {}

    def end_epoch(self, record: EpochRecord) -> None:
        self.history.append(record)
        self.epoch += 1
        self.batch, self.examples, self.seconds = 0, 0, 0.0
        self.sums = {}

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str, source: str) -> RunProgress:
        """The progress in JSON; raises InputError for text that `as_json` did not write.  source: its file, for messages."""
        try:
            fields = json.loads(text)
            history = [EpochRecord(**entry) for entry in fields.pop("history")]
            return cls(**fields, history=history)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"{source} must have the progress of a run; got {error}", name=source) from None
