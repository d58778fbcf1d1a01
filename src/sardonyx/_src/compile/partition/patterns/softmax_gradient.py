"""Gradients of Softmax and LogSoftmax along the last axis, in the nodes that `grad/operators/normalizing.py` writes.

With y the result and dy its gradient, they are `y * (dy - sum(dy * y))` and `dy - exp(y) * sum(dy)`.  Each becomes
one row program (docs/glossary.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.reductions.row_program import RowProgram, RowSum
from sardonyx._src.compile.partition import BoundNode, Region, Scope, fuses
from sardonyx._src.compile.partition.fusion.row_programs import (
    RowMatch,
    RowProgramRegion,
    are_rows,
    first_reduced_axis,
    native_region,
    nodes_are_closed,
)
from sardonyx._src.compile.partition.fusion.scope_queries import ScopeQueries
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.matcher import find_matches
from sardonyx._src.rewrite.engine.pattern import parse_pattern

DY, Y, TOTAL = Local("x0"), Local("x1"), Local("r0")
SOFTMAX = "p = Mul(dy, y) s = ReduceSum(p, axes) d = Sub(dy, s) r = Mul(y, d)"
SOFTMAX_PROGRAM = RowProgram(
    2, 0, ((RowSum(Apply("mul", (DY, Y))),),), Apply("mul", (Y, Apply("sub", (DY, TOTAL))))
)
LOG_SOFTMAX = "e = Exp(y) s = ReduceSum(dy, axes) m = Mul(e, s) r = Sub(dy, m)"
LOG_SOFTMAX_PROGRAM = RowProgram(
    2, 0, ((RowSum(DY),),), Apply("sub", (DY, Apply("mul", (Apply("exp", (Y,)), TOTAL))))
)


@fuses("Mul", 14)
def match_softmax_gradient(op: BoundNode, scope: Scope) -> Region[RowProgramRegion] | None:
    return native_region(scope, find_softmax_gradients(op.node, scope))


@fuses("Exp", 13)
def match_log_softmax_gradient(op: BoundNode, scope: Scope) -> Region[RowProgramRegion] | None:
    return native_region(scope, find_log_softmax_gradients(op.node, scope))


def find_softmax_gradients(first: Node, scope: Scope) -> Iterator[RowMatch]:
    """The gradients of Softmax whose first node this is."""
    total = scope.sole_consumer(first.outputs[0]) if first.op_type == "Mul" else None
    is_sum = total is not None and total.op_type == "ReduceSum"
    difference = scope.sole_consumer(total.outputs[0]) if total is not None and is_sum else None
    root = None if difference is None else scope.sole_consumer(difference.outputs[0])
    return find_rows(first, root, SOFTMAX, SOFTMAX_PROGRAM, scope)


def find_log_softmax_gradients(first: Node, scope: Scope) -> Iterator[RowMatch]:
    """The gradients of LogSoftmax whose first node this is."""
    product = scope.sole_consumer(first.outputs[0]) if first.op_type == "Exp" else None
    root = None if product is None else scope.sole_consumer(product.outputs[0])
    return find_rows(first, root, LOG_SOFTMAX, LOG_SOFTMAX_PROGRAM, scope)


def find_rows(
    first: Node, root: Node | None, text: str, program: RowProgram, scope: Scope
) -> Iterator[RowMatch]:
    """The matches of a pattern whose nodes begin with `first` and end with `root`."""
    if root is None:
        return
    for match in find_matches(parse_pattern(text), root, ScopeQueries(scope)):
        dy, y, result = match.values["dy"], match.values["y"], root.outputs[0]
        nodes = sorted(match.nodes.values(), key=scope.order.__getitem__)
        if dy is None or y is None or nodes[0] is not first or not are_rows(scope, result, (dy, y)):
            continue
        rank = len(scope.known_shape(result))
        axis = first_reduced_axis(scope, match.values["axes"], rank) if rank else None
        if axis == rank - 1 and nodes_are_closed(scope, set(nodes), {result}):
            yield RowMatch(program, axis, (dy, y), result, (), nodes)
