"""Imputer: elements of one value, mostly a mark for a missing one, replaced.

Spec: ai.onnx.ml Imputer-1.  Integers use the attributes of integers, floats those of floats; NaN can be replaced, too.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count

op = Operator("Imputer", "ai.onnx.ml")


@op.infer(1)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    if found is None:
        return None
    name = "imputed_value_floats" if found.dtype.is_float else "imputed_value_int64s"
    shape = found.shape
    features: Dim = None if shape is None else shape[-1] if shape else 1
    given = count(t.attributes, name)
    if given not in (1, features) and (given == 0 or isinstance(features, int)):
        t.fail(f"{name} has {given} elements for {found}; 1 or one for each feature are wanted")
    return TensorType(found.dtype, found.shape)


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
            f"{name} has {len(values)} elements for X of shape {list(X.shape)}, 1 or one for each feature are wanted"
        )
    replaced = replaced_value_float if is_float else replaced_value_int64
    missing = np.isnan(X) if replaced != replaced else replaced == X
    return np.where(missing, np.array(values if X.ndim else values[0], X.dtype), X)
