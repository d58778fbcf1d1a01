"""Map values at run time: from keys to tensors of one element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, MapType, TensorType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.inference import Inference


def elements(X: Mapping[int, RuntimeValue] | Mapping[str, RuntimeValue]) -> Array:
    """The values of a map in its order: [n]; float32 for an empty map."""
    values = [np.asarray(v) for v in X.values()]
    for value in values:
        if value.size != 1:
            raise EvaluationError(f"a value of the map must have one element; got shape {list(value.shape)}")
    result: Array = np.empty(len(values), values[0].dtype if values else np.float32)
    result[:] = [v.reshape(-1)[0] for v in values]
    return result


def element_type(inference: Inference) -> DataType | None:
    """The element type of the values of input 0; raises InferenceError if it is not a map."""
    type = inference.type(0)
    if type is None:
        return None
    if not isinstance(type, MapType):
        inference.fail(f"input 0 must be a map; got {type}")
    return type.value.dtype if isinstance(type.value, TensorType) else None
