"""Calls of infer facets, which are the functions that infer output types: element types are checked before, sizes after."""

from __future__ import annotations

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.memo_cache import OutputTypes
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import OPERAND_ERRORS
from sardonyx._src.ops.element_types import find_type_mismatch


def call_infer_facet(context: NodeInferenceContext, plan: InferencePlan) -> OutputTypes:
    """The output types of a node; raises InferenceError if its operator rejects it or a size is invalid."""
    assert plan.infer is not None, f"{context.op_type} has no infer facet"
    check_element_types(context, plan)
    try:
        types = plan.infer(context)
    except OPERAND_ERRORS as error:
        inputs = ", ".join(str(type or "?") for type in context.inputs)
        raise InferenceError(f"{context.op_type}: {error} (inputs: {inputs})") from error
    result = OutputTypes(types, context.equal_dims)
    for type_ in result.types:
        if isinstance(type_, TensorType) and type_.shape and any(is_invalid_size(dim) for dim in type_.shape):
            raise InferenceError(
                f"{context.op_type} output sizes must be in the range from 0 to 2^63 - 1; got {type_}"
            )
    return result


def check_element_types(context: NodeInferenceContext, plan: InferencePlan) -> None:
    """Raises InferenceError for element types that the signature of this version does not allow.

    They must be checked, since facets and kernels, which several versions share, might accept them.
    """
    dtypes = [type_.dtype if isinstance(type_, TensorType) else None for type_ in context.inputs]
    if why := find_type_mismatch(plan.schema, dtypes):
        context.fail(why, about="element type")


def is_of_known_size(type_: Type | None, is_given: bool) -> bool:
    """Whether an input is omitted or a tensor whose dims are all numbers."""
    if not is_given:
        return True
    return (
        isinstance(type_, TensorType)
        and type_.shape is not None
        and all(isinstance(d, int) for d in type_.shape)
    )


def is_invalid_size(dim: Dim) -> bool:
    return isinstance(dim, int) and not 0 <= dim < 1 << 63
