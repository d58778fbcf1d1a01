"""One node, ready to be called: its inputs fetched, its kernel run, its outputs put in the frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sardonyx._src.errors import EvaluationError, LimitError, Located
from sardonyx._src.interp.signature import misfit
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import Eval, Evaluated, RunLimits, RuntimeValue
from sardonyx._src.schema import OpSchema

REFUSALS = (
    ValueError,
    IndexError,
    TypeError,
    KeyError,
    ArithmeticError,
)  # of NumPy, mostly, for values that do not fit
Random: TypeAlias = "np.random.Generator | Callable[[], np.random.Generator]"
# Of a kernel that is given what its operator does not take; else they are the kernel's own.
SLIPS = (AttributeError, AssertionError)


@dataclass(slots=True)
class Run:
    """What lasts for one run of a model.

    rng: what random operators draw from, or what makes it when the first of them asks: it takes time to load.
    """

    limits: RunLimits
    rng: Random
    observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None
    nodes: int = 0

    def generator(self) -> np.random.Generator:
        return self.rng if isinstance(self.rng, np.random.Generator) else self.rng()

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise LimitError(f"one run has called {self.limits.nodes} nodes", limit="limits.nodes")


@dataclass(slots=True)
class Frame:
    """The values of one graph while it runs; subgraphs reach the frames around them.

    `homes`: for each graph that a function was handed as an attribute, the frame of the graph around it.
    """

    values: dict[Value, RuntimeValue]
    outer: Frame | None
    run: Run
    homes: Mapping[Graph, Frame] = field(default_factory=dict)

    def __getitem__(self, value: Value) -> RuntimeValue:
        frame: Frame | None = self
        while frame is not None:
            if value in frame.values:
                return frame.values[value]
            frame = frame.outer
        assert value.producer is None, f"{value!r} has no value where it is read"
        raise EvaluationError(
            f"input {value.name!r} of the subgraph is read, and the operator gives it no value"
        )

    def home(self, graph: Graph) -> Frame:
        """The frame around a subgraph that runs from here."""
        frame: Frame | None = self
        while frame is not None:
            if graph in frame.homes:
                return frame.homes[graph]
            frame = frame.outer
        return self


Call: TypeAlias = Callable[[Frame, list[RuntimeValue]], Evaluated]


class Step:
    """One node, ready to be called."""

    __slots__ = ("attributes", "call", "dead", "is_strict", "kernel", "node", "reads", "schema", "writes")

    def __init__(self, node: Node) -> None:
        """The rest is for the maker to fill in: `kernel`, for one that needs nothing but inputs and attributes, or
        `call`; `schema` of an operator; `is_strict`, whether inputs are held to it before each call; `dead`, the values
        of this frame that nobody reads afterwards."""
        self.node = node
        self.kernel: Eval | None = None
        self.call: Call | None = None
        self.attributes: Mapping[str, object] = {}
        self.schema: OpSchema | None = None
        self.is_strict = False
        self.dead: tuple[Value, ...] = ()
        reads, writes = list(node.inputs), [v if v.name else None for v in node.outputs]
        while reads and reads[-1] is None:
            reads.pop()  # an input left out at the end is the same as one that is not there
        while writes and writes[-1] is None:
            writes.pop()
        self.reads, self.writes = tuple(reads), tuple(writes)

    def execute(self, frame: Frame) -> None:
        run, values = frame.run, frame.values
        run.count()
        inputs = [None if v is None else values[v] if v in values else frame[v] for v in self.reads]
        if self.is_strict and self.schema is not None and (why := misfit(self.schema, inputs)):
            raise EvaluationError(why, location=location(self.node))
        try:
            if self.kernel is not None:
                result = self.kernel(*inputs, **self.attributes)
            else:
                assert self.call is not None, f"{self.node!r} has neither kernel nor call"
                result = self.call(frame, inputs)
        except (Located, MemoryError, *REFUSALS, *SLIPS) as error:
            if (meant := self.refusal(error, inputs)) is error:
                raise
            raise meant from error
        results = [as_value(one) for one in (result if isinstance(result, tuple) else (result,))]
        if len(results) < len(self.writes):
            raise self.too_few(len(results))
        for value, one in zip(self.writes, results, strict=False):
            if value is not None:
                values[value] = one
        if run.observe is not None:
            run.observe(self.node, results)
        for value in self.dead:
            values.pop(value, None)  # absent when a subgraph was given fewer inputs than it lists

    def too_few(self, count: int) -> EvaluationError:
        what = f"{count} results come out, {len(self.writes)} outputs are asked for"
        variadic = self.schema is not None and any(p.option == "variadic" for p in self.schema.outputs)
        assert variadic, f"{self.node!r}: {what}"  # else the kernel forgets one
        return EvaluationError(what, location=location(self.node))

    def refusal(self, error: Exception, inputs: Sequence[RuntimeValue]) -> Exception:
        """What a failed call means: an error at this node, or the error itself where it knows its place or is ours."""
        if isinstance(error, Located):
            return error if error.location else type(error)(error.why, location=location(self.node))
        if isinstance(error, MemoryError):
            return LimitError(f"{location(self.node)}: out of memory", limit="limits.bytes")
        if self.schema is not None and (why := misfit(self.schema, inputs)):
            return EvaluationError(why, location=location(self.node))
        if isinstance(error, SLIPS):
            return error
        shapes = ", ".join(described(x) for x in inputs)
        return EvaluationError(f"{error} (inputs: {shapes})", location=location(self.node))


def as_value(value: RuntimeValue | np.generic) -> RuntimeValue:
    """A run-time value of what a kernel handed out: NumPy makes numbers of arrays without axes."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def described(value: RuntimeValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return "none" if value is None else type(value).__name__
