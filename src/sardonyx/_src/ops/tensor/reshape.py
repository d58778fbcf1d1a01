"""Reshape: the same elements, in row-major order, under another shape.

Spec: ai.onnx Reshape-1, -5, -13, -14, -19, -21, -23, -24, -25.  Version 1 has the shape as an attribute, 5 as an
input; 14 adds `allowzero`; the others add element types.  One entry may be -1, and is what the others leave.  An
entry 0 copies the size that data has there, unless `allowzero` makes it a size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.dims import Dim, Expr, exact_div
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import product
from sardonyx._src.ops.tensor.elements import numbers, reshaping
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("Reshape")
VERSIONS = (5, 13, 14, 19, 21, 23, 24, 25)


@op.eval(1, ignores=("consumed_inputs",))
def eval_1(data: Array, *, shape: tuple[int, ...] | None = None) -> Array:
    if shape is None:
        raise EvaluationError("attribute shape is missing: it says the sizes of the result")
    return data.reshape(sizes_of(shape, data.shape, allowzero=False))


@op.eval(*VERSIONS)
def evaluate(data: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """shape: [rank of the result] int64."""
    return data.reshape(sizes_of([int(n) for n in shape.reshape(-1)], data.shape, allowzero=bool(allowzero)))


def sizes_of(shape: Sequence[int], old: tuple[int, ...], *, allowzero: bool) -> tuple[int, ...]:
    """The shape without 0 and -1; raises EvaluationError where that is not possible."""
    if min(shape, default=0) < -1 or list(shape).count(-1) > 1:
        raise EvaluationError(f"shape is {list(shape)}, where sizes and at most one -1 are wanted")
    if not allowzero:
        if any(n == 0 and i >= len(old) for i, n in enumerate(shape)):
            raise EvaluationError(
                f"shape is {list(shape)}: data of shape {list(old)} has no size for each 0 to copy"
            )
        shape = [n or old[i] for i, n in enumerate(shape)]
    rest = math.prod(n for n in shape if n != -1)
    count = math.prod(old)
    if -1 in shape and rest == 0:
        raise EvaluationError(f"shape is {list(shape)}: beside a size of 0, any number could stand for -1")
    if count % rest if -1 in shape else count != rest:
        raise EvaluationError(
            f"data of shape {list(old)} has {count} elements, which do not fill shape {list(shape)}"
        )
    return tuple(count // rest if n == -1 else n for n in shape)


@op.convert((1, 5))
def to_5(c: Change) -> Converted:
    return c.same([c.input(0), c.as_input("shape")], drop=("shape", "consumed_inputs"))


@op.convert((5, 1))
def to_1(c: Change) -> Converted:
    return c.same([c.input(0)], shape=c.as_attribute(1, "shape", AttributeType.INTS))


@op.convert((14, 13))
def to_13(c: Change) -> Converted:
    """Without `allowzero` a 0 copies a size, so that shapes of empty tensors have to be said otherwise."""
    sizes, shape = c.t.shape(0) or (None,), c.t.constant(1)
    is_filled = all(isinstance(n, int) and n > 0 for n in sizes)
    if not c.t.integer("allowzero") or is_filled or (shape is not None and 0 not in shape):
        return c.same(drop=("allowzero",))
    if (
        shape is not None
        and len(sizes) >= shape.size
        and all(n != 0 or sizes[i] == 0 for i, n in enumerate(shape.reshape(-1).tolist()))
    ):
        return c.same(drop=("allowzero",))
    is_empty = c.Equal(c.Size(c.input(0)), c.integers(0))
    return c.ops("If", is_empty, outputs=1, then_branch=empty_branch(c), else_branch=filled_branch(c))[0]


def empty_branch(c: Change) -> Graph:
    """A tensor of the shape that is asked for and no elements; -1 can only mean 0."""
    floor, shape = Value(c.fresh("floor")), Value(c.fresh("shape"))
    nodes = [
        Node("Constant", [], [floor], {"value": attribute("value", np.zeros(1, np.int64))}),
        Node("Max", [c.input(1), floor], [shape]),
    ]
    fill = attribute("value", zero(c.dtype(0).numpy).reshape(1))
    return branch(c, [*nodes, Node("ConstantOfShape", [shape], [Value(c.fresh("empty"))], {"value": fill})])


def filled_branch(c: Change) -> Graph:
    return branch(c, [Node("Reshape", [c.input(0), c.input(1)], [Value(c.fresh("filled"))])])


def branch(c: Change, nodes: list[Node]) -> Graph:
    """A branch of an If that gives what its last node gives."""
    graph = Graph(c.fresh("branch"))
    for node in nodes:
        graph.append(node)
    graph.outputs.extend(nodes[-1].outputs)
    return graph


# --- inference -------------------------------------------------------------------------------


@op.infer(1)
def infer_1(t: Inference) -> Result:
    sizes = t.integers("shape")
    if sizes is None:
        t.fail("attribute shape is missing: it says the sizes of the result")
    return reshaped(t, sizes)


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    rank = t.rank(1)
    if rank is not None and rank != 1:
        t.fail(f"the shape has rank {rank}, where a vector is wanted")
    return reshaped(t, t.dims(1))


op.value(1)(reshaping(infer_1))
op.value(*VERSIONS)(reshaping(infer))


def reshaped(t: Inference, shape: Sequence[Dim] | None) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    return TensorType(data.dtype, None if shape is None else resolved(t, shape, data.shape))


def resolved(t: Inference, shape: Sequence[Dim], old: Shape | None) -> Shape:
    """The new shape as far as it is known; an entry of which nothing is known may turn out to be 0 or -1."""
    sizes = None if old is None else numbers(old)
    wanted = numbers(shape)
    allowzero = bool(t.integer("allowzero", 0))
    if sizes is not None and wanted is not None:
        try:
            return sizes_of(wanted, sizes, allowzero=allowzero)
        except EvaluationError as error:
            t.fail(error.why)
    copied = set() if allowzero else {i for i, n in enumerate(shape) if isinstance(n, int) and n == 0}
    if old is not None and any(i >= len(old) for i in copied):
        t.fail(f"the shape has a 0 at {max(copied)}, where data has only {len(old)} sizes to copy")
    found: list[Dim] = [(None if old is None else old[i]) if i in copied else n for i, n in enumerate(shape)]
    found = [None if isinstance(n, int) and n < 0 else n for n in found]
    unknown = [i for i, n in enumerate(found) if n is None and i not in copied]
    if old is not None and len(unknown) == 1:
        # A copied size is on both sides: it cancels even where it is not known.
        left = product([n for i, n in enumerate(old) if i not in copied])
        rest = product([n for i, n in enumerate(found) if i not in copied and i != unknown[0]])
        if shape[unknown[0]] is not None or not (copied or isinstance(rest, Expr)):
            found[unknown[0]] = quotient(t, left, rest)  # else an axis of size 0 would leave the entry free
    return tuple(found)


def quotient(t: Inference, count: Dim, rest: Dim) -> Dim:
    """What is left for one size when the others take `rest` of `count` elements."""
    if isinstance(rest, int) and rest == 0:
        return None
    try:
        return exact_div(count, rest)
    except ValueError:
        t.fail(f"{count} elements do not fill a shape that has {rest} in every other axis")
