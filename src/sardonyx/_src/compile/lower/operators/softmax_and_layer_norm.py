"""Softmax, LogSoftmax, LayerNormalization and RMSNormalization in float32, along dense rows.

A Softmax along the last axis also performs the half-precision rounding of its result.  Falls back to the reference kernel for normalizations
with a used mean or inverse deviation output, and for scales that broadcast.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import FusedEpilogue, fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("Softmax", 13)
@lowers("LogSoftmax", 13)
def lower_softmax(op: BoundNode, lowering: Lowering) -> bool:
    x = op.input(0)
    if (
        x is None
        or not is_float(lowering, x)
        or lowering.shape(op.output) is None
        or not lowering.known_shape(x)
    ):
        return False
    source, axis, is_log = lowering.dense(x), op.attribute("axis", int), op.op_type == "LogSoftmax"
    half_dtype, result = None, op.output
    if axis in (-1, source.rank - 1) and not is_log:
        half_dtype, result = fuse_rounding(lowering, op.output)
    step = softmax_step(source, lowering.allocate_result(result), axis, log=is_log, half=half_dtype)
    assert step is not None, "dense rows have a kernel"
    lowering.emit(step)
    return True


def fuse_rounding(lowering: Lowering, value: Value) -> tuple[DataType | None, Value]:
    """The half-precision type that a result is rounded to, if any, and the value that the kernel computes.

    That is the result of a Cast to half precision and back, which is fused, or the value itself.
    """
    node = lowering.sole_consumer(value)
    if (
        node is None
        or node.op_type != "Cast"
        or (half_dtype := lowering.dtype_of(node.outputs[0])) not in HALF_TYPES
    ):
        return None, value
    upcast = lowering.sole_consumer(node.outputs[0])
    if (
        upcast is None
        or upcast.op_type != "Cast"
        or lowering.dtype_of(upcast.outputs[0]) is not DataType.FLOAT
    ):
        return half_dtype, value
    lowering.lowered.update((node, upcast))
    return half_dtype, upcast.outputs[0]


def is_float(lowering: Lowering, value: Value | None) -> bool:
    return value is not None and lowering.is_native(value) and lowering.dtype_of(value) is DataType.FLOAT


@lowers("LayerNormalization", 17)
@lowers("RMSNormalization", 23)
def lower_layer_normalization(op: BoundNode, lowering: Lowering) -> bool:
    """Normalizes the elements from an axis on; fuses an epilogue if that is the last axis."""
    x, scale, bias = op.input(0), op.input(1), op.input(2)
    if (
        x is None
        or not is_float(lowering, x)
        or op.is_output_used(1)
        or op.is_output_used(2)
        or op.attributes["stash_type"] != 1
    ):
        return False
    shape = lowering.known_shape(x)
    axis = op.attribute("axis", int) % max(len(shape), 1)
    for parameter in (scale, bias):
        if parameter is not None and not (
            is_float(lowering, parameter) and lowering.known_shape(parameter) == shape[axis:]
        ):
            return False
    if lowering.shape(op.output) != shape or not shape:
        return False
    columns = [None if parameter is None else lowering.dense(parameter) for parameter in (scale, bias)]
    source = lowering.dense(x)
    fused = (
        fuse_epilogue(lowering, op.output)
        if axis == len(shape) - 1
        else FusedEpilogue(Epilogue(), (), lowering.allocate_result(op.output))
    )
    variant = NormParams(
        op.attribute("epsilon", float),
        centered=op.op_type == "LayerNormalization",
        scale=columns[0],
        bias=columns[1],
        epilogue=fused.epilogue,
        operands=fused.operands,
    )
    step = layer_norm_step(source, fused.y, axis, variant)
    assert step is not None, "dense rows have a kernel"
    lowering.emit(step)
    return True
