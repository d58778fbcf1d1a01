"""Subgraphs of If, Loop and Scan in `with` blocks: calls in the block append to the subgraph.

A block that ends with an exception leaves the model as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from sardonyx._src.build.calls import add_call, convert_operands
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.outputs import as_operand
from sardonyx._src.build.state import BuilderState
from sardonyx._src.build.subgraphs import (
    CONDITION,
    COUNTER,
    add_results,
    first_condition,
    new_graph,
    scan_operands,
)
from sardonyx._src.errors import InferenceError, InputError
from sardonyx._src.infer.merge import join_types
from sardonyx._src.ir import Graph, Node, Type, Value


class WithBlock:
    """A `with` block that is entered once."""

    def __init__(self, state: BuilderState, what: str) -> None:
        self._state, self._what = state, what
        self._stack = ExitStack()
        self._was_entered = False
        state.pending[self] = what

    def __enter__(self) -> Self:
        if self._was_entered:
            raise InputError(f"{self._what} must be entered once; it was entered before", name=self._what)
        self._was_entered = True
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._state.pending[self]
        try:
            with self._stack:
                if kind is None:
                    self.finish()
            if kind is None:
                self.complete()
        except BaseException:
            self.discard()
            raise
        if kind is not None:
            self.discard()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._what}>"

    def begin(self) -> None:
        """Called when the block is entered."""

    def finish(self) -> None:
        """Called at the end of the block, unless an exception ends it."""

    def complete(self) -> None:
        """Called after `finish`, outside of the block's graph."""

    def discard(self) -> None:
        """Called if the block, or its completion, raised."""


class GraphBlock(WithBlock):
    """A block whose calls append to a graph of its own."""

    def __init__(self, state: BuilderState, what: str, name: str, types: Sequence[Type | None]) -> None:
        super().__init__(state, what)
        self._graph = new_graph(state, name, types)

    def begin(self) -> None:
        self._stack.enter_context(self._state.scopes.enter(self._graph))

    def discard(self) -> None:
        self._graph.clear()  # the values of enclosing graphs must not count the discarded nodes as uses

    def require_open(self, method: str) -> None:
        if self._state.scopes.current is not self._graph:
            raise InputError(
                f"{method} must be called in the `with` block of {self._what}, and not inside of another",
                name=method,
            )


class NodeResults:
    """A block that adds a node at its end, and then has the results of that node."""

    _node: Node | None = None
    _what: str

    @property
    def results(self) -> Any:
        """The output of the node, or a tuple of its outputs; InputError before the end of the block."""
        if self._node is None:
            raise InputError(f"the results of {self._what} exist after its `with` block", name="results")
        outputs = operands(self._node.outputs)
        return outputs[0] if len(outputs) == 1 else outputs


class BranchBlock(GraphBlock):
    """A branch of an If: `with branches.then: branches.then.set_results(x / 2)`."""

    def __init__(self, state: BuilderState, name: str) -> None:
        super().__init__(state, name, name, ())

    def set_results(self, *results: object) -> None:
        """States the results of the branch: one value or several, as many as the other branch has."""
        self.require_open("set_results")
        if self._graph.outputs:
            raise InputError(f"set_results must be called once in {self._what}", name="set_results")
        add_results(self._state, self._graph, self._what, results)

    def finish(self) -> None:
        if not self._graph.outputs:
            raise InputError(f"{self._what} must state its results; call set_results", name=self._what)

    @property
    def graph(self) -> Graph:
        if not self._graph.outputs:
            raise InputError(
                f"an if must have both branches; {self._what} is missing: write `with branches.{ATTRIBUTES[self._what]}:`",
                name=self._what,
            )
        return self._graph


ATTRIBUTES = {"then_branch": "then", "else_branch": "else_"}


class IfBlock(NodeResults, WithBlock):
    """An If: `with b.if_(condition) as branches:`, with a block for each branch inside.

    then, else_: the blocks of the branches.
    results: after the block, the outputs of the If, as `b.if_` with functions returns them.
    """

    def __init__(self, state: BuilderState, condition: object) -> None:
        super().__init__(state, "if_")
        self._condition = convert_operands(state, "If", None, [condition])[0]
        self.then = BranchBlock(state, "then_branch")
        self.else_ = BranchBlock(state, "else_branch")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for branch in (self.then, self.else_):
            self._state.pending.pop(branch, None)
        super().__exit__(kind, error, trace)

    def discard(self) -> None:
        for branch in (self.then, self.else_):
            branch.discard()

    def finish(self) -> None:
        branches = {"then_branch": self.then.graph, "else_branch": self.else_.graph}
        counts = {name: len(graph.outputs) for name, graph in branches.items()}
        if len(set(counts.values())) > 1:
            raise InputError(f"the branches must have equally many results; got {counts}", name="else_branch")
        count = counts["then_branch"]
        self._node = add_call(self._state, "If", [self._condition], count, "", "", branches)


