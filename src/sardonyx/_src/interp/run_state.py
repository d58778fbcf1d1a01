"""The state of one run: limits, random numbers, and the values of each graph while it runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from threading import Lock, local
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError, InputError, LimitError
from sardonyx._src.interp.run_control import Cancellation, RunControl
from sardonyx._src.interp.run_memory import RunMemory
from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RandomSource:
    """The random numbers of a session; the generator is created at first use, because numpy.random takes long to
    load."""

    def __init__(self, seed: int | None = None) -> None:
        """Raises InputError for a seed that is not an integer."""
        try:
            self.seed = None if seed is None else operator.index(seed)
        except TypeError:
            raise InputError(f"seed must be an integer or None; got {seed!r}", name="seed") from None
        self._lock = Lock()
        self._state: np.random.RandomState | None = None

    @property
    def has_drawn(self) -> bool:
        """Whether an operator has drawn numbers."""
        return self._state is not None

    def reseed(self, seed: int) -> None:
        """Continues with the numbers of a new source with this seed."""
        with self._lock:
            self._state = seeded_state(seed)

    def __call__(self) -> np.random.RandomState:
        if self._state is None:
            with self._lock:  # two threads would create two generators, and draw the same numbers
                self._state = self._state or (
                    np.random.RandomState() if self.seed is None else seeded_state(self.seed)
                )
        return self._state


def seeded_state(seed: int | float) -> np.random.RandomState:
    """NumPy's legacy generator, seeded as in the official cases; its streams do not change between versions of NumPy.

    An integer from 0 to 2**32 - 1 seeds it as `np.random.seed` does.  Any other seed has a stream of its own: it becomes
    an array of 32-bit words, an integer its two's complement, another number the bits of its float32.
    """
    return np.random.RandomState(numpy_seed(seed))


def numpy_seed(seed: int | float) -> int | NDArray[np.uint32]:
    """What NumPy's generator is seeded with."""
    if isinstance(seed, float) and not seed.is_integer():
        return np.float32(seed).view(np.uint32).reshape(1)
    number = int(seed)
    if 0 <= number < 2**32:
        return number
    words = number.bit_length() // 32 + 1
    return np.frombuffer(number.to_bytes(4 * words, "little", signed=True), "<u4")


class Reseeded(local):
    """A generator of each thread, seeded again for each draw: a new one takes 50 times as long."""

    state: np.random.RandomState | None = None

    def __call__(self, seed: int | float) -> np.random.RandomState:
        """`seeded_state`, until the next call in this thread."""
        if self.state is None:
            self.state = np.random.RandomState(0)
        self.state.seed(numpy_seed(seed))
        return self.state


reseeded_state = Reseeded()


@dataclass(slots=True)
class RunState:
    """The state of one run, which all its frames share.

    random_source: the random numbers of operators without an attribute `seed`.
    control: whether the run must end.
    observe: called with each node and its results.
    nodes: the number of nodes called so far.
    observe_inputs: called with each graph and its arguments before its nodes run.
    lengths: the length of each dimension variable that the inputs of the model bind.
    memory: the bytes that the run holds.
    """

    limits: RunLimits
    random_source: RandomSource
    control: RunControl = field(default_factory=lambda: RunControl(Cancellation()))
    observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None
    nodes: int = 0
    observe_inputs: Callable[[Graph, Sequence[RuntimeValue]], None] | None = None
    lengths: Mapping[str, int] = field(default_factory=dict)
    memory: RunMemory = field(init=False)
    max_nodes: int = field(init=False)

    def __post_init__(self) -> None:
        self.memory = RunMemory(self.limits.run_bytes)
        self.max_nodes = self.limits.nodes

    def check_nodes(self, count: int) -> None:
        """Raises LimitError if `count` more nodes would exceed the limit."""
        if self.nodes + count > self.limits.nodes:
            what = f"a run must call at most {self.limits.nodes} nodes"
            raise LimitError(what, limit="limits.nodes")


@dataclass(slots=True)
class Frame:
    """The values of one graph while it runs.

    outer: the frame of the enclosing graph, from which a subgraph can read values, or None.
    scopes: in a function, the defining frame of each subgraph that was passed as an attribute.
    """

    values: dict[Value, RuntimeValue]
    outer: Frame | None
    run: RunState
    scopes: Mapping[Graph, Frame] | None = None

    def __getitem__(self, value: Value) -> RuntimeValue:
        frame: Frame | None = self
        while frame is not None:
            if value in frame.values:
                return frame.values[value]
            frame = frame.outer
        assert value.producer is None, f"{value!r} has no value where it is read"
        raise EvaluationError(
            f"input {value.name!r} of the subgraph is read, but the operator passes no value for it"
        )

    def find(self, values: Iterable[Value]) -> dict[Value, RuntimeValue]:
        """The run-time values of those `values` that this frame or an enclosing one has."""
        results: dict[Value, RuntimeValue] = {}
        for value in values:
            frame: Frame | None = self
            while frame is not None and value not in frame.values:
                frame = frame.outer
            if frame is not None:
                results[value] = frame.values[value]
        return results

    def defining_frame(self, graph: Graph) -> Frame:
        """The frame that encloses a subgraph called from this frame."""
        frame: Frame | None = self
        while frame is not None:
            if frame.scopes is not None and graph in frame.scopes:
                return frame.scopes[graph]
            frame = frame.outer
        return self
