"""FeatureVectorizer: the rows of all inputs one behind the other, as float32.

Spec: ai.onnx.ml FeatureVectorizer-1.  Rows that are longer or shorter than `inputdimensions` says are cut or filled up
with zeros; without that attribute they stay as long as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import rows
from sardonyx._src.ops.shapes import merge_dims, product

op = Operator("FeatureVectorizer", "ai.onnx.ml", tolerance="rounding")


@op.eval(1)
def evaluate(*X: Array, inputdimensions: tuple[int, ...] | None = None, call: Call) -> Array:
    """X: [N, C_i] or [C_i] each, result: [N, sum of the sizes]."""
    batches = [rows(x) for x in X]
    sizes = [b.shape[1] for b in batches] if inputdimensions is None else inputdimensions
    if len(sizes) != len(batches) or min(sizes, default=0) < 0:
        raise EvaluationError(f"inputdimensions {list(sizes)} do not fit {len(batches)} inputs")
    if len({len(b) for b in batches}) > 1:
        raise EvaluationError(
            f"the inputs have {[len(b) for b in batches]} rows, where the same number is wanted"
        )
    count = len(batches[0]) if batches else 0
    claim(call, (count, sum(sizes)), np.float32, "FeatureVectorizer result")
    result = np.zeros((count, sum(sizes)), np.float32)
    start = 0
    for b, size in zip(batches, sizes, strict=True):
        taken = min(size, b.shape[1])
        result[:, start : start + taken] = b[:, :taken]
        start += size
    return result


@op.infer(1)
def infer(t: Inference) -> Result:
    sizes: Sequence[Dim] | None = t.integers("inputdimensions")
    shapes = [t.shape(i) for i in range(len(t.inputs))]
    counts: list[Dim] = [None if s is None else 1 if len(s) == 1 else s[0] if s else None for s in shapes]
    if sizes is None:
        sizes = [None if s is None else product(s[-1:] if len(s) == 1 else s[1:]) for s in shapes]
    elif len(sizes) != len(shapes):
        t.fail(f"inputdimensions has {len(sizes)} elements for {len(shapes)} inputs")
    return TensorType(DataType.FLOAT, (merge_dims(t, counts, "the numbers of rows"), dim_add(*sizes)))