class IterationBlock(NodeResults, GraphBlock, ABC):
    """The body of a Loop or Scan, which carries values from one iteration to the next.

    carried: the carried values at the start of an iteration.
    results: after the block, the final carried values and the collected values, as `b.loop` and `b.scan` return them.
    """

    def __init__(
        self,
        state: BuilderState,
        op_type: str,
        initial: Sequence[Value | None],
        before: Sequence[Type | None],
        after: Sequence[Type | None],
    ) -> None:
        """initial: the initial carried values.  before, after: the types of the inputs of the body that precede and follow them."""
        self._op_type, self._initial = op_type, initial
        self._types = [None if value is None else value.type for value in initial]
        super().__init__(state, op_type.lower(), "body", [*before, *self._types, *after])
        self._first = len(before)
        self.carried = operands(self._graph.inputs[self._first :][: len(initial)])
        self._next: Sequence[object] | None = None if initial else ()
        self._collected: list[object] = []

    def _set_carried(self, values: Sequence[object]) -> None:
        self.require_open("set_next")
        if len(values) != len(self.carried):
            raise InputError(
                f"set_next must have a value for each of {len(self.carried)} carried ones; got {len(values)}",
                name="set_next",
            )
        self._next = values

    def collect(self, value: object) -> None:
        """Adds a result that stacks the values of all iterations; every call adds one result."""
        self.require_open("collect")
        if value is None:
            raise InputError("collect must have an operand; got None", name="value")
        self._collected.append(value)

    def conditions(self) -> list[object]:
        """The outputs of the body before the carried values: the condition of a Loop."""
        return []

    def finish(self) -> None:
        if self._next is None:
            raise InputError(
                f"{self._what} must state the next carried values; call set_next", name="set_next"
            )
        values = [*self.conditions(), *self._next, *self._collected]
        if not self._next and not self._collected:
            raise InputError(f"{self._what} must carry values or collect some", name="collect")
        add_results(self._state, self._graph, self._what, values)
        results = self._graph.outputs[len(self.conditions()) :]
        for i, (before, result) in enumerate(zip(self._types, results, strict=False)):
            if join_types(before, result.type) != before:
                raise InferenceError(
                    f"carried value {i} must keep its type, {before}, in a `with` block; got {result.type}: "
                    "pass the body as a function, which is called again for a wider type",
                    location=self._what,
                )

    def complete(self) -> None:
        count = len(self._initial) + len(self._collected)
        inputs, attributes = self.node_operands()
        self._node = add_call(
            self._state, self._op_type, inputs, count, "", "", {"body": self._graph, **attributes}
        )

    @abstractmethod
    def node_operands(self) -> tuple[Sequence[Value | None], Mapping[str, object]]:
        """The inputs of the node, and its other attributes."""


class LoopBlock(IterationBlock):
    """A Loop: `with b.loop(initial=[x], trip_count=4) as loop:`.

    iteration: the number of the iteration, from 0.
    condition: the condition at the start of the iteration.
    """

    def __init__(
        self, state: BuilderState, initial: Sequence[object], trip_count: object, condition: object
    ) -> None:
        values = convert_operands(state, "Loop", None, initial)
        trips = None if trip_count is None else convert_operands(state, "Loop", None, [trip_count])[0]
        first = None if condition is None else convert_operands(state, "Loop", None, [condition])[0]
        super().__init__(state, "Loop", values, [COUNTER, CONDITION], [])
        self._trip_count, self._first_condition = trips, first
        self.iteration, self.condition = operands(self._graph.inputs[:2])
        self._next_condition: object = True

    def set_next(self, *carried: object, condition: object = True) -> None:
        """States the carried values of the next iteration.  condition: whether there is a next iteration."""
        self._set_carried(carried)
        if condition is None:
            raise InputError("condition must be an operand or a bool; got None", name="condition")
        self._next_condition = condition

    def conditions(self) -> list[object]:
        return [self._next_condition]

    def node_operands(self) -> tuple[Sequence[Value | None], Mapping[str, object]]:
        first = first_condition(self._state, self._graph, self._first_condition)
        return [self._trip_count, first, *self._initial], {}


class ScanBlock(IterationBlock):
    """A Scan: `with b.scan(initial=[zeros], scan_inputs=[x]) as scan:`.

    slices: for each scanned value, the slice that an iteration reads.
    """

    def __init__(
        self,
        state: BuilderState,
        initial: Sequence[object],
        scan_inputs: Sequence[object],
        attributes: Mapping[str, object],
    ) -> None:
        values = convert_operands(state, "Scan", None, initial)
        self._sequences, slices = scan_operands(state, scan_inputs, attributes)
        super().__init__(state, "Scan", values, [], slices)
        self._attributes = attributes
        self.slices = operands(self._graph.inputs[len(values) :])

    def set_next(self, *carried: object) -> None:
        """States the carried values of the next iteration."""
        self._set_carried(carried)

    def node_operands(self) -> tuple[Sequence[Value | None], Mapping[str, object]]:
        attributes = {"num_scan_inputs": len(self._sequences), **self._attributes}
        return [*self._initial, *self._sequences], attributes


def operands(values: Iterable[Value]) -> tuple[Operand, ...]:
    return tuple(map(as_operand, values))
