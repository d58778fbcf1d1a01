"""DynamicQuantizeLinear: a min/max reduction, scale and zero point, then elementwise quantization to uint8."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Cast, Local
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.kernels.elementwise.quantization import quantize
from sardonyx._src.compile.kernels.reductions.min_max import min_max_steps
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.integer_epilogues import narrow_result
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType

QUANTIZATION_STEPS = 255.0  # between the lowest and the highest uint8


@lowers("DynamicQuantizeLinear", 11)
def lower_dynamic_quantize_linear(op: BoundNode, lowering: Lowering) -> bool:
    x = op.input(0)
    if (
        x is None
        or lowering.dtype_of(x) is not DataType.FLOAT
        or not lowering.is_native(x)
        or lowering.shape(op.output) is None
    ):
        return False
    channels_last = lowering.has_channels_last(x) and lowering.channels_last(x).is_dense
    source = lowering.channels_last(x) if channels_last else lowering.dense(x)
    scale, zero = emit_parameters(op, lowering, source)
    if op.is_output_used(0):
        y = narrow_result(lowering, op.output, channels_last=channels_last)
        value = quantize(Local("i0"), Local("i1"), Cast(DataType.FLOAT, Local("i2")), DataType.UINT8)
        lowering.emit(elementwise_step(value, (source, scale, zero), y))
    return True


def emit_parameters(op: BoundNode, lowering: Lowering, source: TensorView) -> tuple[TensorView, TensorView]:
    """Emits the range reduction and the scale and zero point, which are returned as tensors of rank 0."""
    range_tensor, steps = min_max_steps(source)
    lowering.emit(*steps)
    low, high = (TensorView(DataType.FLOAT, (), (), range_tensor.buffer, offset) for offset in (0, 1))
    scale_value = apply("div", apply("sub", Local("i1"), Local("i0")), QUANTIZATION_STEPS)
    zero_point = quantize(apply("neg", Local("i0")), scale_value, None, DataType.UINT8)
    outputs = [
        parameter_tensor(op, lowering, i, dtype) for i, dtype in ((1, DataType.FLOAT), (2, DataType.UINT8))
    ]
    lowering.emit(elementwise_step((scale_value, zero_point), (low, high), outputs))
    scale, zero = outputs
    return scale, zero


def parameter_tensor(op: BoundNode, lowering: Lowering, index: int, dtype: DataType) -> TensorView:
    """A tensor for a scalar output, or a temporary if the output is not used."""
    if op.is_output_used(index):
        return lowering.allocate_result(op.node.outputs[index])
    return lowering.temporary(dtype, (), "parameter")
