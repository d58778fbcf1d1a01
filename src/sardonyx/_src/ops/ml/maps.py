"""Maps as values of a run: from keys to tensors of one element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import MapType, TensorType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.inference import Inference


def elements(X: Mapping[int, RuntimeValue] | Mapping[str, RuntimeValue]) -> Array:
    """The values of a map in its order: [n]; float32 where there is none to tell the type."""
    values = [np.asarray(v) for v in X.values()]
    for value in values:
        if value.size != 1:
            raise EvaluationError(
                f"a value of the map has shape {list(value.shape)}, where one element is wanted"
            )
    result: Array = np.empty(len(values), values[0].dtype if values else np.float32)
    result[:] = [v.reshape(-1)[0] for v in values]
    return result


def element_type(t: Inference) -> DataType | None:
    """The element type of the values of input 0, a map; raises InferenceError when it is something else."""
    found = t.type(0)
    if found is None:
        return None
    if not isinstance(found, MapType):
        t.fail(f"input 0 is {found}, not a map")
    return found.value.dtype if isinstance(found.value, TensorType) else None
