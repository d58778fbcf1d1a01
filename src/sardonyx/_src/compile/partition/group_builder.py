"""Groups of elementwise nodes under construction, each of which becomes an expression of one kernel.

A group grows greedily from its first node through consumers in topological order, and is cut back to the largest prefix
of which few enough values are read outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice
from typing import TypeVar

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.compile.partition import BoundNode, Scope
from sardonyx._src.compile.partition.batch_norm import folded_statistics
from sardonyx._src.compile.partition.elementwise_operands import (
    broadcast_shape,
    is_cast,
    is_deferred_dequantize,
    is_per_node_constant,
    is_single_element,
    reads_by_broadcasting,
    scalar_constant,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Known

MAX_FUSED_NODES, MAX_OPERANDS = 24, 8  # of one kernel: with more, it compiles slowly and spills registers
MAX_INPUTS = 16  # of one node, such as a Sum, repeated inputs included: its expression nests a level for each
Shape = tuple[Known, ...]
Accepts = Callable[[Value, Shape], bool]
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


class GroupBuilder:
    """A group under construction.

    values: the expression of each value that the group computes.
    operands: values from outside, at most `max_operands`, each with its broadcast dims.
    inlined: expressions of deferred values, which are computed inside the group.
    absorbs: whether the elementwise nodes that compute operands are added as well.
    """

    max_operands = MAX_OPERANDS

    def __init__(
        self,
        scope: Scope,
        shape: Shape,
        accepts: Accepts,
        name: str = "i",
        dtype: DataType | None = None,
        max_results: int = 1,
    ) -> None:
        """shape: the dims of all results.
        accepts: whether the kernel can read an operand, a value with its dims as broadcast.
        name: prefix of the operands' names.
        dtype: the only element type that the kernel supports, if it has one.
        """
        self.scope, self.shape, self.accepts, self.name, self.dtype = scope, shape, accepts, name, dtype
        self.max_results, self.absorbs = max_results, max_results > 1
        self.values: dict[Value, Scalar] = {}
        self.inlined: dict[Value, Scalar] = {}
        self.operands: dict[tuple[Value, Shape], Local] = {}
        self.nodes: dict[Node, None] = {}
        self.queue: list[tuple[int, int, Node]] = []
        self.enclosed: set[Value] = set()  # values that only nodes of the group read
        self.unfit: set[Node] = set()  # nodes that compute operands and could not be added

    def add(self, node: Node) -> bool:
        """Adds a node, if it is elementwise and its inputs are available; otherwise leaves the group as it was."""
        call = self.scope.bind_node(node)
        if (
            call is None
            or len(node.outputs) != 1
            or self.scope.shape(node.outputs[0]) != self.shape
            or node.domain
            or len(node.inputs) > MAX_INPUTS
            or node in self.scope.reserved
        ):
            return False
        if self.dtype is not None and not self.is_of_one_type(node):
            return False
        before = self.contents()
        expression = self.scalar(call)
        if expression is None or len(self.operands) > self.max_operands:
            self.restore(before)
            return False
        self.nodes[node] = None
        self.define(node.outputs[0], canonicalize_operands(expression))
        return True

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

    def is_of_one_type(self, node: Node) -> bool:
        """Whether a node has operands and results of `dtype` only, or is a Cast to or from half precision inside the group."""
        values = [value for value in (*node.outputs, *node.inputs) if value is not None]
        other = [value for value in values if self.scope.dtype_of(value) is not self.dtype]
        if not other:
            return True
        is_inside = all(value in self.values or value in node.outputs for value in other)
        return (
            is_inside and is_cast(node) and all(self.scope.dtype_of(value) in HALF_TYPES for value in other)
        )

    def scalar(self, call: BoundNode) -> Scalar | None:
        """The result of a node as an expression; None if the node is not elementwise, or an input is unavailable."""
        node = call.node
        if (columns := folded_statistics(call, self.scope)) is not None:
            return self.scale_and_shift(node, *columns)
        args = [self.argument(node, i, value) for i, value in enumerate(node.inputs)]
        if None in (arg for arg, value in zip(args, node.inputs, strict=True) if value is not None):
            return None
        return scalar_expression(
            node.op_type, call.attributes, args, list(map(self.scope.dtype_of, node.inputs))
        )

    def scale_and_shift(self, node: Node, factor: Value, addend: Value) -> Scalar | None:
        """The first input of a node times `factor` plus `addend`; None if an input is unavailable."""
        x, a, b = (self.argument(node, 0, value) for value in (node.inputs[0], factor, addend))
        if x is None or a is None or b is None:
            return None
        return Apply("add", (canonicalize_operands(Apply("mul", (x, a))), b))

    def define(self, value: Value, expression: Scalar) -> None:
        """Records the expression of a value, and queues its consumers."""
        self.values[value] = expression
        for node in self.scope.consumers(value):
            if node.graph is self.scope.graph and node not in self.nodes:
                heappush(self.queue, (self.scope.order[node], id(node), node))

    def argument(self, node: Node, index: int, value: Value | None) -> Scalar | None:
        """An input as an expression; None if it is omitted or unavailable."""
        if value is None or self.scope.shape(value) is None:
            return None
        if value in self.values:
            return self.values[value]
        number = (
            scalar_constant(self.scope.constant(value))
            if is_single_element(self.scope.shape(value))
            else None
        )
        if number is not None and not is_per_node_constant(node, index, number):
            return Number(number)
        if (
            value in self.scope.deferred
            and self.dtype is None
            and (inlined := self.inline(value, reads_by_broadcasting(node, index))) is not None
        ):
            return inlined
        if self.absorbs and self.absorb(value):
            return self.values[value]
        shape = broadcast_shape(self.scope, node, index, value, self.shape)
        if shape is None or not self.scope.is_native(value) or not self.accepts(value, shape):
            return None
        return self.operands.setdefault((value, shape), Local(f"{self.name}{len(self.operands)}"))

    def absorb(self, value: Value) -> bool:
        """Adds the node that computes an operand; False if a region has claimed it or it does not fit."""
        node = value.producer
        if node is None or node.graph is not self.scope.graph or node in self.scope.claimed:
            return False
        if node in self.unfit or len(self.nodes) >= MAX_FUSED_NODES:
            return False
        fits = self.add(node)
        if not fits:
            # Without this, a node is tried for each path to it, of which there may be exponentially many.
            self.unfit.add(node)
        return fits

    def inline(self, value: Value, broadcasts: bool) -> Scalar | None:
        """A deferred value as an expression of its operands; None if it does not fit.  Only the result of a Cast may be broadcast.

        broadcasts: whether the consumer reads the value by ordinary broadcasting, and not per axis or per channel.
        """
        call = None if value.producer is None else self.scope.bind_node(value.producer)
        fits = self.scope.shape(value) == self.shape or (
            broadcasts and call is not None and is_cast(call.node)
        )
        if value not in self.inlined and call is not None and fits:
            expression = self.scalar(call)
            if expression is not None:
                self.inlined[value] = expression
        return self.inlined.get(value) if fits else None

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

    def counts(self, node: Node) -> bool:
        """Whether a node counts towards the size of a group: Casts to half precision and back do not."""
        return not any(self.scope.dtype_of(value) in HALF_TYPES for value in (*node.inputs, *node.outputs))

    def escaping(self) -> list[Value]:
        """The values that are read outside the group.  A value that is enclosed stays so, since the group only grows between calls."""
        outside = [v for v in self.values if v not in self.enclosed and self.is_read_outside(v)]
        self.enclosed = self.values.keys() - outside
        return outside

    def is_read_outside(self, value: Value) -> bool:
        if value in self.scope.outputs:
            return True
        return any(node not in self.nodes for node in self.scope.consumers(value))

    def grow(self) -> FusionGroup | None:
        """Adds as many nodes as possible; returns the largest group of which few enough values are read outside, if any."""
        best = None
        seen: set[Node] = set()
        size, counted = 0, 0
        while self.queue:
            size += sum(map(self.counts, islice(self.nodes, counted, None)))
            counted = len(self.nodes)
            if size >= MAX_FUSED_NODES:
                break
            node = heappop(self.queue)[-1]
            if node in seen or node in self.scope.claimed:
                continue
            seen.add(node)
            if self.add(node) and self.can_have_results(outside := self.escaping()):
                best = tuple(outside), len(self.nodes), len(self.operands)
        return None if best is None else self.prefix(*best)

    def can_have_results(self, values: Sequence[Value]) -> bool:
        """Whether the kernel can write these values: few enough, of its type, and not dequantized codes, which stay codes."""
        return 1 <= len(values) <= self.max_results and not any(
            is_deferred_dequantize(self.scope, value) or self.dtype not in (None, self.scope.dtype_of(value))
            for value in values
        )


def truncate(entries: dict[Entry, Content], length: int) -> None:
    """Removes the last entries of a dict, so that `length` remain."""
    while len(entries) > length:
        entries.popitem()


def canonicalize_operands(value: Scalar) -> Scalar:
    """A sum or product with an operand from outside the group last, so that kernels differ less and are shared more."""
    match value:
        case Apply(op="add" | "mul", args=(Local() as a, b)) if a != Local("x") and not isinstance(b, Number):
            return Apply(value.op, (b, a))
    return value
