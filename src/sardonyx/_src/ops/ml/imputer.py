"""Imputer: replaces the elements that equal a given value, usually a marker of missing data.

Spec: ai.onnx.ml Imputer-1.  The attributes named int64 are for inputs of integers, and those named float for inputs of
floats; NaN can be replaced, too.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.support.body_text import element_type, scalar

op = Operator("Imputer", "ai.onnx.ml")


@op.infer(1)
def infer(inference: Inference) -> Result:
    type = inference.tensor(0)
    if type is None:
        return None
    name = "imputed_value_floats" if type.dtype.is_float else "imputed_value_int64s"
    shape = type.shape
    features: Dim = None if shape is None else shape[-1] if shape else 1
    length = count(inference.attributes, name)
    if length not in (1, features) and (length == 0 or isinstance(features, int)):
        inference.fail(f"{name} must have one element, or one for each feature of {type}; got {length}")
    return TensorType(type.dtype, type.shape)


@op.eval(1)
def evaluate(
    X: Array,
    *,
    imputed_value_floats: tuple[float, ...] = (),
    imputed_value_int64s: tuple[int, ...] = (),
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Array:
    """X, result: [..., F] of one type; one value for all, or one for each of the F features."""
    is_float = X.dtype.kind == "f"
    values = imputed_value_floats if is_float else imputed_value_int64s
    if len(values) not in (1, X.shape[-1] if X.ndim else 1):
        name = "imputed_value_floats" if is_float else "imputed_value_int64s"
        raise EvaluationError(
            f"{name} must have one element, or one for each feature of X {list(X.shape)}; got {len(values)}"
        )
    replaced = replaced_value_float if is_float else replaced_value_int64
    missing = np.isnan(X) if replaced != replaced else replaced == X
    return np.where(missing, np.array(values if X.ndim else values[0], X.dtype), X)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    dtype, shape = element_type(inference), inference.shape(0)
    name, kind = ("imputed_value_floats", "floats") if dtype.is_float else ("imputed_value_int64s", "ints")
    length = count(inference.attributes, name)
    if length != 1 and (not shape or shape[-1] != length):
        inference.fail(f"the number of features must be known for a body with a list {name}")
    own = DataType.FLOAT if dtype.is_float else DataType.INT64
    single = "none = Constant <value = int64[0] {}> ()  values = Reshape(typed, none)"
    return f"""(X) => (Y) {{
      list = Constant <value_{kind} = @{name}> ()
      typed = {"Identity" if dtype is own else f"Cast <to = {dtype.value}>"}(list)
      {single if length == 1 else "values = Identity(typed)"}
      {missing_text(inference, dtype)}
      Y = Where(is_missing, values, X)
    }}"""


def missing_text(inference: Inference, dtype: DataType) -> str:
    """`is_missing`: whether each element of `X` is the value to be replaced."""
    if not dtype.is_float:
        replaced = int(inference.number("replaced_value_int64"))
        return f"replaced = {scalar(replaced, dtype)}  is_missing = Equal(X, replaced)"
    number = inference.number("replaced_value_float")
    if number != number:
        return "is_missing = IsNaN(X)"
    return f"replaced = {scalar(number, dtype)}  is_missing = Equal(X, replaced)"
