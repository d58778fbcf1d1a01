"""Elementwise fusion: groups of elementwise nodes for one kernel, as an epilogue of another kernel or on their own.

An epilogue has one result, a group on its own up to `MAX_RESULTS`.  Such a group also absorbs the elementwise nodes that
compute operands of its nodes.  It is executed where its first node was: all of its operands are computed by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.partition.fusion.fusion_group import FusionGroup
from sardonyx._src.compile.partition.fusion.group_builder import Accepts, GroupBuilder
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Known

MAX_RESULTS = 4  # results of one kernel, which keeps a pointer to each of its tensors in a register
Shape = tuple[Known, ...]


def fuse_consumers(
    scope: Scope,
    value: Value,
    accepts: Accepts,
    start: Scalar,
    operands: Sequence[tuple[Value, Shape]] = (),
) -> FusionGroup | None:
    """The elementwise consumers of a kernel's result that fit in its epilogue; None if there are none.

    start: the kernel's result as an expression.
    operands: the values that `start` reads as `o0`, `o1`, ..., with their dims as broadcast.
    """
    shape = scope.shape(value)
    if shape is None or value in scope.outputs:
        return None
    builder = GroupBuilder(scope, shape, accepts, "o", DataType.FLOAT)
    builder.operands.update((operand, Local(f"o{i}")) for i, operand in enumerate(operands))
    builder.define(value, start)
    return builder.grow()


def fuse_from(scope: Scope, node: Node) -> FusionGroup | None:
    """A group that starts at an elementwise node; None if the node is not elementwise."""
    shape = scope.shape(node.outputs[0])
    if shape is None:
        return None
    builder = GroupBuilder(scope, shape, lambda value, shape: True, max_results=MAX_RESULTS)
    if not builder.add(node):
        return None
    first = builder.snapshot(node.outputs[0])
    return builder.grow() or first


def group_single_node(scope: Scope, node: Node) -> FusionGroup | None:
    """The group of a single elementwise node; None for any other node."""
    shape = scope.shape(node.outputs[0])
    builder = None if shape is None else GroupBuilder(scope, shape, lambda value, shape: True)
    return builder.snapshot(node.outputs[0]) if builder is not None and builder.add(node) else None
