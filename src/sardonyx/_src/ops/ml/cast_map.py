"""CastMap: the values of a map as a tensor, in the order of its keys.

Spec: ai.onnx.ml CastMap-1.  Dense: one after the other.  Sparse: each at the place that its key names, among zeros or
empty strings; keys from max_map on have no place and are left out.  Elements are converted as Cast does it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, RuntimeValue, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.maps import element_type, elements
from sardonyx._src.ops.quantization.cast import cast
from sardonyx._src.ops.quantization.conversion import Rule

op = Operator("CastMap", "ai.onnx.ml")
TARGETS = {"TO_FLOAT": DataType.FLOAT, "TO_STRING": DataType.STRING, "TO_INT64": DataType.INT64}


@op.eval(1)
def evaluate(X: dict[int, RuntimeValue], *, cast_to: str, map_form: str, max_map: int, call: Call) -> Array:
    """X: int64 to float or string, result: [1, n], n being the size of the map or max_map."""
    to = TARGETS.get(cast_to)
    if to is None or map_form not in ("DENSE", "SPARSE"):
        raise EvaluationError(
            f"cast_to is {cast_to!r} and map_form {map_form!r}, where {list(TARGETS)} and DENSE or SPARSE are known"
        )
    ordered = dict(sorted(X.items()))
    values = cast(elements(ordered), to, Rule())
    if map_form == "DENSE":
        return values.reshape(1, -1)
    if min(ordered, default=0) < 0 or max_map < 0:
        raise EvaluationError(
            f"max_map is {max_map} and the lowest key {min(ordered, default=0)}, where neither may be negative"
        )
    claim(call, (1, max_map), to.numpy, "CastMap result")
    result: Array = np.full((1, max_map), "" if to is DataType.STRING else 0, to.numpy)
    keys = np.array(list(ordered), np.int64)
    result[0, keys[keys < max_map]] = values[keys < max_map]
    return result


@op.infer(1)
def infer(t: Inference) -> Result:
    element_type(t)
    to = TARGETS.get(str(t.attributes["cast_to"]))
    if to is None:
        t.fail(f"cast_to is {t.attributes['cast_to']!r}, where {list(TARGETS)} are known")
    return TensorType(to, (1, t.integer("max_map") if t.attributes["map_form"] == "SPARSE" else t.new_dim()))
