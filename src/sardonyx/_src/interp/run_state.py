"""The state of one run: limits, random numbers, and the values of each graph while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias

import numpy as np

from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ops.api import RunLimits, RuntimeValue

Random: TypeAlias = "np.random.Generator | Callable[[], np.random.Generator]"


class RandomSource:
    """A random generator, seeded with `seed`, that is created at first use: numpy.random takes long to
    load."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed, self._lock = seed, Lock()
        self._generator: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        if self._generator is None:
            with self._lock:  # or two threads would draw the same numbers
                self._generator = self._generator or np.random.default_rng(self.seed)
        return self._generator


@dataclass(slots=True)
class RunState:
    """What all frames of one run share.

    rng: the generator of random operators, or a function that returns it at first use.  observe: called with each node
    and its results; observe_inputs: with each graph and its arguments before its nodes run.
    """

    limits: RunLimits
    rng: Random
    observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None
    nodes: int = 0
    observe_inputs: Callable[[Graph, Sequence[RuntimeValue]], None] | None = None

    def generator(self) -> np.random.Generator:
        return self.rng if isinstance(self.rng, np.random.Generator) else self.rng()

    def count_node(self) -> None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            what = f"a run must call at most {self.limits.nodes} nodes"
            raise LimitError(what, limit="limits.nodes")


@dataclass(slots=True)
class Frame:
    """The values of one graph while it runs; frames of subgraphs can access the enclosing ones.

    scopes: the defining frame of each subgraph passed to a function as an attribute.
    """

    values: dict[Value, RuntimeValue]
    outer: Frame | None
    run: RunState
    scopes: Mapping[Graph, Frame] = field(default_factory=dict)

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

    def defining_frame(self, graph: Graph) -> Frame:
        """The frame that encloses a subgraph called from this frame."""
        frame: Frame | None = self
        while frame is not None:
            if graph in frame.scopes:
                return frame.scopes[graph]
            frame = frame.outer
        return self
