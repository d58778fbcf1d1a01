"""OneHotEncoder: a new last axis with 1 at the index of each element's category.

Spec: ai.onnx.ml OneHotEncoder-1.  Floats lose their fraction first; of several equal categories the last one counts.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import find_positions, string_vector
from sardonyx._src.ops.quantization.conversion import CastRule, convert
from sardonyx._src.ops.support.body_text import element_type, vector

op = Operator("OneHotEncoder", "ai.onnx.ml", string_keys=("cats_strings",))


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
    """X: any shape, result: the same shape followed by the number of categories, float32."""
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
    """The body compares the index of each element, which is -1 if it is no category, with all indices."""
    dtype = element_type(inference)
    if not inference.integer("zeros"):
        inference.fail("a body is known for zeros=1 only: it reports no unknown categories")
    is_string = dtype is DataType.STRING
    return f"""(X) => (Y) {{
      {string_text(inference) if is_string else number_text(inference, dtype)}
      last_axis = {vector([-1])}
      column = Unsqueeze(x, last_axis)
      is_equal = Equal(column, categories)
      {last_text(inference) if not is_string else "is_category = Identity(is_equal)"}
      Y = Cast <to = {DataType.FLOAT.value}> (is_category)
    }}"""


def number_text(inference: Inference, dtype: DataType) -> str:
    """`x` and `categories`: the elements as integers, and the categories."""
    return f"""x = {"Identity" if dtype is DataType.INT64 else f"Cast <to = {DataType.INT64.value}>"}(X)
      categories = Constant <value_ints = @cats_int64s> ()"""


def string_text(inference: Inference) -> str:
    """`x` and `categories`: the index of each element, the last one of several equal categories, and all indices."""
    size = count(inference.attributes, "cats_strings")
    places = ", ".join(map(str, range(size)))
    attributes = f"cats_strings = @cats_strings, cats_int64s: ints = [{places}], default_int64 = -1"
    return f"""x = ai.onnx.ml.CategoryMapper <{attributes}> (X)
      categories = {vector(range(size))}"""


def last_text(inference: Inference) -> str:
    """`is_category`: `is_equal`, but false for a category that is repeated later in the list."""
    categories = inference.attributes.get("cats_int64s")
    assert isinstance(categories, tuple), "inference checks the lists"
    last_places = {category: i for i, category in enumerate(categories)}
    is_last = [last_places[category] == i for i, category in enumerate(categories)]
    if all(is_last):
        return "is_category = Identity(is_equal)"
    numbers = ", ".join(str(int(flag)) for flag in is_last)
    return f"""is_last = Constant <value = bool[{len(is_last)}] {{{numbers}}}> ()
      is_category = And(is_equal, is_last)"""
