"""OneHotEncoder: a new last axis with a one at the place of each element's category.

Spec: ai.onnx.ml OneHotEncoder-1.  Floats lose their fraction first; of several equal categories the last one counts.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import positions, texts
from sardonyx._src.ops.quantization.conversion import Rule, convert

op = Operator("OneHotEncoder", "ai.onnx.ml")


@op.infer(1)
def infer(t: Inference) -> Result:
    given = [name for name in ("cats_int64s", "cats_strings") if t.attributes.get(name)]
    if len(given) != 1:
        t.fail(f"{' and '.join(given) or 'no categories'} given, where exactly one cats_* is wanted")
    name = "cats_strings" if t.dtype(0) is DataType.STRING else "cats_int64s"
    dtype = t.dtype(0)
    if dtype is not None and given != [name]:
        t.fail(f"{given[0]} given for elements of {dtype.text}, which are looked up in {name}")
    shape = t.shape(0)
    if shape is None or dtype is None:
        return TensorType(DataType.FLOAT)
    return TensorType(DataType.FLOAT, (*shape, count(t.attributes, name)))


@op.eval(1)
def evaluate(
    X: Array,
    *,
    cats_int64s: tuple[int, ...] = (),
    cats_strings: tuple[str, ...] = (),
    zeros: int,
    call: Call,
) -> Array:
    """X: any shape, result: its shape and the number of categories, float32."""
    if X.dtype.kind == "O":
        categories = texts(cats_strings)
    else:
        categories, X = np.array(cats_int64s, np.int64), convert(X, DataType.INT64, Rule())
    places = positions(X, categories, last=True)
    unknown = places < 0
    if not zeros and unknown.any():
        raise EvaluationError(
            f"{X[unknown].tolist()[0]!r} is none of the categories, and zeros=0 wants every element to be one"
        )
    claim(call, (*X.shape, len(categories)), np.float32, "OneHotEncoder result")
    return (places[..., np.newaxis] == np.arange(len(categories))).astype(np.float32)
