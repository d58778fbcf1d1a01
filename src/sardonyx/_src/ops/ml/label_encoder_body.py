"""The function body of LabelEncoder for numbers, if the keys are integers in a small range.

It is a table with an entry for each integer of the range, which is the default for integers that are no key.  All other
elements read the entry after them, which is the default, too.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.ml.label_encoder import UNMATCHED_VALUES, check_table, op, single, table_of
from sardonyx._src.ops.support.body_text import element_type, scalar

MAX_SPAN = 1024  # the largest range of the keys


@op.body(2, 4, opset=OPSET)
def body(inference: Inference) -> str:
    dtype = element_type(inference)
    keys, values = tables(inference, dtype)
    first, last = int(keys.min()), int(keys.max())
    if last - first >= MAX_SPAN:
        inference.fail(f"a body is known for keys in a range of {MAX_SPAN} only; got {first} to {last}")
    table = np.full(last - first + 2, default_of(inference, values.dtype), values.dtype)
    order = range(len(keys)) if inference.version >= 4 else reversed(range(len(keys)))
    for i in order:  # of equal keys the last one counts, before version 4 the first one
        table[int(keys[i]) - first] = values[i]
    return f"""(X) => (Y) {{
      first = {scalar(first, dtype)}
      last = {scalar(last, dtype)}
      is_from_first = GreaterOrEqual(X, first)
      is_to_last = LessOrEqual(X, last)
      is_inside = And(is_from_first, is_to_last)
      {candidate_text(inference, dtype, keys)}
      integers = {"Identity" if dtype is DataType.INT64 else f"Cast <to = {DataType.INT64.value}>"}(X)
      start = {scalar(first, DataType.INT64)}
      shifted = Sub(integers, start)
      end = {scalar(last - first + 1, DataType.INT64)}
      places = Where(is_candidate, shifted, end)
      table = Constant <value = {DataType.of(table.dtype).text}[{len(table)}] {{{", ".join(map(repr, table.tolist()))}}}> ()
      Y = Gather(table, places)
    }}"""


def tables(inference: Inference, dtype: DataType) -> tuple[Array, Array]:
    """The keys and the values; raises InferenceError unless the values are numbers and the keys are whole numbers."""
    try:
        keys, values = table_of(inference.attributes, "keys"), table_of(inference.attributes, "values")
        check_table(dtype.numpy, keys, values)
    except EvaluationError as error:
        inference.fail(error.why)
    if "O" in (keys.dtype.kind, values.dtype.kind) or not len(keys):
        inference.fail("a body is known for numbers only")
    if not np.isfinite(values).all():
        inference.fail("a body is known for finite values only")
    if not (np.isfinite(keys).all() and (keys == np.floor(keys)).all() and not has_negative_zero(keys)):
        inference.fail("a body is known for keys that are whole numbers only")
    return keys, values


def has_negative_zero(keys: Array) -> bool:
    return bool((np.signbit(keys) & (keys == 0)).any())


def default_of(inference: Inference, dtype: np.dtype[np.generic]) -> object:
    """The value of elements that are no key."""
    a, kind = inference.attributes, dtype.kind
    default = a.get("default_tensor")
    if isinstance(default, np.ndarray):
        return single(default, dtype)
    if a.get("values_tensor") is not None:
        return UNMATCHED_VALUES[kind]
    return a.get({"f": "default_float", "i": "default_int64"}[kind])


def candidate_text(inference: Inference, dtype: DataType, keys: Array) -> str:
    """`is_candidate`: where an element in the range may be a key: floats that are whole numbers.

    Before version 4, -0.0 is no key: its reciprocal is -infinity, which is below `lowest`.
    """
    if not dtype.is_float:
        return "is_candidate = Identity(is_inside)"
    whole = "whole = Floor(X)  is_whole = Equal(X, whole)"
    if inference.version >= 4 or 0 not in keys:
        return f"{whole}  is_candidate = And(is_inside, is_whole)"
    return f"""{whole}
      inverse = Reciprocal(X)
      lowest = {scalar(float(np.finfo(dtype.numpy).min), dtype)}
      is_unsigned = GreaterOrEqual(inverse, lowest)
      is_number = And(is_whole, is_unsigned)
      is_candidate = And(is_inside, is_number)"""
