"""ScatterND: entries or whole parts of a tensor replaced, each at a tuple of indices.

Spec: ai.onnx ScatterND-11, -13, -16, -18.  16 adds `reduction` with add and mul, 18 max and min; 13 and 16 add element
types.  Without a reduction equal tuples are forbidden; the last update wins.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import merge_shapes
from sardonyx._src.ops.tensor.elements import elements, settled
from sardonyx._src.ops.tensor.indexing import check_tuples, row_major
from sardonyx._src.ops.tensor.scattering import scattered

op = Operator("ScatterND", tolerance="rounding")


@op.infer(11, 13, 16, 18)
def infer(t: Inference) -> Result:
    data, indices, updates = t.shape(0), t.shape(1), t.shape(2)
    if data is None or indices is None:
        return t.tensor(0)
    if not indices:
        t.fail("indices are a scalar, where tuples along a last axis are wanted")
    depth = indices[-1]
    if isinstance(depth, int):
        if depth > len(data):
            t.fail(f"tuples of {depth} indices, where data has rank {len(data)}")
        merge_shapes(t, [updates, (*indices[:-1], *data[depth:])], "updates and what they replace")
        check_tuples(t, t.constant(1), data[:depth])
    return t.tensor(0)


@op.value(11, 13, 16, 18)
@settled
def value(t: Inference) -> Known | None:
    data, indices, updates = elements(t, 0), t.constant(1), elements(t, 2)
    if data is None or indices is None or updates is None or t.attributes.get("reduction", "none") != "none":
        return None
    try:
        return eval_11(data.astype(np.result_type(data, updates)), indices, updates)
    except EvaluationError as error:
        t.fail(error.why)


@op.eval(11, 13)
def eval_11(data: Array, indices: Array, updates: Array) -> Array:
    return written(data, indices, updates, "none", 16)


@op.eval(16, 18)
def eval_16(data: Array, indices: Array, updates: Array, *, reduction: str, call: Call) -> Array:
    return written(data, indices, updates, reduction, call.version)


op.convert((13, 16), (16, 18))(lambda c: c.same())


@op.convert((16, 13))
def to_13(c: Change) -> Converted:
    """Without a reduction updates replace."""
    if c.t.attributes["reduction"] != "none":
        c.refuse(f"there is no reduction there, and the node has {c.t.attributes['reduction']!r}")
    return c.same(drop=("reduction",))


@op.convert((18, 16))
def to_16(c: Change) -> Converted:
    if c.t.attributes["reduction"] not in ("none", "add", "mul"):
        c.refuse(f"reductions there are add and mul, and the node has {c.t.attributes['reduction']!r}")
    return c.same()


def written(data: Array, indices: Array, updates: Array, reduction: str, version: int) -> Array:
    """data, result: [d1...dk, rest]; indices: [..., k] int64; updates: [..., rest]."""
    if indices.ndim == 0 or indices.shape[-1] > data.ndim:
        what = f"indices of shape {list(indices.shape)}, where tuples of at most {data.ndim} along the last axis are wanted"
        raise EvaluationError(what)
    picking, rest = data.shape[: indices.shape[-1]], data.shape[indices.shape[-1] :]
    if updates.shape != indices.shape[:-1] + rest:
        wanted = list(indices.shape[:-1] + rest)
        raise EvaluationError(f"updates have shape {list(updates.shape)}, where {wanted} is wanted")
    places = row_major(indices, picking).reshape(-1)
    flat = data.reshape(math.prod(picking), *rest)
    result = scattered(flat, (places,), updates.reshape(places.size, *rest), reduction, version)
    return result.reshape(data.shape)
