"""Options of a model's scheduler, as its configuration states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sardonyx._src.arguments import require_integer, shown
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ops.api import is_number


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """How the requests of a model are scheduled.

    workers: the number of runs at the same time, each in a thread; all use one compiled program.
    max_queue: the number of requests that may wait; others are refused.
    priority: the priority of requests that state none; requests with smaller numbers run earlier.
    batching: whether requests are joined to batches; None: if the rows of the model are proved to be independent.
    max_batch: the largest number of rows of a batch.
    batch_delay: seconds that the first request of a batch may wait for others while a worker is idle.
    """

    workers: int = 1
    max_queue: int = 256
    priority: int = 2
    batching: bool | None = None
    max_batch: int = 32
    batch_delay: float = 0.0

    def __post_init__(self) -> None:
        """Raises InputError for an option of another type or outside its range."""
        for name in ("workers", "max_queue", "priority", "max_batch"):
            require_integer(f"scheduling.{name}", getattr(self, name), 1)
        require_seconds("scheduling.batch_delay", self.batch_delay)
        if not isinstance(self.batching, bool | None):
            raise InputError(
                f"scheduling.batching must be true, false or null; got {shown(self.batching)}",
                name="scheduling.batching",
            )


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """States between the requests of a sequence.

    states: for each state, the input that receives it, and the output of the request before that computes it.
    sizes: the lengths of dimension variables of initial states that no other input of the first request has; by default 0.
    idle_seconds: the time after which a sequence without requests ends.
    max_sequences: the number of sequences at the same time; others are refused.
    """

    states: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    idle_seconds: float = 60.0
    max_sequences: int = 1000

    def __post_init__(self) -> None:
        """Raises InputError for an option of another type or outside its range."""
        for name, kind in (("states", str), ("sizes", int)):
            value = getattr(self, name)
            if not isinstance(value, Mapping) or not all(
                isinstance(k, str) and type(v) is kind for k, v in value.items()
            ):
                what = f"sequences.{name} must map names to {'outputs' if kind is str else 'lengths'}"
                raise InputError(f"{what}; got {shown(value)}", name=f"sequences.{name}")
        require_seconds("sequences.idle_seconds", self.idle_seconds)
        require_integer("sequences.max_sequences", self.max_sequences, 1)


def require_seconds(name: str, value: object) -> None:
    if not is_number(value) or isinstance(value, bool) or value < 0:  # type: ignore[operator]
        raise InputError(f"{name} must be a number of seconds >= 0; got {shown(value)}", name=name)
