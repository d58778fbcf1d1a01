"""ScatterElements, first named Scatter: replaces one element of data for each update.

Spec: ai.onnx Scatter-9, -11 (deprecated); ScatterElements-11, -13, -16, -18.  The replaced element is at the update's
index along `axis`, and at the update's own position in the other axes.  16 adds `reduction` with add and mul, 18 max
and min; 13 and 16 add element types.  Without a reduction, equal indices are forbidden; here the last update wins.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import axis_of, merge_shapes
from sardonyx._src.ops.tensor.elements import elements, restore_element_type
from sardonyx._src.ops.tensor.indexing import along, check_bounds, from_front, non_negative
from sardonyx._src.ops.tensor.scattering import SCATTER_REDUCTIONS, scatter_updates
from sardonyx._src.ops.traits import enum_values_by_version
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "ScatterElements",
    tolerance="rounding",
    about="replaces entries of one axis, or combines them with updates, each by an index at its own position.",
    moves_data="without_reduction",
    computes_in_float32=True,
    enum_attributes={"reduction": enum_values_by_version(SCATTER_REDUCTIONS)},
)
scatter = Operator(
    "Scatter", about="replaces entries of one axis, each by an index; superseded by ScatterElements."
)


@scatter.infer(9, 11)
@op.infer(11, 13, 16, 18)
def infer(inference: Inference) -> Result:
    data, updates = (
        inference.shape(0),
        merge_shapes(inference, [inference.shape(1), inference.shape(2)], "indices and updates"),
    )
    if data is not None and updates is not None and len(data) != len(updates):
        inference.fail(f"data and updates must have the same rank; got {len(data)} and {len(updates)}")
    if data is not None:
        axis = inference.axis(inference.integer("axis"), len(data))
        check_bounds(inference, inference.constant(1), data[axis])
        for i, (size, count) in enumerate(zip(data, updates or (None,) * len(data), strict=True)):
            if i != axis and isinstance(size, int) and isinstance(count, int) and count > size:
                inference.fail(f"indices must have at most {size} entries along axis {i}; got {count}")
    return inference.tensor(0)


@scatter.value(9, 11)
@op.value(11, 13, 16, 18)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data, indices, updates = elements(inference, 0), inference.constant(1), elements(inference, 2)
    if (
        data is None
        or indices is None
        or updates is None
        or inference.attributes.get("reduction", "none") != "none"
    ):
        return None
    try:
        return eval_11(
            data.astype(np.result_type(data, updates)), indices, updates, axis=inference.integer("axis")
        )
    except EvaluationError as error:
        inference.fail(error.why)


@scatter.eval(9, 11)
@op.eval(11, 13)
def eval_11(data: Array, indices: Array, updates: Array, *, axis: int) -> Array:
    """data, result: [..., n, ...]; indices, updates: of one shape and the rank of data."""
    return scatter_updates(data, update_positions(data, indices, updates, axis), updates)


@op.eval(16, 18)
def eval_16(
    data: Array, indices: Array, updates: Array, *, axis: int, reduction: str, context: RunContext
) -> Array:
    return scatter_updates(
        data, update_positions(data, indices, updates, axis), updates, reduction, context.version
    )


@scatter.convert((9, 11))
def rename_to_scatter_elements(adapter: Adapter) -> AdaptedNode:
    return adapter.same(op_type="ScatterElements")


@op.convert((11, 0))
def rename_to_scatter(adapter: Adapter) -> AdaptedNode:
    """Scatter-9, which has no negative axis and no negative indices."""
    return adapter.same(
        [adapter.input(0), non_negative(adapter, 1, adapter.axis()), adapter.input(2)],
        op_type="Scatter",
        axis=adapter.axis(),
    )


op.convert((13, 16), (16, 18))(keep)


@op.convert((18, 16))
def to_16(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.attributes["reduction"] not in ("none", "add", "mul"):
        adapter.refuse(
            f"reduction must be none, add or mul for version 16; got {adapter.inference.attributes['reduction']!r}"
        )
    return adapter.same()


@op.convert((16, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Drop `reduction`, which must be none."""
    if adapter.inference.attributes["reduction"] != "none":
        adapter.refuse(
            f"reduction must be none for version 13; got {adapter.inference.attributes['reduction']!r}"
        )
    return adapter.same(drop=("reduction",))


def update_positions(data: Array, indices: Array, updates: Array, axis: int) -> tuple[Array, ...]:
    """The positions of the updates; raises EvaluationError for inconsistent shapes or indices out of bounds."""
    if indices.shape != updates.shape or indices.ndim != data.ndim:
        shapes = f"{list(data.shape)}, {list(indices.shape)} and {list(updates.shape)}"
        raise EvaluationError(
            f"indices and updates must have one shape, of the rank of data; got data, indices, updates {shapes}"
        )
    axis = axis_of(axis, data.ndim)
    if any(n > size for i, (n, size) in enumerate(zip(indices.shape, data.shape, strict=True)) if i != axis):
        raise EvaluationError(
            f"indices must not exceed data {list(data.shape)} except along axis {axis}; got {list(indices.shape)}"
        )
    return along(from_front(indices, data.shape[axis]), axis)
