"""The context of the rules in `row_rules`, which say how the rows of a batch pass through one node.

A rule is called for a node with at least one batched input.  It returns, for each output, the batch axis: the axis along which
the rows of the output lie.  A rule may return an axis only if each row of the output is what the node would compute for that
row of the inputs by itself; otherwise it returns MIXED.  Nodes are in the newest operator sets.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ir.dims import Dim, Expr, dim_product, has_opaque_part, known_equal
from sardonyx._src.ops.inference import Known


class Dependence(enum.Enum):
    """The dependence on rows of a value without a batch axis."""

    CONSTANT = "constant"  # the value depends neither on rows nor on their number
    ROW_COUNT = "row count"  # the value depends on the number of rows, but not on their contents
    MIXED = "mixed"  # an element of the value may depend on several rows


RowAxis: TypeAlias = "int | Dependence"
RowRule: TypeAlias = "Callable[[RowStep], RowAxis | Sequence[RowAxis]]"
R = TypeVar("R", bound=RowRule)
MIXED, CONSTANT, ROW_COUNT = Dependence.MIXED, Dependence.CONSTANT, Dependence.ROW_COUNT
RULES: dict[tuple[str, str], RowRule] = {}  # rules by domain and name of the operator
# Rules for nodes without a batched input: their outputs may have equal rows, as many as the batch.
FILL_RULES: dict[tuple[str, str], RowRule] = {}


def row_rule(
    *op_types: str, domain: str = "", table: dict[tuple[str, str], RowRule] = RULES
) -> Callable[[R], R]:
    """Registers the rule of operators."""

    def register(rule: R) -> R:
        for op_type in op_types:
            assert (domain, op_type) not in table, f"{op_type} has two rules"
            table[domain, op_type] = rule
        return rule

    return register


class RowStep:
    """A node, with the batch axes of its inputs.

    axes: the batch axis of each input, or its dependence on rows.
    rows: the name of the symbol that is the number of rows.
    elements: returns the statically known elements of a value; None if they are unknown.
    """

    def __init__(
        self,
        node: Node,
        attributes: Mapping[str, object],
        axes: Sequence[RowAxis],
        rows: str,
        elements: Callable[[Value | None], Known | None],
    ) -> None:
        self.node, self.attributes, self.axes, self.rows = node, attributes, axes, rows
        self.elements = elements

    def has(self, i: int) -> bool:
        return i < len(self.node.inputs) and self.node.inputs[i] is not None

    def axis(self, i: int) -> RowAxis:
        """The batch axis of input i, or its dependence on rows; an omitted input is constant."""
        return self.axes[i] if self.has(i) else CONSTANT

    def batched(self, i: int) -> int | None:
        """The batch axis of input i, if it has one."""
        axis = self.axis(i)
        return axis if isinstance(axis, int) else None

    def is_constant(self, *inputs: int) -> bool:
        return all(self.axis(i) is CONSTANT for i in inputs)

    def are_others_constant(self, *inputs: int) -> bool:
        """Whether all inputs but these are constant."""
        return self.is_constant(*(i for i in range(len(self.node.inputs)) if i not in inputs))

    def shape(self, i: int) -> tuple[Dim, ...] | None:
        return shape_of(self.node.inputs[i]) if self.has(i) else None

    def rank(self, i: int) -> int | None:
        shape = self.shape(i)
        return None if shape is None else len(shape)

    def output_shape(self, i: int = 0) -> tuple[Dim, ...] | None:
        return shape_of(self.node.outputs[i])

    def integer(self, name: str, default: int) -> int:
        value = self.attributes.get(name)
        return value if isinstance(value, int) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        value = self.attributes.get(name)
        return tuple(map(int, value)) if isinstance(value, tuple) else None

    def constant_integers(self, i: int) -> tuple[int, ...] | None:
        """The elements of a constant input of integers; None if they are unknown, () for an omitted input."""
        if not self.has(i):
            return ()
        known = self.elements(self.node.inputs[i])
        if known is None or known.dtype == object or self.axis(i) is not CONSTANT:
            return None
        return tuple(int(x) for x in np.ravel(known))

    def is_free_of_rows(self, dim: Dim) -> bool:
        """Whether a dim is known not to depend on the number of rows."""
        if isinstance(dim, int):
            return True
        return isinstance(dim, Expr) and not has_opaque_part(dim) and self.rows not in dim.symbols()

    def row_axis_of(self, shape: Sequence[Dim] | None) -> int | None:
        """The axis of a shape whose dim depends on the number of rows; None unless there is exactly one."""
        if shape is None:
            return None
        axes = [i for i, dim in enumerate(shape) if not self.is_free_of_rows(dim)]
        return axes[0] if len(axes) == 1 and shape[axes[0]] is not None else None

    def has_extent_1(self, i: int, axis_from_end: int) -> bool:
        """Whether input i has length 1, or no axis at all, `axis_from_end` axes before its end."""
        shape = self.shape(i)
        return shape is not None and (len(shape) < axis_from_end or shape[-axis_from_end] == 1)

    def aligned(self, inputs: Sequence[int]) -> int | None:
        """The common batch axis of inputs that are broadcast together, counted from the end (1: the last axis).

        None if the batch axes differ, if an input is mixed or holds the number of rows, or if a constant input has more than one element along that axis.
        """
        positions = set()
        for i in inputs:
            axis, rank = self.axis(i), self.rank(i)
            if isinstance(axis, int):
                if rank is None:
                    return None
                positions.add(rank - axis)
            elif axis is not CONSTANT:
                return None
        if len(positions) != 1:
            return None
        position = positions.pop()
        fit = all(
            isinstance(self.axis(i), int) or not self.has(i) or self.has_extent_1(i, position) for i in inputs
        )
        return position if fit else None

    def broadcast(self, inputs: Sequence[int] | None = None) -> RowAxis:
        """The batch axis of the inputs' broadcast."""
        inputs = range(len(self.node.inputs)) if inputs is None else inputs
        position, shape = self.aligned(inputs), self.output_shape()
        return MIXED if position is None or shape is None else len(shape) - position


def shape_of(value: Value | None) -> tuple[Dim, ...] | None:
    type = value.type if value is not None else None
    return tuple(type.shape) if isinstance(type, TensorType) and type.shape is not None else None


def is_equal_product(first: Sequence[Dim], second: Sequence[Dim]) -> bool:
    """Whether the products of dims are known to be equal."""
    a, b = dim_product(first), dim_product(second)
    return a is not None and b is not None and known_equal(a, b) is True


def normalized(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis
