"""Gradients of LayerNormalization and RMSNormalization, in the nodes that `grad/operators/layer_normalizing.py` writes.

One row program (docs/glossary.md) computes the gradient of x and, where they are used, the gradients of scale and
bias, which are sums over the rows.  Names of the patterns: x is the input, dy the gradient of the output, f = 1 /
sqrt(variance + epsilon), n the normalized input, r the gradient of x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.reductions.row_program import MEAN, RowProgram, RowSum
from sardonyx._src.compile.partition import BoundNode, Region, Scope, fuses
from sardonyx._src.compile.partition.fusion.elementwise_operands import scalar_constant
from sardonyx._src.compile.partition.fusion.row_programs import (
    RowMatch,
    RowProgramRegion,
    are_rows,
    first_reduced_axis,
    native_region,
    nodes_are_closed,
    row_sum,
)
from sardonyx._src.compile.partition.fusion.scope_queries import ScopeQueries
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.matcher import PatternMatch, PatternMatcher
from sardonyx._src.rewrite.engine.pattern import Pattern, parse_pattern

ROOT = "v = ReduceMean(q, axes) e = Add(v, epsilon) s = Sqrt(e) f = Reciprocal(s)"
CENTERED = f"""m = ReduceMean(x, axes) d = Sub(x, m) q = Mul(d, d) {ROOT} n = Mul(d, f)
    @g p = Mul(g, n) pm = ReduceMean(p, axes) j = Mul(n, pm)
    gm = ReduceMean(g, axes) a = Sub(g, gm) b = Sub(a, j) r = Mul(f, b)"""
UNCENTERED = f"""q = Mul(x, x) {ROOT} n = Mul(x, f)
    @g p = Mul(g, n) pm = ReduceMean(p, axes) j = Mul(n, pm) b = Sub(g, j) r = Mul(f, b)"""
CHAIN = ("ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Reciprocal")  # the nodes from x to f


@dataclass(frozen=True, slots=True)
class NormGradient:
    """The values of a matched gradient by their names in the pattern: x, dy, n, r, and scale unless that was all ones."""

    values: Mapping[str, Value]
    nodes: tuple[Node, ...]
    is_centered: bool
    epsilon: float


@fuses("ReduceMean", 18)
def match_layer_norm_gradient(op: BoundNode, scope: Scope) -> Region[RowProgramRegion] | None:
    return native_region(scope, find_layer_norm_gradients(op.node, scope))


@fuses("Mul", 14)
def match_rms_norm_gradient(op: BoundNode, scope: Scope) -> Region[RowProgramRegion] | None:
    return native_region(scope, find_rms_norm_gradients(op.node, scope))


def find_layer_norm_gradients(first: Node, scope: Scope) -> Iterator[RowMatch]:
    """The gradients of LayerNormalization whose first node this is."""
    return find_matches(first, scope, is_centered=True) if first.op_type == CHAIN[0] else iter(())


def find_rms_norm_gradients(first: Node, scope: Scope) -> Iterator[RowMatch]:
    """The gradients of RMSNormalization whose first node this is."""
    is_square = first.op_type == "Mul" and first.inputs[0] is first.inputs[1]
    return find_matches(first, scope, is_centered=False) if is_square else iter(())


def find_matches(first: Node, scope: Scope, *, is_centered: bool) -> Iterator[RowMatch]:
    """The row programs of the gradients whose first node this is."""
    for gradient in find_gradients(first, scope, is_centered=is_centered):
        x, dy, result, scale = (gradient.values.get(name) for name in ("x", "dy", "r", "scale"))
        assert x is not None and dy is not None and result is not None, "the pattern names them"
        shape = scope.shape(result)
        axis = None if shape is None else first_reduced_axis(scope, gradient.values["axes"], len(shape))
        if shape is None or axis is None or not are_rows(scope, result, (x, dy)):
            continue
        is_row = scope.dtype_of(scale) is DataType.FLOAT and scope.shape(scale) == shape[axis:]
        if scale is not None and not is_row:
            continue
        sums = find_sums(gradient, scope, axis)
        nodes = {*gradient.nodes, *(node for _, _, added in sums for node in added)}
        values = [value for _, value, _ in sums]
        if nodes_are_closed(scope, nodes, {result, *values}):
            program = norm_program(gradient, scale is not None, [name for name, _, _ in sums])
            operands = (x, dy) if scale is None else (x, dy, scale)
            yield RowMatch(program, axis, operands, result, values, [*nodes])


def find_gradients(first: Node, scope: Scope, *, is_centered: bool) -> Iterator[NormGradient]:
    """The gradients whose first node is this one."""
    factor = factor_from(first, scope, CHAIN if is_centered else CHAIN[2:])
    if factor is None:
        return
    queries = ScopeQueries(scope)
    for root in scope.consumers(factor):
        for text in ("g = Mul(dy, scale)", ""):
            pattern = norm_pattern(text, is_centered=is_centered)
            matcher = PatternMatcher(pattern, root, queries)
            for match in matcher.match_node(pattern.root, root, PatternMatch({}, {}, {})):
                epsilon = scalar_constant(scope.constant(match.values["epsilon"]))
                nodes = tuple(match.nodes.values())
                if epsilon is None or min(nodes, key=scope.order.__getitem__) is not first:
                    continue
                values = {name: value for name, value in match.values.items() if value is not None}
                values |= {"r": root.outputs[0], "dy": values["dy" if text else "g"]}
                yield NormGradient(values, nodes, is_centered, float(epsilon))


def norm_pattern(scaling: str, *, is_centered: bool) -> Pattern:
    return parse_pattern((CENTERED if is_centered else UNCENTERED).replace("@g", scaling))


def factor_from(first: Node, scope: Scope, chain: tuple[str, ...]) -> Value | None:
    """The value at the end of a chain of operators that starts at a node, each reading the one before; None if there is none."""
    node = first
    for op_type in chain[1:]:
        readers = [n for n in scope.consumers(node.outputs[0]) if n.op_type == op_type and not n.domain]
        squares = [n for n in readers if op_type != "Mul" or n.inputs[0] is n.inputs[1]]
        if not squares:
            return None
        node = squares[0]
    return node.outputs[0]


def find_sums(gradient: NormGradient, scope: Scope, axis: int) -> list[tuple[str, Value, tuple[Node, ...]]]:
    """The gradients of scale and bias, sums of dy * n and of dy over the rows.

    Returns for each that is used "scale" or "bias", the value, and its nodes.
    """
    dy, n = gradient.values["dy"], gradient.values["n"]
    result: list[tuple[str, Value, tuple[Node, ...]]] = []
    for product in scope.consumers(n):
        if product.op_type == "Mul" and set(product.inputs) == {dy, n} and product not in gradient.nodes:
            total = row_sum(scope, product.outputs[0], axis)
            if total is not None:
                result.append(("scale", total.outputs[0], (product, total)))
                break
    total = row_sum(scope, dy, axis)
    return result if total is None else [*result, ("bias", total.outputs[0], (total,))]


def norm_program(gradient: NormGradient, has_scale: bool, sums: list[str]) -> RowProgram:
    """The row program of x, dy and scale."""
    x, dy, factor = Local("x0"), Local("x1"), Local("r1" if gradient.is_centered else "r0")
    root = Apply("sqrt", (Apply("add", (MEAN, Number(gradient.epsilon))),))
    centered: Scalar = Apply("sub", (x, Local("r0"))) if gradient.is_centered else x
    normal = Apply("mul", (centered, factor))
    g: Scalar = Apply("mul", (dy, Local("c0"))) if has_scale else dy
    projection = RowSum(Apply("mul", (g, normal)), MEAN)
    squares = RowSum(Apply("mul", (centered, centered)), Apply("reciprocal", (root,)))
    stages: tuple[tuple[RowSum, ...], ...] = ((squares,), (projection,))
    inner: Scalar = Apply("sub", (g, Apply("mul", (normal, Local("r1")))))
    if gradient.is_centered:
        stages = ((RowSum(x, MEAN),), (squares,), (RowSum(g, MEAN), projection))
        rest = Apply("sub", (g, Local("r2")))
        inner = Apply("sub", (rest, Apply("mul", (normal, Local("r3")))))
    columns: dict[str, Scalar] = {"scale": Apply("mul", (dy, normal)), "bias": dy}
    result = Apply("mul", (factor, inner))
    return RowProgram(2, int(has_scale), stages, result, tuple(columns[name] for name in sums))
