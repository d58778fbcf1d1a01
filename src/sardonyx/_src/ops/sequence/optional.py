"""Optional, OptionalHasElement, OptionalGetElement: a value that may be missing.

Spec: ai.onnx Optional-15, -28; OptionalHasElement-15, -18, -28; OptionalGetElement-15, -18, -28.  From version 18 on
tensors and sequences stand for optionals that have an element, and OptionalHasElement may be asked without input; 28
added element types.  A run holds an optional as its element, or as None.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import OptionalType, TensorType, Type
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result

optional = Operator("Optional", about="a value that may be missing, made of an element or of none.")
has_element = Operator("OptionalHasElement", about="whether a value that may be missing is there.")
get_element = Operator("OptionalGetElement", about="the element of a value that may be missing.")


@optional.infer(15, 28)
def infer_optional(t: Inference) -> Result:
    declared = t.attributes.get("type")
    if not t.has(0) and declared is None:
        t.fail("neither an input nor the attribute `type` is given")
    if t.has(0) and t.type(0) is not None:
        return OptionalType(t.type(0))
    assert declared is None or isinstance(declared, Type), "the attribute `type` is a type"
    return OptionalType(declared)


@optional.eval(15, 28)
def evaluate_optional(input: RuntimeValue = None, *, type: Type | None = None) -> RuntimeValue:
    """The input, or an empty optional whose element would be of `type`."""
    if input is None and type is None:
        raise EvaluationError("neither an input nor the attribute `type` is given")
    return input


@has_element.infer(15, 18, 28)
def infer_has_element(t: Inference) -> Result:
    return TensorType(DataType.BOOL, ())


@has_element.eval(15, 18, 28)
def evaluate_has_element(input: RuntimeValue = None) -> Array:
    return np.array(input is not None)


@get_element.infer(15, 18, 28)
def infer_get_element(t: Inference) -> Result:
    found = t.type(0)
    return found.elem if isinstance(found, OptionalType) else found


@get_element.eval(15, 18, 28)
def evaluate_get_element(input: RuntimeValue) -> RuntimeValue:
    """The element; raises EvaluationError for an empty optional."""
    if input is None:
        raise EvaluationError("the optional is empty: it has no element")
    return input
