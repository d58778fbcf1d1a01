"""Execution of one node: fetch inputs, run the kernel, store outputs, translate errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from sardonyx._src.errors import EvaluationError, LimitError, Located
from sardonyx._src.interp.run_memory import MIN_TRACKED_BYTES
from sardonyx._src.interp.run_state import Frame, RunState
from sardonyx._src.interp.signature import find_mismatch, takes_containers
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import (
    OPERAND_ERRORS,
    SEQUENCES,
    Eval,
    Evaluated,
    RuntimeValue,
    as_run_value,
)
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.schema import OpSchema

# Kernels raise these for inputs of types that the operator does not accept; with accepted types, they are bugs.
INTERNAL_ERRORS = (AttributeError, AssertionError)
TRANSLATED_ERRORS = (Located, MemoryError, *OPERAND_ERRORS, *INTERNAL_ERRORS)

# The operator-set version from which Identity also accepts sequences and optionals.
IDENTITY_OF_ANY_VALUE = 16

StepCall: TypeAlias = Callable[[Frame, list[RuntimeValue]], Evaluated]


class CalledBody(NamedTuple):
    """The body of a function, with the frame of a call, in which the arguments are stored."""

    frame: Frame
    steps: Sequence[NodeStep]
    outputs: Sequence[Value]

    def results(self) -> list[RuntimeValue]:
        return [self.frame[value] for value in self.outputs]


class NodeStep:
    """A node with its kernel or function body bound."""

    __slots__ = (
        "accepted",
        "attributes",
        "bind",
        "call",
        "dead",
        "enter",
        "fetch",
        "kernel",
        "node",
        "reads",
        "schema",
        "types",
        "write",
        "writes",
    )

    def __init__(self, node: Node) -> None:
        """The caller sets `kernel` or `call`, and other fields as far as the node has them.

        kernel: the kernel, if it needs only inputs and attributes.
        call: runs the node in a frame, if there is no `kernel`.
        enter: for a call of a function, in addition to `call`: returns the body instead of executing it.
        bind: for a kernel with a run context: returns the kernel with the context of a frame, for many calls.
        attributes: the keyword arguments of `kernel`.
        schema: the schema of an operator, against which the types of inputs are checked; None for a function.
        dead: the values of the frame that are last used by this step.
        """
        self.node = node
        self.kernel: Eval | None = None
        self.call: StepCall | None = None
        self.enter: Callable[[Frame, list[RuntimeValue]], CalledBody] | None = None
        self.bind: Callable[[Frame], Eval] | None = None
        self.attributes: Mapping[str, object] = {}
        self.schema: OpSchema | None = None
        self.accepted: set[tuple[object, ...]] = set()  # results of `types_of` that fit the schema
        self.types: tuple[object, ...] = ()  # the last accepted types; empty without schema
        self.dead: tuple[Value, ...] = ()
        reads, writes = list(node.inputs), [v if v.name else None for v in node.outputs]
        while reads and reads[-1] is None:
            reads.pop()  # an input left out at the end is the same as a shorter list of inputs
        while writes and writes[-1] is None:
            writes.pop()
        self.reads, self.writes = tuple(reads), tuple(writes)
        self.write = self.writes[0] if len(self.writes) == 1 else None  # the only output
        # Gets the inputs from the values of a frame; only two or more, since `itemgetter` returns a single one bare.
        self.fetch = itemgetter(*self.reads) if len(self.reads) > 1 else None

    def execute(self, frame: Frame) -> None:
        inputs = self.take_inputs(frame)
        try:
            if self.kernel is not None:
                result = self.kernel(*inputs, **self.attributes)
            else:
                assert self.call is not None, f"{self.node!r} has neither kernel nor call"
                result = self.call(frame, inputs)
        except TRANSLATED_ERRORS as error:
            self.raise_translated(error, inputs)
        self.store_results(frame, inputs, result)

    def take_inputs(self, frame: Frame) -> list[RuntimeValue]:
        """The inputs, checked against the schema; counts the node, which is about to run."""
        run, values = frame.run, frame.values
        run.control.check()
        run.nodes += 1
        if run.nodes > run.max_nodes:
            run.check_nodes(0)
        try:
            inputs = [values[self.reads[0]]] if self.fetch is None else list(self.fetch(values))  # type: ignore[index]
        except LookupError:  # some inputs are left out, or are values of enclosing graphs
            inputs = [values[v] if v in values else None if v is None else frame[v] for v in self.reads]
        for x, expected in zip(inputs, self.types, strict=False):
            if (x.dtype if type(x) is np.ndarray else type(x)) is not expected:
                self.check_types(inputs)
                break
        return inputs

    def store_results(self, frame: Frame, inputs: Sequence[RuntimeValue], result: Evaluated) -> None:
        """Stores what the kernel or body returned, and drops the values that are not used after this step."""
        run, values = frame.run, frame.values
        results: list[RuntimeValue]
        if type(result) is np.ndarray:
            is_small = result.nbytes < MIN_TRACKED_BYTES
        else:
            is_small = type(result) is PersistentSequence and run.memory.has_room(len(result))
        if is_small and self.write is not None:
            values[self.write] = result  # type: ignore[assignment]  # no tuple
            results = [values[self.write]]
        else:
            results = list(map(as_value, result)) if isinstance(result, tuple) else [as_value(result)]
            self.count_results(run, inputs, results)
            for value, item in zip(self.writes, results, strict=False):
                if value is not None:
                    values[value] = as_run_value(item)
        if run.observe is not None:
            run.observe(self.node, results)
        for value in self.dead:
            values.pop(value, None)  # absent when a subgraph was called with fewer inputs than it lists

    def count_results(
        self, run: RunState, inputs: Sequence[RuntimeValue], results: Sequence[RuntimeValue]
    ) -> None:
        """Counts the memory of results; raises EvaluationError for too few of them."""
        if len(results) < len(self.writes):
            raise self.missing_outputs(len(results))
        try:
            run.memory.add(results, takes_sequences=any(isinstance(x, SEQUENCES) for x in inputs))
        except LimitError as error:
            raise LimitError(f"{location(self.node)}: {error.why}", limit=error.limit) from None

    def check_types(self, inputs: Sequence[RuntimeValue]) -> None:
        """Raises EvaluationError for inputs of types that the schema does not allow; remembers those that it does.

        Operators that move any value also move maps, which their signatures do not list.
        """
        schema = self.schema
        assert schema is not None, f"{self.node!r} has no schema"
        types = types_of(inputs)
        if types not in self.accepted:
            if any(isinstance(x, dict) for x in inputs) and not takes_containers(schema):
                return
            if why := find_mismatch(schema, inputs):
                raise EvaluationError(why, location=location(self.node))
            self.accepted.add(types)
        self.types = types

    def missing_outputs(self, count: int) -> EvaluationError:
        what = f"the number of outputs must be at most {count}, the number of results; got {len(self.writes)}"
        is_variadic = self.schema is not None and any(p.option == "variadic" for p in self.schema.outputs)
        assert is_variadic, f"{self.node!r}: {what}"  # otherwise the kernel has a bug: it omits an output
        return EvaluationError(what, location=location(self.node))

    def raise_translated(self, error: Exception, inputs: Sequence[RuntimeValue]) -> NoReturn:
        """Raises the error that `translate_error` returns."""
        if (translated := self.translate_error(error, inputs)) is error:
            raise error
        raise translated from error

    def translate_error(self, error: Exception, inputs: Sequence[RuntimeValue]) -> Exception:
        """The error to raise for a failed call: an error with the location of this node, or `error` itself if it has a
        location or is a bug."""
        if isinstance(error, Located):
            return error if error.location else type(error)(error.why, location=location(self.node))
        if isinstance(error, MemoryError):
            return LimitError(f"{location(self.node)}: out of memory", limit="limits.bytes")
        if self.schema is not None and (why := find_mismatch(self.schema, inputs)):
            return EvaluationError(why, location=location(self.node))
        if isinstance(error, INTERNAL_ERRORS):
            return error
        shapes = ", ".join(map(describe_value, inputs))
        return EvaluationError(f"{error} (inputs: {shapes})", location=location(self.node))


class IdentityStep(NodeStep):
    """An Identity of a version that accepts all values, so that nothing is checked; in loops it is often every second node."""

    __slots__ = ()

    def execute(self, frame: Frame) -> None:
        run, values, (read,) = frame.run, frame.values, self.reads
        run.control.check()
        run.nodes += 1
        if run.nodes > run.max_nodes:
            run.check_nodes(0)
        assert self.write is not None and read is not None, f"{self.node!r} must have an input and an output"
        values[self.write] = result = values[read] if read in values else frame[read]
        if run.observe is not None:
            run.observe(self.node, [result])
        for value in self.dead:
            values.pop(value, None)


def is_identity(node: Node, imports: Mapping[str, int]) -> bool:
    """Whether a node can be an `IdentityStep`."""
    return (
        node.op_type == "Identity"
        and not node.domain
        and imports.get("", 0) >= IDENTITY_OF_ANY_VALUE
        and [value is not None for value in node.inputs] == [True]
        and [bool(value.name) for value in node.outputs] == [True]
    )


def types_of(inputs: Sequence[RuntimeValue]) -> tuple[object, ...]:
    """For each input, its element type, or its class if it is not a tensor."""
    return tuple(x.dtype if isinstance(x, np.ndarray) else type(x) for x in inputs)


def as_value(value: RuntimeValue | np.generic) -> RuntimeValue:
    """A kernel's result as a run-time value: NumPy turns arrays without axes into scalars."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def describe_value(value: RuntimeValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return "none" if value is None else type(value).__name__
