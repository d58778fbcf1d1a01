"""CategoryMapper: strings to integers or integers to strings, by two parallel lists.

Spec: ai.onnx.ml CategoryMapper-1.  The type of the input selects the direction; of equal keys the last one counts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import find_positions, map_strings, string_vector, take_or_default

op = Operator("CategoryMapper", "ai.onnx.ml", string_keys=("cats_strings",))


@op.infer(1)
def infer(inference: Inference) -> Result:
    strings, integers = (count(inference.attributes, name) for name in ("cats_strings", "cats_int64s"))
    if strings != integers:
        inference.fail(f"cats_strings and cats_int64s must be of one length; got {strings} and {integers}")
    dtype = inference.dtype(0)
    if dtype is None:
        return None
    return TensorType(DataType.INT64 if dtype is DataType.STRING else DataType.STRING, inference.shape(0))


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
        lengths = f"{len(cats_strings)} and {len(cats_int64s)}"
        raise EvaluationError(f"cats_strings and cats_int64s must be of one length; got {lengths}")
    if X.dtype.kind == "O":
        return map_strings(X, category_integers(cats_strings, cats_int64s), default_int64)
    strings, integers = string_vector(cats_strings), np.array(cats_int64s, np.int64)
    return take_or_default(find_positions(X, integers, last=True), strings, default_string)


@lru_cache(maxsize=256)
def category_integers(strings: tuple[str, ...], integers: tuple[int, ...]) -> dict[str, int]:
    """The integer of each string; for a repeated string, the last one."""
    return dict(zip(strings, integers, strict=True))
