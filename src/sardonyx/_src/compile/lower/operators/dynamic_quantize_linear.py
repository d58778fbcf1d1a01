"""DynamicQuantizeLinear: a min/max reduction, scale and zero point, then elementwise quantization to uint8."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import Cast, Local, Number, Select
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.kernels.elementwise.quantization import quantize
from sardonyx._src.compile.kernels.reductions.min_max import min_max_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.quantized.int8_layouts import padded_layout
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step, TensorView
from sardonyx._src.compile.program.operands.layout import ChannelsLast, Follow
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

QUANTIZATION_STEPS = 255.0  # the number of steps from the lowest to the highest uint8


@dataclass(frozen=True, slots=True)
class DynamicQuantization:
    """outputs: the indices of the outputs that are used: 0 the quantized tensor, 1 the scale, 2 the zero point."""

    outputs: tuple[int, ...]


@matches("DynamicQuantizeLinear", 11)
def match_dynamic_quantize_linear(op: BoundNode, scope: Scope) -> Region[DynamicQuantization] | None:
    x, y = op.input(0), op.output
    if x is None or scope.dtype_of(x) is not DataType.FLOAT:
        return None
    if not scope.is_native(x) or scope.shape(y) is None:
        return None
    outputs = tuple(i for i in range(3) if op.is_output_used(i))
    rows, pixels = (padded_layout(scope, y, channels_last=flag) for flag in (False, True))
    read = Read(x, Follow(DENSE, ChannelsLast(is_dense=True)), decides_layout=True)
    writes = tuple(Write(op.node.outputs[i], DENSE if i else Follow(rows, pixels)) for i in outputs)
    return Region("DynamicQuantizeLinear", (op.node,), DynamicQuantization(outputs), (read,), writes)


@lowers("DynamicQuantizeLinear")
def lower_dynamic_quantize_linear(
    region: LaidOutRegion[DynamicQuantization], lowering: Lowering
) -> Sequence[Step]:
    (source,) = region.operands
    results = dict(zip(region.config.outputs, region.results, strict=True))
    scale = results.get(1) or lowering.temporary(DataType.FLOAT, (), "parameter")
    zero = results.get(2) or lowering.temporary(DataType.UINT8, (), "parameter")
    steps = parameter_steps(source, scale, zero)
    if 0 in results:
        value = quantize(Local("i0"), Local("i1"), Cast(DataType.FLOAT, Local("i2")), DataType.UINT8)
        steps.append(elementwise_step(value, (source, scale, zero), results[0]))
    return steps


def parameter_steps(source: TensorView, scale: TensorView, zero: TensorView) -> list[Step]:
    """The steps that reduce to minimum and maximum, and compute scale and zero point, scalars; an empty range has scale 1."""
    range_tensor, steps = min_max_steps(source)
    low, high = (TensorView(DataType.FLOAT, (), (), range_tensor.buffer, offset) for offset in (0, 1))
    length = apply("sub", Local("i1"), Local("i0"))
    scale_value = Select("eq", length, Number(0.0), Number(1.0), apply("div", length, QUANTIZATION_STEPS))
    zero_point = quantize(apply("neg", Local("i0")), scale_value, None, DataType.UINT8)
    return [*steps, elementwise_step((scale_value, zero_point), (low, high), (scale, zero))]
