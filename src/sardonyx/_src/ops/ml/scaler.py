"""Scaler: (x - offset) * scale, for each feature.

Spec: ai.onnx.ml Scaler-1.  A list that is left out changes nothing.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET, cast_text, list_text, narrow_text
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.support.body_text import element_type

op = Operator("Scaler", "ai.onnx.ml", tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    lengths = [len(v) for v in map(inference.attributes.get, ("offset", "scale")) if isinstance(v, tuple)]
    if len(set(lengths)) > 1:
        inference.fail(f"offset and scale must be of one length; got {lengths[0]} and {lengths[1]}")
    for name in ("offset", "scale"):
        values = inference.attributes.get(name)
        if (
            isinstance(values, tuple)
            and shape
            and isinstance(shape[-1], int)
            and len(values) not in (1, shape[-1])
        ):
            inference.fail(f"{name} must have one element or {shape[-1]}; got {len(values)}")
    return TensorType(DataType.FLOAT, shape)


@op.eval(1)
def evaluate(
    X: Array, *, offset: tuple[float, ...] | None = None, scale: tuple[float, ...] | None = None
) -> Array:
    """X: [..., F], result: the same shape, float32; the lists have F elements, or one for all features."""
    if offset is not None and scale is not None and len(offset) != len(scale):
        raise EvaluationError(f"offset and scale must be of one length; got {len(offset)} and {len(scale)}")
    x: Array = X.astype(np.float32 if X.dtype == np.float32 else np.float64)
    with np.errstate(all="ignore"):
        if offset is not None:
            x = x - by_feature(offset, x, "offset")
        if scale is not None:
            x = x * by_feature(scale, x, "scale")
        return x.astype(np.float32)


def by_feature(values: tuple[float, ...], x: Array, name: str) -> Array:
    if len(values) == 1:
        return np.array(values[0], x.dtype)
    if x.ndim == 0 or len(values) != x.shape[-1]:
        raise EvaluationError(
            f"{name} must have one element, or one for each feature of {list(x.shape)}; got {len(values)}"
        )
    return np.array(values, x.dtype)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    lines, source = [cast_text(inference, "X", "x", element_type(inference))], "x"
    for name, operator in (("offset", "Sub"), ("scale", "Mul")):
        if (length := count(inference.attributes, name)) == 0:
            continue
        check_features(inference, name, length)
        lines.append(list_text(inference, f"{name}_values", name, () if length == 1 else None))
        lines.append(f"after_{name} = {operator}({source}, {name}_values)")
        source = f"after_{name}"
    lines.append(narrow_text(inference, source, "Y"))
    return "(X) => (Y) {\n" + "\n".join(lines) + "}"


def check_features(inference: Inference, name: str, length: int) -> None:
    """Raises InferenceError unless a list is known to have one element or one for each feature."""
    shape = inference.shape(0)
    if length != 1 and (not shape or shape[-1] != length):
        inference.fail(f"the number of features must be known for a body with a list {name}")
