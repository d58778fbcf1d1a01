"""Reshape: the same elements, in row-major order, with another shape.

Spec: ai.onnx Reshape-1, -5, -13, -14, -19, -21, -23, -24, -25.  The shape is an attribute in version 1, an input from 5
on; 14 adds `allowzero`; the others add element types.  One entry may be -1: it is inferred from the others.  An entry
0 copies the size of data at that axis; with `allowzero` it is the size 0 itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Graph, Node, Shape, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.dims import Dim, Expr, dim_min, exact_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import element_count
from sardonyx._src.ops.tensor.elements import numbers, reshape_value_facet
from sardonyx._src.ops.tensor.zeros import zero
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "Reshape", moves_data=True, size_rule="target_shape", sizes_input=1, keeps_order="always", parameters=(1,)
)
RESHAPE_VERSIONS = (5, 13, 14, 19, 21, 23, 24, 25)


@op.eval(1, ignores=("consumed_inputs",))
def eval_1(data: Array, *, shape: tuple[int, ...] | None = None) -> Array:
    if shape is None:
        raise EvaluationError("attribute shape must be given: it defines the sizes of the result")
    return data.reshape(sizes_of(shape, data.shape, allowzero=False))


@op.eval(*RESHAPE_VERSIONS)
def evaluate(data: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """shape: [rank of the result] int64."""
    return data.reshape(sizes_of([int(n) for n in shape.reshape(-1)], data.shape, allowzero=bool(allowzero)))


def sizes_of(shape: Sequence[int], old: tuple[int, ...], *, allowzero: bool) -> tuple[int, ...]:
    """The shape with 0 and -1 resolved; raises EvaluationError where that is not possible."""
    if min(shape, default=0) < -1 or list(shape).count(-1) > 1:
        raise EvaluationError(f"shape must have entries >= 0 and at most one -1; got {list(shape)}")
    if not allowzero:
        if any(n == 0 and i >= len(old) for i, n in enumerate(shape)):
            raise EvaluationError(
                f"each 0 of shape must copy a size of data of shape {list(old)}; got {list(shape)}"
            )
        shape = [n or old[i] for i, n in enumerate(shape)]
    rest = math.prod(n for n in shape if n != -1)
    count = math.prod(old)
    if -1 in shape and rest == 0:
        raise EvaluationError(
            f"shape must not have both -1 and a size of 0, which leaves -1 undefined; got {list(shape)}"
        )
    if count % rest if -1 in shape else count != rest:
        raise EvaluationError(f"shape must have the {count} elements of data {list(old)}; got {list(shape)}")
    return tuple(count // rest if n == -1 else n for n in shape)


@op.convert((1, 5))
def to_5(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), adapter.as_input("shape")], drop=("shape", "consumed_inputs"))


@op.convert((5, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0)], shape=adapter.as_attribute(1, "shape", AttributeType.INTS))


@op.convert((14, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Drop `allowzero` where a 0, which always copies a size in version 13, means the same; else replace the node.

    The replacement is an If: where data has no elements, it creates an empty tensor of the requested shape.
    """
    sizes, shape = adapter.inference.shape(0) or (None,), adapter.inference.constant(1)
    is_filled = all(isinstance(n, int) and n > 0 for n in sizes)
    if not adapter.inference.integer("allowzero") or is_filled or (shape is not None and 0 not in shape):
        return adapter.same(drop=("allowzero",))
    if (
        shape is not None
        and len(sizes) >= shape.size
        and all(n != 0 or sizes[i] == 0 for i, n in enumerate(shape.reshape(-1).tolist()))
    ):
        return adapter.same(drop=("allowzero",))
    is_empty = adapter.Equal(adapter.Size(adapter.input(0)), adapter.integers(0))
    return adapter.ops(
        "If", is_empty, outputs=1, then_branch=empty_branch(adapter), else_branch=filled_branch(adapter)
    )[0]


def empty_branch(adapter: Adapter) -> Graph:
    """An empty tensor of the requested shape; an entry of -1 becomes 0."""
    floor, shape = Value(adapter.fresh("floor")), Value(adapter.fresh("shape"))
    nodes = [
        Node("Constant", [], [floor], {"value": attribute("value", np.zeros(1, np.int64))}),
        Node("Max", [adapter.input(1), floor], [shape]),
    ]
    fill = attribute("value", zero(adapter.dtype(0).numpy).reshape(1))
    return branch(
        adapter, [*nodes, Node("ConstantOfShape", [shape], [Value(adapter.fresh("empty"))], {"value": fill})]
    )


def filled_branch(adapter: Adapter) -> Graph:
    """A Reshape of data that has elements, where no entry of a valid shape is 0."""
    return branch(
        adapter, [Node("Reshape", [adapter.input(0), adapter.input(1)], [Value(adapter.fresh("filled"))])]
    )


