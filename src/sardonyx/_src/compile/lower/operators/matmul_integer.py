"""MatMulInteger by a constant matrix, and the lowering of its products: int32 accumulation.

The contribution of a zero point is subtracted by the initial accumulators if it is constant, and otherwise in the
epilogue.  `computed_integer_product` has products with a computed right operand, and with other zero points.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.gemm.integer.int8_row_sums import int8_row_sums_step
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps, sign_correction
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant, pack_int32_bias
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue, expand_row_vector
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.quantized.computed_integer_products import (
    ComputedIntegerProduct,
    match_computed_product,
)
from sardonyx._src.compile.partition.quantized.integer_convolutions import IntegerConvolution
from sardonyx._src.compile.partition.quantized.integer_epilogues import fuse_integer_epilogue
from sardonyx._src.compile.partition.quantized.integer_products import (
    IntegerProduct,
    match_integer_product,
    product_region,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_product


@matches("MatMulInteger", 10)
def match_matmul_integer(
    op: BoundNode, scope: Scope
) -> Region[IntegerProduct] | Region[ComputedIntegerProduct] | None:
    left, right = (op.input(0), op.input(2)), (op.input(1), op.input(3))
    return match_constant_product(op, scope) or match_computed_product(op, scope, left, right)


def match_constant_product(op: BoundNode, scope: Scope) -> Region[IntegerProduct] | None:
    b, zeros = scope.constant(op.input(1)), scope.constant(op.input(3))
    if b is None or (zeros is None and op.input(3) is not None):
        return None
    product = match_integer_product(op, scope, (op.input(0), op.input(2)), (b, zeros))
    if product is None:
        return None
    return product_region(op, scope, product, fuse_integer_epilogue(scope, op.output, product.result))


@lowers("IntegerMatMul")
def lower_integer_matmul(region: LaidOutRegion[IntegerProduct], lowering: Lowering) -> Sequence[Step]:
    config, a, (y,) = region.config, region.operands[0], region.results
    panels = pack_int8_constant(config.matrix, lowering.target, rows=dim_product(a.shape[:-1]))
    initial = sign_correction(config.matrix, panels.tile, a_is_signed=config.is_signed)
    if config.initial is not None:
        initial = initial + config.initial
    bias = make_constant(pack_int32_bias(initial, panels.tile), "bias") if initial.any() else None
    row_sums, steps = sum_rows(region, lowering)
    operands = epilogue_operands(region, lowering, row_sums)
    return *steps, *integer_matmul_steps(
        a, panels, y, bias, integer_epilogue(region), operands, a_is_signed=config.is_signed
    )


def integer_epilogue(region: LaidOutRegion[IntegerProduct | IntegerConvolution]) -> IntegerEpilogue:
    epilogue = region.epilogue
    assert isinstance(epilogue, IntegerEpilogue), "an integer kernel has an integer epilogue"
    return epilogue


def epilogue_operands(
    region: LaidOutRegion[IntegerProduct | IntegerConvolution],
    lowering: Lowering,
    row_sums: TensorView | None = None,
) -> tuple[TensorView, ...]:
    """The operands of the kernel itself (constants, the zero point, sums of rows), then the operands of fused consumers."""
    tensors = []
    for operand in region.config.result.operands:
        if operand.elements is not None:
            tensors.append(lowering.constant_tensor(operand.elements))
        elif operand.is_row:
            assert row_sums is not None, "a product with row operands has sums of rows"
            tensors.append(row_sums)
        else:
            tensors.append(region.operands[1])
    return *tensors, *region.epilogue_operands


def sum_rows(
    region: LaidOutRegion[IntegerProduct], lowering: Lowering
) -> tuple[TensorView | None, Sequence[Step]]:
    """The sums of the rows of a, broadcast along the columns of the result, and their step; None if the kernel needs none."""
    config, a, (y,) = region.config, region.operands[0], region.results
    if not any(operand.is_row for operand in config.result.operands):
        return None, ()
    dims = a.shape[:-1]
    sums = lowering.temporary(DataType.INT32, (*dims, 1), f"{config.a.name}/sums")
    step = int8_row_sums_step(a, sums, len(config.matrix), a_is_signed=config.is_signed)
    vector = TensorView(DataType.INT32, dims, row_major_strides(dims), sums.buffer)
    return expand_row_vector(vector, y), [step]
