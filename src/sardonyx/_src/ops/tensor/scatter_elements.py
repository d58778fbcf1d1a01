"""ScatterElements, and Scatter, its first name: one entry of an axis replaced for each update.

Spec: ai.onnx Scatter-9, -11 (deprecated); ScatterElements-11, -13, -16, -18.  An update goes to the entry that its index
names along `axis`, at its own place in the other axes.  16 adds `reduction` with add and mul, 18 max and min; 13 and 16
add element types.  Without a reduction equal indices are forbidden; the last update wins.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of, merge_shapes
from sardonyx._src.ops.tensor.elements import elements, settled
from sardonyx._src.ops.tensor.indexing import along, check_bounds, from_front, non_negative
from sardonyx._src.ops.tensor.scattering import scattered

op = Operator(
    "ScatterElements",
    tolerance="rounding",
    about="entries of one axis replaced or combined with others, each by an index at its own place.",
)
scatter = Operator(
    "Scatter", about="entries of one axis replaced, each by an index; replaced by ScatterElements."
)


@scatter.infer(9, 11)
@op.infer(11, 13, 16, 18)
def infer(t: Inference) -> Result:
    data, updates = t.shape(0), merge_shapes(t, [t.shape(1), t.shape(2)], "indices and updates")
    if data is not None and updates is not None and len(data) != len(updates):
        t.fail(f"data has rank {len(data)} and updates rank {len(updates)}")
    if data is not None:
        axis = t.axis(t.integer("axis"), len(data))
        check_bounds(t, t.constant(1), data[axis])
        for i, (size, count) in enumerate(zip(data, updates or (None,) * len(data), strict=True)):
            if i != axis and isinstance(size, int) and isinstance(count, int) and count > size:
                t.fail(f"indices have {count} entries along axis {i}, where the data have {size}")
    return t.tensor(0)


@scatter.value(9, 11)
@op.value(11, 13, 16, 18)
@settled
def value(t: Inference) -> Known | None:
    data, indices, updates = elements(t, 0), t.constant(1), elements(t, 2)
    if data is None or indices is None or updates is None or t.attributes.get("reduction", "none") != "none":
        return None
    try:
        return eval_11(data.astype(np.result_type(data, updates)), indices, updates, axis=t.integer("axis"))
    except EvaluationError as error:
        t.fail(error.why)


@scatter.eval(9, 11)
@op.eval(11, 13)
def eval_11(data: Array, indices: Array, updates: Array, *, axis: int) -> Array:
    """data, result: [..., n, ...]; indices, updates: of one shape and the rank of data."""
    return scattered(data, target(data, indices, updates, axis), updates)


@op.eval(16, 18)
def eval_16(data: Array, indices: Array, updates: Array, *, axis: int, reduction: str, call: Call) -> Array:
    return scattered(data, target(data, indices, updates, axis), updates, reduction, call.version)


@scatter.convert((9, 11))
def to_its_new_name(c: Change) -> Converted:
    return c.same(op_type="ScatterElements")


@op.convert((11, 0))
def to_its_first_name(c: Change) -> Converted:
    """Scatter, whose axis counts from the front and whose indices are not negative."""
    return c.same([c.input(0), non_negative(c, 1, c.axis()), c.input(2)], op_type="Scatter", axis=c.axis())


op.convert((13, 16), (16, 18))(lambda c: c.same())


@op.convert((18, 16))
def to_16(c: Change) -> Converted:
    if c.t.attributes["reduction"] not in ("none", "add", "mul"):
        c.refuse(f"reductions there are add and mul, and the node has {c.t.attributes['reduction']!r}")
    return c.same()


@op.convert((16, 13))
def to_13(c: Change) -> Converted:
    """Without a reduction updates replace."""
    if c.t.attributes["reduction"] != "none":
        c.refuse(f"there is no reduction there, and the node has {c.t.attributes['reduction']!r}")
    return c.same(drop=("reduction",))


def target(data: Array, indices: Array, updates: Array, axis: int) -> tuple[Array, ...]:
    """Where the updates go; raises EvaluationError for shapes and indices that do not fit."""
    if indices.shape != updates.shape or indices.ndim != data.ndim:
        shapes = f"data {list(data.shape)}, indices {list(indices.shape)}, updates {list(updates.shape)}"
        raise EvaluationError(f"{shapes}: one rank, and one shape of indices and updates are wanted")
    axis = axis_of(axis, data.ndim)
    if any(n > size for i, (n, size) in enumerate(zip(indices.shape, data.shape, strict=True)) if i != axis):
        raise EvaluationError(
            f"indices of shape {list(indices.shape)} reach out of data of shape {list(data.shape)} beside axis {axis}"
        )
    return along(from_front(indices, data.shape[axis]), axis)
