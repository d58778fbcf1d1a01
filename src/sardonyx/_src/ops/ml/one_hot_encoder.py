"""OneHotEncoder: a new last axis with 1 at the index of each element's category.

Spec: ai.onnx.ml OneHotEncoder-1.  Floats lose their fraction first; of several equal categories the last one counts.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import find_positions, string_vector
from sardonyx._src.ops.quantization.conversion import CastRule, convert
from sardonyx._src.ops.support.body_text import element_type, vector

op = Operator("OneHotEncoder", "ai.onnx.ml")


@op.infer(1)
def infer(inference: Inference) -> Result:
    lists = [name for name in ("cats_int64s", "cats_strings") if inference.attributes.get(name)]
    if len(lists) != 1:
        inference.fail(f"one cats_* attribute must be set; got {' and '.join(lists) or 'none'}")
    name = "cats_strings" if inference.dtype(0) is DataType.STRING else "cats_int64s"
    dtype = inference.dtype(0)
    if dtype is not None and lists != [name]:
        inference.fail(f"{name} must be set for elements of {dtype.text}; got {lists[0]}")
    shape = inference.shape(0)
    if shape is None or dtype is None:
        return TensorType(DataType.FLOAT)
    return TensorType(DataType.FLOAT, (*shape, count(inference.attributes, name)))


@op.eval(1)
def evaluate(
    X: Array,
    *,
    cats_int64s: tuple[int, ...] = (),
    cats_strings: tuple[str, ...] = (),
    zeros: int,
    context: RunContext,
) -> Array:
    """X: any shape, result: its shape and the number of categories, float32."""
    if X.dtype.kind == "O":
        categories = string_vector(cats_strings)
    else:
        categories, X = np.array(cats_int64s, np.int64), convert(X, DataType.INT64, CastRule())
    places = find_positions(X, categories, last=True)
    unknown = places < 0
    if not zeros and unknown.any():
        raise EvaluationError(
            f"every element must be a category when zeros=0; got {X[unknown].tolist()[0]!r}"
        )
    check_result_bytes(context, (*X.shape, len(categories)), np.float32, "OneHotEncoder result")
    return (places[..., np.newaxis] == np.arange(len(categories))).astype(np.float32)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    """The last of several equal categories counts: the others equal nothing."""
    dtype, categories = element_type(inference), inference.attributes.get("cats_int64s")
    if dtype is DataType.STRING or not isinstance(categories, tuple):
        inference.fail("a body is known for numbers only")
    if not inference.integer("zeros"):
        inference.fail("a body is known for zeros=1 only: it reports no unknown categories")
    is_last = [int(c not in categories[i + 1 :]) for i, c in enumerate(categories)]
    selected = ""
    if not all(is_last):
        numbers = ", ".join(map(str, is_last))
        selected = f"is_last = Constant <value = bool[{len(is_last)}] {{{numbers}}}> ()"
    return f"""(X) => (Y) {{
      x = {"Identity" if dtype is DataType.INT64 else f"Cast <to = {DataType.INT64.value}>"}(X)
      last_axis = {vector([-1])}
      column = Unsqueeze(x, last_axis)
      categories = Constant <value_ints = @cats_int64s> ()
      is_equal = Equal(column, categories)
      {selected}
      is_category = {"And(is_equal, is_last)" if selected else "Identity(is_equal)"}
      Y = Cast <to = {DataType.FLOAT.value}> (is_category)
    }}"""
