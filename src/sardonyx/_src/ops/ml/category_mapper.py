"""CategoryMapper: strings to integers or integers to strings, by two parallel lists.

Spec: ai.onnx.ml CategoryMapper-1.  The type of the input tells the direction; of several equal keys the last one counts.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import chosen, positions, texts

op = Operator("CategoryMapper", "ai.onnx.ml")


@op.infer(1)
def infer(t: Inference) -> Result:
    strings, integers = (count(t.attributes, name) for name in ("cats_strings", "cats_int64s"))
    if strings != integers:
        t.fail(f"{strings} cats_strings and {integers} cats_int64s are given, where pairs are wanted")
    dtype = t.dtype(0)
    if dtype is None:
        return None
    return TensorType(DataType.INT64 if dtype is DataType.STRING else DataType.STRING, t.shape(0))


@op.eval(1)
def evaluate(
    X: Array,
    *,
    cats_strings: tuple[str, ...] = (),
    cats_int64s: tuple[int, ...] = (),
    default_string: str,
    default_int64: int,
) -> Array:
    """X, result: any shape; int64 for strings, strings for int64."""
    if len(cats_strings) != len(cats_int64s):
        what = f"{len(cats_strings)} cats_strings and {len(cats_int64s)} cats_int64s are given"
        raise EvaluationError(f"{what}, where pairs are wanted")
    strings, integers = texts(cats_strings), np.array(cats_int64s, np.int64)
    if X.dtype.kind == "O":
        return chosen(positions(X, strings, last=True), integers, default_int64)
    return chosen(positions(X, integers, last=True), strings, default_string)
