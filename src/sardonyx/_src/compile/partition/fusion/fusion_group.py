"""Groups of elementwise nodes: the finished ones, and the state of one under construction, to which it can return."""

from __future__ import annotations

from dataclasses import field
from heapq import heappush
from itertools import islice
from typing import TypeVar

from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.partition import Scope, Shape
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value

Entry = TypeVar("Entry")
Content = TypeVar("Content")


@dataclass(slots=True)
class FusionGroup:
    """Nodes of which only the values `results` are read outside the group.

    values: the results as expressions of the operands `Local("i0")`, ... and, for an epilogue, of the kernel's own result.
    shapes: the dims of each operand as broadcast, of the rank of the results.
    """

    shape: Shape
    results: tuple[Value, ...]
    values: tuple[Scalar, ...]
    nodes: list[Node] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    @property
    def value(self) -> Scalar:
        """The only result as an expression."""
        (value,) = self.values
        return value


@dataclass(frozen=True, slots=True)
class GroupContents:
    """A state of a group to return to: the lengths of its dicts, which only grow, and a copy of its queue."""

    values: int
    inlined: int
    operands: int
    nodes: int
    queue: list[tuple[int, int, Node]]
    guards: int


class GroupState:
    """The nodes of a group under construction.

    shape: the dims of all results.
    values: the expression of each value that the group computes.
    operands: values from outside, each with its broadcast dims.
    inlined: expressions of deferred values, which are computed inside the group.
    queue: the consumers of its values, in topological order.
    """

    def __init__(self, scope: Scope, shape: Shape) -> None:
        self.scope, self.shape = scope, shape
        self.values: dict[Value, Scalar] = {}
        self.inlined: dict[Value, Scalar] = {}
        self.operands: dict[tuple[Value, Shape], Local] = {}
        self.nodes: dict[Node, None] = {}
        self.queue: list[tuple[int, int, Node]] = []
        self.enclosed: set[Value] = set()  # values that only nodes of the group read

    def define(self, value: Value, expression: Scalar) -> None:
        """Records the expression of a value, and queues its consumers."""
        self.values[value] = expression
        for node in self.scope.consumers(value):
            if node.graph is self.scope.graph and node not in self.nodes:
                heappush(self.queue, (self.scope.order[node], id(node), node))

    def contents(self) -> GroupContents:
        """The state to which `restore` can return."""
        return GroupContents(
            len(self.values),
            len(self.inlined),
            len(self.operands),
            len(self.nodes),
            list(self.queue),
            len(self.scope.guards),
        )

    def restore(self, contents: GroupContents) -> None:
        """Removes what was added since `contents` was returned."""
        truncate(self.values, contents.values)
        truncate(self.inlined, contents.inlined)
        truncate(self.operands, contents.operands)
        truncate(self.nodes, contents.nodes)
        truncate(self.scope.guards, contents.guards)
        self.queue = contents.queue

    def snapshot(self, *results: Value) -> FusionGroup:
        """The group as it is, with the given results."""
        return self.prefix(results, len(self.nodes), len(self.operands))

    def prefix(self, results: tuple[Value, ...], nodes: int, operands: int) -> FusionGroup:
        """The group of the first nodes and operands, as many as given."""
        keys = list(islice(self.operands, operands))
        return FusionGroup(
            self.shape,
            results,
            tuple(self.values[result] for result in results),
            sorted(islice(self.nodes, nodes), key=self.scope.order.__getitem__),
            [k[0] for k in keys],
            [k[1] for k in keys],
        )

    def escaping(self) -> list[Value]:
        """The values that are read outside the group.  A value that is enclosed stays so, since the group only grows between calls."""
        outside = [v for v in self.values if v not in self.enclosed and self.is_read_outside(v)]
        self.enclosed = self.values.keys() - outside
        return outside

    def is_read_outside(self, value: Value) -> bool:
        if value in self.scope.outputs:
            return True
        return any(node not in self.nodes for node in self.scope.consumers(value))


def truncate(entries: dict[Entry, Content], length: int) -> None:
    """Removes the last entries of a dict, so that `length` remain."""
    while len(entries) > length:
        entries.popitem()
