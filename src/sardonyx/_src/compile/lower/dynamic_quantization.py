"""DynamicQuantizeLinear: the range of a tensor, its scale and zero point, and the tensor in bytes."""

from __future__ import annotations

from sardonyx._src.compile.elementwise.given import apply
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.quantization import rounded
from sardonyx._src.compile.integer_endings import narrow_result
from sardonyx._src.compile.loops.ir import Cast, Local
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.extremes import extremes
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType

STEPS = 255.0  # from the lowest to the highest number


@lowers("DynamicQuantizeLinear", 11)
def dynamic_quantize(call: Call, at: Lowering) -> bool:
    x = call.input(0)
    if (
        x is None
        or at.dtype_of(x) is not DataType.FLOAT
        or not at.is_native(x)
        or at.shape(call.output) is None
    ):
        return False
    is_last = at.has_channels_last(x) and at.channels_last(x).is_dense
    source = at.channels_last(x) if is_last else at.dense(x)
    scale, zero = parameters(call, at, source)
    if call.wanted(0):
        y = narrow_result(at, call.output, channels_last=is_last)
        value = rounded(Local("i0"), Local("i1"), Cast(DataType.FLOAT, Local("i2")), DataType.UINT8)
        at.emit(elementwise(value, (source, scale, zero), y))
    return True


def parameters(call: Call, at: Lowering, source: Tensor) -> tuple[Tensor, Tensor]:
    """Scale and zero point, of rank 0."""
    found, steps = extremes(source)
    at.emit(*steps)
    low, high = (Tensor(DataType.FLOAT, (), (), found.storage, offset) for offset in (0, 1))
    step = apply("div", apply("sub", Local("i1"), Local("i0")), STEPS)
    point = rounded(apply("neg", Local("i0")), step, None, DataType.UINT8)
    outputs = [parameter(call, at, i, dtype) for i, dtype in ((1, DataType.FLOAT), (2, DataType.UINT8))]
    at.emit(elementwise((step, point), (low, high), outputs))
    scale, zero = outputs
    return scale, zero


def parameter(call: Call, at: Lowering, index: int, dtype: DataType) -> Tensor:
    """Memory for an output of one number, which the node may leave out."""
    if call.wanted(index):
        return at.result(call.node.outputs[index])
    return at.temporary(dtype, (), "parameter")
