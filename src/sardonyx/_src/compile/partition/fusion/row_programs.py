"""Regions of row programs: sums of rows, and elementwise expressions of elements and sums, in one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.reductions.row_program import RowProgram, Y
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, Scope, Write
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value


@dataclass(frozen=True, slots=True)
class RowProgramRegion:
    """The parameters of a region that reads the program's operands, and writes its result, then its column sums.

    axis: the first dim of a row.
    """

    program: RowProgram
    axis: int


@dataclass(frozen=True, slots=True)
class RowMatch:
    """A row program that nodes compute, with the values that are its operands, its result and its column sums."""

    program: RowProgram
    axis: int
    operands: Sequence[Value]
    result: Value
    sums: Sequence[Value]
    nodes: Sequence[Node]


def native_region(scope: Scope, matches: Iterable[RowMatch]) -> Region[RowProgramRegion] | None:
    """The region of the first match whose operands a kernel can read."""
    for match in matches:
        if all(map(scope.is_native, match.operands)):
            return row_program_region(scope, match)
    return None


def row_program_region(scope: Scope, match: RowMatch) -> Region[RowProgramRegion]:
    """The region of a match, with the consumers of its result as epilogue; it is executed where its last node was.

    A sum of the result over all rows, which is the gradient of a bias, becomes another column sum.
    """
    program, sums = match.program, list(match.sums)
    is_last = match.axis == len(scope.known_shape(match.result)) - 1
    epilogue = fuse_epilogue(scope, match.result) if is_last else FusedEpilogue(Epilogue(), match.result)
    nodes = sorted(match.nodes, key=scope.order.__getitem__)
    total = row_sum(scope, epilogue.result, match.axis)
    if total is not None:
        program = replace(program, column_sums=(*program.column_sums, Y))
        sums.append(total.outputs[0])
    return Region(
        "RowProgram",
        (*nodes, *epilogue.nodes, *(() if total is None else (total,))),
        RowProgramRegion(program, match.axis),
        tuple(Read(value) for value in match.operands),
        (Write(epilogue.result), *(Write(value) for value in sums)),
        epilogue=epilogue,
        last=nodes[-1],
    )


def row_sum(scope: Scope, x: Value, axis: int) -> Node | None:
    """The first unclaimed node that sums a value over all dims before an axis (`keepdims=0`); None if there is none."""
    return next((node for node in scope.consumers(x) if sums_rows(node, scope, axis)), None)


def sums_rows(node: Node, scope: Scope, axis: int) -> bool:
    """Whether a node is unclaimed and sums a tensor over all dims before an axis (`keepdims=0`)."""
    is_sum = (node.op_type, node.domain) == ("ReduceSum", "")
    if not is_sum or node in scope.claimed or node.graph is not scope.graph:
        return False
    bound, x = scope.bind_node(node), node.inputs[0]
    shape = None if x is None else scope.shape(x)
    if bound is None or shape is None or bound.attributes["keepdims"] or not 0 < axis < len(shape):
        return False
    axes = scope.constant(bound.input(1))
    return axes is not None and sorted(int(a) % len(shape) for a in axes.reshape(-1)) == list(range(axis))


def are_rows(scope: Scope, result: Value, operands: Sequence[Value]) -> bool:
    """Whether all values are float32 of the shape of the result."""
    shape = scope.shape(result)
    return shape is not None and all(
        scope.dtype_of(value) is DataType.FLOAT and scope.shape(value) == shape
        for value in (result, *operands)
    )


def nodes_are_closed(scope: Scope, nodes: set[Node], results: set[Value]) -> bool:
    """Whether nodes can become one region: unclaimed, with no other results, and these are read after the last node only."""
    if any(node in scope.claimed or node.graph is not scope.graph for node in nodes):
        return False
    last = max(map(scope.order.__getitem__, nodes))
    for value in (value for node in nodes for value in node.outputs):
        outside = [reader for reader in scope.consumers(value) if reader not in nodes]
        if value not in results and (outside or value in scope.outputs):
            return False
        if any(scope.order.get(reader, -1) < last for reader in outside):
            return False
    return True


def first_reduced_axis(scope: Scope, axes: Value | None, rank: int) -> int | None:
    """The first of constant axes, if they are all the dims from that one on; otherwise None."""
    elements = None if axes is None else scope.constant(axes)
    if elements is None or elements.ndim != 1:
        return None
    numbers = sorted({int(axis) % rank for axis in elements if -rank <= axis < rank})
    is_trailing = len(numbers) == elements.size and numbers == list(range(rank - len(numbers), rank))
    return numbers[0] if numbers and is_trailing else None
