"""Groups of elementwise nodes under construction, each of which becomes an expression of one kernel.

A group grows greedily from its first node through consumers in topological order, and is cut back to the largest prefix
of which few enough values are read outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop
from itertools import islice

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.compile.partition import BoundNode, Scope, Shape
from sardonyx._src.compile.partition.fusion.batch_norm import folded_statistics
from sardonyx._src.compile.partition.fusion.elementwise_operands import (
    broadcast_shape,
    is_cast,
    is_deferred_dequantize,
    is_per_node_constant,
    is_quantization_parameter,
    is_single_element,
    reads_by_broadcasting,
    scalar_constant,
)
from sardonyx._src.compile.partition.fusion.fusion_group import FusionGroup, GroupState
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value

MAX_FUSED_NODES, MAX_OPERANDS = 24, 8  # of one kernel: with more, it compiles slowly and spills registers
MAX_INPUTS = 16  # of one node, such as a Sum, repeated inputs included: its expression nests a level for each
Accepts = Callable[[Value, Shape], bool]


class GroupBuilder(GroupState):
    """Adds nodes to a group of at most `max_operands` operands.

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
        super().__init__(scope, shape)
        self.accepts, self.name, self.dtype = accepts, name, dtype
        self.max_results, self.absorbs = max_results, max_results > 1
        self.numbers: set[Value] = set()  # constants of one element that are operands
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
        if expression is None or self.count_operands() > self.max_operands or len(self.operands) > MAX_INPUTS:
            self.restore(before)
            return False
        self.nodes[node] = None
        self.define(node.outputs[0], canonicalize_operands(expression))
        return True

    def count_operands(self) -> int:
        """The number of operands that are not constants which could be numbers of the expression, and cost no more."""
        return sum(value not in self.numbers for value, _ in self.operands)

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
            return None if number is None or is_quantization_parameter(node, index) else Number(number)
        if number is not None and not is_quantization_parameter(node, index):
            self.numbers.add(value)
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

    def counts(self, node: Node) -> bool:
        """Whether a node counts towards the size of a group: Casts to half precision and back do not."""
        return not any(self.scope.dtype_of(value) in HALF_TYPES for value in (*node.inputs, *node.outputs))

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


def canonicalize_operands(value: Scalar) -> Scalar:
    """A sum or product with an operand from outside the group last, so that kernels differ less and are shared more."""
    match value:
        case Apply(op="add" | "mul", args=(Local() as a, b)) if a != Local("x") and not isinstance(b, Number):
            return Apply(value.op, (b, a))
    return value
