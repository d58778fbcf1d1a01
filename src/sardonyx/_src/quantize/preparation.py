"""Copies of models in the versions that a scheme writes."""

from __future__ import annotations

from sardonyx._src.convert.conversion import convert
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model

CONSTANTS_ARE_NO_INPUTS = 4  # the first IR version with initializers that are no inputs
# The element types that operators of quantization have from a version of ai.onnx on.
ELEMENT_TYPES = {21: DataType.INT4, 19: DataType.FLOAT8E4M3FN}


def prepare(model: Model, operator_set: int) -> Model:
    """A copy of the model, of at least this version of ai.onnx, and of an IR version that has the element types of it."""
    result = model.copy()
    if model.opset_imports.get("", operator_set) < operator_set:
        result = without_constant_inputs(convert(model, operator_set), model.ir_version)
    types = [dtype for first, dtype in ELEMENT_TYPES.items() if operator_set >= first]
    return in_ir_version(result, max((dtype.ir_version for dtype in types), default=1))


def in_ir_version(model: Model, ir_version: int) -> Model:
    """The model, of at least this IR version."""
    if model.ir_version >= ir_version:
        return model
    result = model.copy()
    result.ir_version = ir_version
    return without_constant_inputs(result, model.ir_version)


def without_constant_inputs(model: Model, ir_version: int) -> Model:
    """The model, whose weights are no inputs if they were in its original IR version because that required it.

    Later versions would let runs replace them.
    """
    if ir_version < CONSTANTS_ARE_NO_INPUTS <= model.ir_version:
        for value in [value for value in model.graph.inputs if value.initializer is not None]:
            model.graph.remove_input(value)
    return model
