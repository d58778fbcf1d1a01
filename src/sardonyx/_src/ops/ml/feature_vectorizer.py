"""FeatureVectorizer: the rows of all inputs concatenated, as float32.

Spec: ai.onnx.ml FeatureVectorizer-1.  Rows longer or shorter than `inputdimensions` are truncated or padded with
zeros; without that attribute they keep their length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_add
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import rows
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.support.body_text import element_type, rank_of, vector
from sardonyx._src.ops.support.shapes import element_count, merge_dims

op = Operator("FeatureVectorizer", "ai.onnx.ml", tolerance="rounding")


@op.eval(1)
def evaluate(*X: Array, inputdimensions: tuple[int, ...] | None = None, context: RunContext) -> Array:
    """X: [N, C_i] or [C_i] each, result: [N, sum of the sizes]."""
    batches = [rows(x) for x in X]
    sizes = [b.shape[1] for b in batches] if inputdimensions is None else inputdimensions
    if len(sizes) != len(batches) or min(sizes, default=0) < 0:
        raise EvaluationError(
            f"inputdimensions must have {len(batches)} sizes, none negative; got {list(sizes)}"
        )
    if len({len(b) for b in batches}) > 1:
        raise EvaluationError(
            f"the inputs must have the same number of rows; got {[len(b) for b in batches]}"
        )
    count = len(batches[0]) if batches else 0
    check_result_bytes(context, (count, sum(sizes)), np.float32, "FeatureVectorizer result")
    result = np.zeros((count, sum(sizes)), np.float32)
    start = 0
    for b, size in zip(batches, sizes, strict=True):
        copied = min(size, b.shape[1])
        result[:, start : start + copied] = b[:, :copied]
        start += size
    return result


@op.infer(1)
def infer(inference: Inference) -> Result:
    sizes: Sequence[Dim] | None = inference.integers("inputdimensions")
    shapes = [inference.shape(i) for i in range(len(inference.inputs))]
    counts: list[Dim] = [None if s is None else 1 if len(s) == 1 else s[0] if s else None for s in shapes]
    if sizes is None:
        sizes = [None if s is None else element_count(s[-1:] if len(s) == 1 else s[1:]) for s in shapes]
    elif len(sizes) != len(shapes):
        inference.fail(
            f"inputdimensions must have {len(shapes)} elements, one for each input; got {len(sizes)}"
        )
    return TensorType(DataType.FLOAT, (merge_dims(inference, counts, "the numbers of rows"), dim_add(*sizes)))


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    count = len(inference.inputs)
    sizes = inference.integers("inputdimensions")
    if sizes is not None and min(sizes, default=0) < 0:
        inference.fail(f"inputdimensions must not be negative; got {list(sizes)}")
    lines = [
        line for i in range(count) for line in part_text(inference, i, None if sizes is None else sizes[i])
    ]
    names, parts = (", ".join(f"{name}{i}" for i in range(count)) for name in ("X", "part"))
    return f"({names}) => (Y) {{\n" + "\n".join([*lines, f"Y = Concat <axis = 1> ({parts})"]) + "}"


def part_text(inference: Inference, i: int, size: int | None) -> list[str]:
    """`part{i}`: input i as rows of float32, truncated or padded to a size."""
    shape, rank = inference.shape(i), rank_of(inference, i)
    lines = {
        1: [f"axis{i} = {vector([0])}", f"matrix{i} = Unsqueeze(X{i}, axis{i})"],
        2: [f"matrix{i} = Identity(X{i})"],
    }.get(rank, [f"matrix{i} = Flatten <axis = 1> (X{i})"])
    is_float = element_type(inference, i) is DataType.FLOAT
    lines.append(f"whole{i} = {'Identity' if is_float else f'Cast <to = {DataType.FLOAT.value}>'}(matrix{i})")
    length = None if shape is None else element_count(shape[-1:] if len(shape) == 1 else shape[1:])
    if not isinstance(length, int):
        inference.fail("the number of features must be known for a body")
    if size is None or size == length:
        return [*lines, f"part{i} = Identity(whole{i})"]
    if size > length:
        pads = f"pads{i} = {vector([0, 0, 0, size - length])}"
        return [*lines, pads, f"part{i} = Pad(whole{i}, pads{i})"]
    bounds = [f"start{i} = {vector([0])}", f"end{i} = {vector([size])}", f"columns{i} = {vector([1])}"]
    return [*lines, *bounds, f"part{i} = Slice(whole{i}, start{i}, end{i}, columns{i})"]
