"""Optional, OptionalHasElement, OptionalGetElement: a value that may be missing.

Spec: ai.onnx Optional-15, -28; OptionalHasElement-15, -18, -28; OptionalGetElement-15, -18, -28.  From version 18 on
tensors and sequences are accepted for optionals that have an element, and OptionalHasElement needs no input; 28
added element types.  A run holds an optional as its element, or as None.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, OptionalType, TensorType, Type
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result

optional = Operator("Optional", about="an optional value, from an element or empty.")
has_element = Operator("OptionalHasElement", about="whether an optional value has an element.")
get_element = Operator("OptionalGetElement", about="the element of an optional value.")


@optional.infer(15, 28)
def infer_optional(inference: Inference) -> Result:
    declared = inference.attributes.get("type")
    if not inference.has(0) and declared is None:
        inference.fail("Optional must have an input or the attribute `type`; got neither")
    if inference.has(0) and inference.type(0) is not None:
        return OptionalType(inference.type(0))
    assert declared is None or isinstance(declared, Type), "the attribute `type` is a type"
    return OptionalType(declared)


@optional.eval(15, 28)
def evaluate_optional(input: RuntimeValue = None, *, type: Type | None = None) -> RuntimeValue:
    """The input, or an empty optional whose element would be of `type`."""
    if input is None and type is None:
        raise EvaluationError("Optional must have an input or the attribute `type`; got neither")
    return input


@has_element.infer(15, 18, 28)
def infer_has_element(inference: Inference) -> Result:
    return TensorType(DataType.BOOL, ())


@has_element.eval(15, 18, 28)
def evaluate_has_element(input: RuntimeValue = None) -> Array:
    return np.array(input is not None)


@get_element.infer(15, 18, 28)
def infer_get_element(inference: Inference) -> Result:
    type = inference.type(0)
    return type.elem if isinstance(type, OptionalType) else type


@get_element.eval(15, 18, 28)
def evaluate_get_element(input: RuntimeValue) -> RuntimeValue:
    """The element; raises EvaluationError for an empty optional."""
    if input is None:
        raise EvaluationError("the optional must have an element; got an empty one")
    return input
