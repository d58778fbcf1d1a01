"""ScatterND: replaces entries or slices of a tensor, each at a tuple of indices.

Spec: ai.onnx ScatterND-11, -13, -16, -18.  16 adds `reduction` with add and mul, 18 max and min; 13 and 16 add element
types.  Without a reduction, equal tuples are forbidden; here the last update wins.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import merge_shapes
from sardonyx._src.ops.tensor.elements import elements, restore_element_type
from sardonyx._src.ops.tensor.indexing import check_tuples, row_major
from sardonyx._src.ops.tensor.scattering import SCATTER_REDUCTIONS, scatter_updates
from sardonyx._src.ops.traits import enum_values_by_version
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "ScatterND",
    tolerance="rounding",
    moves_data="without_reduction",
    computes_in_float32=True,
    enum_attributes={"reduction": enum_values_by_version(SCATTER_REDUCTIONS)},
)


@op.infer(11, 13, 16, 18)
def infer(inference: Inference) -> Result:
    data, indices, updates = inference.shape(0), inference.shape(1), inference.shape(2)
    if data is None or indices is None:
        return inference.tensor(0)
    if not indices:
        inference.fail("indices must have rank >= 1 ([..., k]); got a scalar")
    depth = indices[-1]
    if isinstance(depth, int):
        if depth > len(data):
            inference.fail(
                f"index tuples must have at most {len(data)} entries, the rank of data; got {depth}"
            )
        merge_shapes(
            inference, [updates, (*indices[:-1], *data[depth:])], "updates and the slices that they replace"
        )
        check_tuples(inference, inference.constant(1), data[:depth])
    return inference.tensor(0)


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
        return eval_11(data.astype(np.result_type(data, updates)), indices, updates)
    except EvaluationError as error:
        inference.fail(error.why)


@op.eval(11, 13)
def eval_11(data: Array, indices: Array, updates: Array) -> Array:
    return scatter_tuples(data, indices, updates, "none", 16)


@op.eval(16, 18)
def eval_16(data: Array, indices: Array, updates: Array, *, reduction: str, context: RunContext) -> Array:
    return scatter_tuples(data, indices, updates, reduction, context.version)


op.convert((13, 16), (16, 18))(keep)


@op.convert((16, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Drop `reduction`, which must be none."""
    if adapter.inference.attributes["reduction"] != "none":
        adapter.refuse(
            f"reduction must be none for version 13; got {adapter.inference.attributes['reduction']!r}"
        )
    return adapter.same(drop=("reduction",))


@op.convert((18, 16))
def to_16(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.attributes["reduction"] not in ("none", "add", "mul"):
        adapter.refuse(
            f"reduction must be none, add or mul for version 16; got {adapter.inference.attributes['reduction']!r}"
        )
    return adapter.same()


def scatter_tuples(data: Array, indices: Array, updates: Array, reduction: str, version: int) -> Array:
    """data, result: [d1, ..., dk, *rest]; indices: [..., k] int64; updates: [..., *rest]."""
    if indices.ndim == 0 or indices.shape[-1] > data.ndim:
        what = f"indices must be [..., k] with k <= {data.ndim}, the rank of data; got {list(indices.shape)}"
        raise EvaluationError(what)
    indexed, rest = data.shape[: indices.shape[-1]], data.shape[indices.shape[-1] :]
    if updates.shape != indices.shape[:-1] + rest:
        expected = list(indices.shape[:-1] + rest)
        raise EvaluationError(f"updates must have shape {expected}; got {list(updates.shape)}")
    positions = row_major(indices, indexed).reshape(-1)
    flat = data.reshape(math.prod(indexed), *rest)
    result = scatter_updates(flat, (positions,), updates.reshape(positions.size, *rest), reduction, version)
    return result.reshape(data.shape)
