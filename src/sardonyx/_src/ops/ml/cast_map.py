"""CastMap: the values of a map as a tensor, in the order of its keys.

Spec: ai.onnx.ml CastMap-1.  In the form DENSE the values follow one another.  In the form SPARSE each value is at the index
of its key, with zeros or empty strings elsewhere, and keys from max_map on are dropped.  Elements are converted as by Cast.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, RuntimeValue, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.maps import element_type, elements
from sardonyx._src.ops.quantization.cast import cast
from sardonyx._src.ops.quantization.conversion import CastRule
from sardonyx._src.ops.traits import enum_values

MAP_FORMS = ("DENSE", "SPARSE")
TARGETS = {"TO_FLOAT": DataType.FLOAT, "TO_STRING": DataType.STRING, "TO_INT64": DataType.INT64}

op = Operator(
    "CastMap",
    "ai.onnx.ml",
    enum_attributes={"cast_to": enum_values(*TARGETS), "map_form": enum_values(*MAP_FORMS)},
)


@op.eval(1)
def evaluate(
    X: dict[int, RuntimeValue], *, cast_to: str, map_form: str, max_map: int, context: RunContext
) -> Array:
    """X: int64 to float or string, result: [1, n], n being the size of the map or max_map."""
    to = TARGETS.get(cast_to)
    if to is None or map_form not in MAP_FORMS:
        raise EvaluationError(
            f"cast_to must be one of {list(TARGETS)} and map_form DENSE or SPARSE; got {cast_to!r} and {map_form!r}"
        )
    ordered = dict(sorted(X.items()))
    values = cast(elements(ordered), to, CastRule())
    if map_form == "DENSE":
        return values.reshape(1, -1)
    if min(ordered, default=0) < 0 or max_map < 0:
        raise EvaluationError(
            f"max_map and the keys must not be negative; got {max_map} and key {min(ordered, default=0)}"
        )
    check_result_bytes(context, (1, max_map), to.numpy, "CastMap result")
    result: Array = np.full((1, max_map), "" if to is DataType.STRING else 0, to.numpy)
    keys = np.array(list(ordered), np.int64)
    result[0, keys[keys < max_map]] = values[keys < max_map]
    return result


@op.infer(1)
def infer(inference: Inference) -> Result:
    element_type(inference)
    to = TARGETS.get(str(inference.attributes["cast_to"]))
    if to is None:
        inference.fail(f"cast_to must be one of {list(TARGETS)}; got {inference.attributes['cast_to']!r}")
    return TensorType(
        to,
        (
            1,
            inference.integer("max_map")
            if inference.attributes["map_form"] == "SPARSE"
            else inference.new_dim(),
        ),
    )