def branch(adapter: Adapter, nodes: list[Node]) -> Graph:
    """A branch of an If whose outputs are those of its last node."""
    graph = Graph(adapter.fresh("branch"))
    for node in nodes:
        graph.append(node)
    graph.outputs.extend(nodes[-1].outputs)
    return graph


# --- inference -------------------------------------------------------------------------------


@op.infer(1)
def infer_1(inference: Inference) -> Result:
    sizes = inference.integers("shape")
    if sizes is None:
        inference.fail("attribute shape must be given: it defines the sizes of the result")
    return infer_reshape(inference, sizes)


@op.infer(*RESHAPE_VERSIONS)
def infer(inference: Inference) -> Result:
    rank = inference.rank(1)
    if rank is not None and rank != 1:
        inference.fail(f"the shape must be a vector; got rank {rank}")
    return infer_reshape(inference, inference.dims(1))


op.value(1)(reshape_value_facet(infer_1))
op.value(*RESHAPE_VERSIONS)(reshape_value_facet(infer))


def infer_reshape(inference: Inference, shape: Sequence[Dim] | None) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    return TensorType(data.dtype, None if shape is None else resolve_shape(inference, shape, data.shape))


def resolve_shape(inference: Inference, shape: Sequence[Dim], old: Shape | None) -> Shape:
    """The new shape as far as it is known; an unknown entry may be 0 or -1 at run time."""
    sizes = None if old is None else numbers(old)
    requested = numbers(shape)
    allowzero = bool(inference.integer("allowzero", 0))
    if sizes is not None and requested is not None:
        try:
            return sizes_of(requested, sizes, allowzero=allowzero)
        except EvaluationError as error:
            inference.fail(error.why)
    if any(isinstance(n, int) and n < -1 for n in shape) or list(shape).count(-1) > 1:
        inference.fail(f"shape must have entries >= 0 and at most one -1; got {list(shape)}")
    copied = set() if allowzero else {i for i, n in enumerate(shape) if isinstance(n, int) and n == 0}
    if old is not None and any(i >= len(old) for i in copied):
        inference.fail(
            f"each 0 of shape must copy a size of data of rank {len(old)}; got a 0 at {max(copied)}"
        )
    if not allowzero:
        require_nonzero_sizes(inference, shape, old)
    result: list[Dim] = [(None if old is None else old[i]) if i in copied else n for i, n in enumerate(shape)]
    result = [None if isinstance(n, int) and n < 0 else n for n in result]
    unknown = [i for i, n in enumerate(result) if n is None and i not in copied]
    if old is not None and len(unknown) == 1:
        # A copied size is a factor of both element counts: it cancels out even if it is unknown.
        count = element_count([n for i, n in enumerate(old) if i not in copied])
        rest = element_count([n for i, n in enumerate(result) if i not in copied and i != unknown[0]])
        # An entry that is not -1 but unknown is arbitrary if another size is 0, as a copied or symbolic one may be.
        if shape[unknown[0]] is not None or not (copied or isinstance(rest, Expr)):
            result[unknown[0]] = quotient(inference, count, rest)
    require_element_count(inference, shape, old, result)
    return tuple(result)


def require_element_count(
    inference: Inference, shape: Sequence[Dim], old: Shape | None, result: Sequence[Dim]
) -> None:
    """Requires that the result has as many elements as data, and that no size is 0 if there is a -1.

    With a size of 0, any value of -1 would give the same number of elements.
    """
    for i, n in enumerate(shape):
        if isinstance(n, int) and n == -1:
            inference.require_at_most(1, element_count([*result[:i], *result[i + 1 :]]))
    if old is not None and None not in (*old, *shape):
        inference.require_equal(element_count(old), element_count(result))


def require_nonzero_sizes(inference: Inference, shape: Sequence[Dim], old: Shape | None) -> None:
    """Requires that an entry which is an expression is not 0 in a run, unless the size of data at its axis is 0, too.

    A 0 would copy that size, so that the inferred shape, which has the expression, would be wrong.
    """
    for i, n in enumerate(shape):
        copied = None if old is None else (*old, *[1] * len(shape))[i]
        if isinstance(n, Expr) and copied is not None and n != copied:
            is_nonzero, is_filled = dim_min(n, 1), dim_min(copied, 1)  # 1 or 0
            if is_nonzero != is_filled:
                inference.require_equal(is_filled, is_filled * is_nonzero)


def quotient(inference: Inference, count: Dim, rest: Dim) -> Dim:
    """The size of the last axis, when all `count` elements are divided by `rest`, the product of the other sizes."""
    if isinstance(rest, int) and rest == 0:
        return None
    try:
        return exact_div(count, rest)
    except ValueError:
        inference.fail(f"{count} elements do not fill a shape that has {rest} in every other axis")
