"""MatMul and Gemm in float32: GEMM over packed panels of the right operand, with a fused epilogue.

Constant right operands are packed at compile time.  `double_product` has products of float64.  Attention and
quantized products are matched by patterns (`partition.patterns`), before these matchers.  Falls back to the reference
kernel for other element types, and for a right operand that broadcasts along more than two dynamic batch dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import bf16_matmul_steps
from sardonyx._src.compile.kernels.gemm.bf16.bf16_panels import pack_bf16_constant
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, pack_tensor
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import expand_row_vector, is_row_operand
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns import (
    FewColumns,
    few_columns_step,
    is_few_columns,
)
from sardonyx._src.compile.kernels.gemm.unpacked.transposed_left import with_dense_rows
from sardonyx._src.compile.kernels.gemm.unpacked.unpacked_products import (
    MatrixProduct,
    split_off_one_row,
    unpacked_product,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.constant_panels import constant_panels
from sardonyx._src.compile.lower.operators.double_product import DoubleRegion, match_double_product
from sardonyx._src.compile.partition import (
    FusedEpilogue,
    Read,
    Region,
    Scope,
    Shape,
    Write,
    fused_region,
    matches,
)
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.operands.attention_operands import write_heads
from sardonyx._src.compile.partition.operands.gemm_bias import constant_bias
from sardonyx._src.compile.partition.operands.product_batches import has_dynamic_batch, is_broadcastable
from sardonyx._src.compile.partition.operands.rounded_products import (
    ROUNDED_ROWS,
    exact_k_block,
    round_weights,
    rounds_product,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, DENSE, Step, TensorView
from sardonyx._src.compile.program.operands.tensor import transpose_matrix
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import dim_product


@dataclass(frozen=True, slots=True)
class Product:
    """A product of matrices.

    matrix: the elements of a constant right operand.
    value: the right operand, by which packed panels are shared.

    bias: initial accumulators [N].
    transposed: whether each operand is read with its dims exchanged.
    is_rounded: whether factors are rounded to bfloat16.
    k_block: the most terms of a block if all factors are bfloat16 (`exact_k_block`), else None.
    """

    matrix: Array | None = None
    value: Value | None = None
    bias: Array | None = None
    transposed: tuple[bool, bool] = (False, False)
    is_rounded: bool = False
    k_block: int | None = None


@matches("MatMul", 13)
def match_matmul(op: BoundNode, scope: Scope) -> Region[Product] | DoubleRegion | None:
    a, b = op.input(0), op.input(1)
    if scope.dtype_of(op.input(0)) is DataType.DOUBLE:
        return match_double_product(op, scope)
    if a is None or b is None or not is_matrix_product(op, scope, a, b):
        return None
    is_dynamic = has_dynamic_batch(scope.known_shape(op.output))
    if is_dynamic and scope.known_shape(b)[:-2] not in ((), scope.known_shape(a)[:-2]):
        return None
    matrix = scope.constant_source(b)
    k_block = exact_k_block(scope, a, matrix)
    is_rounded = rounds_product(scope, matrix, k_block)
    matrix = None if matrix is None else round_weights(scope, matrix)
    layout = ROUNDED_ROWS if is_rounded else DENSE if is_dynamic else ANY
    reads = (Read(a, layout), *(() if matrix is not None else (Read(b, ANY),)))
    epilogue = fuse_epilogue(scope, op.output, takes_rows=True)
    config = Product(matrix, b, is_rounded=is_rounded, k_block=k_block)
    write = Write(epilogue.result) if is_rounded else write_heads(scope, epilogue.result)
    return fused_region("MatMul", op.node, config, reads, epilogue, write.layout)


def is_matrix_product(op: BoundNode, scope: Scope, a: Value, b: Value) -> bool:
    """Whether both operands are float32 matrices, or batches of them, whose batches broadcast; guarded."""
    if not are_native_floats(scope, a, b) or scope.shape(op.output) is None:
        return False
    left, right, result = scope.known_shape(a), scope.known_shape(b), scope.known_shape(op.output)
    if min(len(left), len(right)) < 2:
        return False
    return is_broadcastable(scope, left[:-2], result[:-2]) and is_broadcastable(
        scope, right[:-2], result[:-2]
    )


def are_native_floats(scope: Scope, *values: Value) -> bool:
    return all(scope.dtype_of(value) is DataType.FLOAT and scope.is_native(value) for value in values)


@matches("Gemm", 13)
def match_gemm(op: BoundNode, scope: Scope) -> Region[Product] | DoubleRegion | None:
    """alpha * A' @ B' + beta * C, with C as initial accumulators if it is a constant row, otherwise in the epilogue."""
    if scope.dtype_of(op.input(0)) is DataType.DOUBLE:
        return match_double_product(op, scope)
    a, b, bias = op.input(0), op.input(1), constant_bias(op, scope)
    if a is None or b is None or not are_native_floats(scope, a, b) or scope.shape(op.output) is None:
        return None
    alpha, matrix = op.attribute("alpha", float), scope.constant_source(b)
    if matrix is None:
        bias = None  # the epilogue adds it, after it has multiplied the product by alpha
    if matrix is not None:
        matrix = matrix.T if op.attribute("transB", int) else matrix
        matrix = matrix if alpha == 1.0 else matrix.astype(np.float32) * np.float32(alpha)
        alpha = 1.0
    epilogue = bias_epilogue(op, scope, None if bias is not None else op.input(2), scale(RESULT, alpha))
    if epilogue is None:
        return None
    transposed = bool(op.attribute("transA", int)), matrix is None and bool(op.attribute("transB", int))
    k_block = None if transposed[0] else exact_k_block(scope, a, matrix)
    is_rounded = not transposed[0] and rounds_product(scope, matrix, k_block)
    matrix = None if matrix is None else round_weights(scope, matrix)
    reads = (Read(a, ROUNDED_ROWS if is_rounded else ANY), *(() if matrix is not None else (Read(b, ANY),)))
    config = Product(matrix, None, bias, transposed, is_rounded, k_block)
    return fused_region("MatMul", op.node, config, reads, epilogue)


def bias_epilogue(op: BoundNode, scope: Scope, bias: Value | None, result: Scalar) -> FusedEpilogue | None:
    """The epilogue that adds beta * C, if there is a C, and has the fused consumers; None if no epilogue can read C."""
    if bias is None:
        return fuse_epilogue(scope, op.output, start=result, takes_rows=True)
    shape = bias_shape(scope, bias, scope.known_shape(op.output))
    if shape is None or not are_native_floats(scope, bias):
        return None
    start = Apply("add", (result, scale(Local("o0"), op.attribute("beta", float))))
    return fuse_epilogue(scope, op.output, start=start, operands=((bias, shape),), takes_rows=True)


def bias_shape(scope: Scope, bias: Value, result_shape: Shape) -> Shape | None:
    """The dims of C as broadcast to the result [M, N], guarded; None if it is not known to broadcast."""
    dims = scope.shape(bias)
    if dims is None or len(dims) > len(result_shape):
        return None
    pairs = list(zip((*(1 for _ in result_shape[len(dims) :]), *dims), result_shape, strict=True))
    if not all(dim == 1 or scope.guard_equal(dim, size) for dim, size in pairs):
        return None
    return tuple(1 if dim == 1 else size for dim, size in pairs)


def scale(value: Scalar, factor: float) -> Scalar:
    return value if factor == 1.0 else Apply("mul", (value, Number(factor)))


@lowers("MatMul")
def lower_product(region: LaidOutRegion[Product], lowering: Lowering) -> Sequence[Step]:
    config = region.config
    left, operands = transpose_if(region.operands[0], config.transposed[0]), epilogue_operands(region)
    product: MatrixProduct | None = None
    if config.matrix is None and config.bias is None:
        right = transpose_if(region.operands[1], config.transposed[1])
        product = MatrixProduct(left, right, region.results[0], region.epilogue, operands)
        unpacked = unpacked_product(product, lowering.target)
        if unpacked is not None:
            return unpacked
    matrix, result, epilogue = config.matrix, region.results[0], region.epilogue
    if (
        matrix is not None
        and not config.is_rounded
        and config.k_block is None
        and is_few_columns(left, matrix, result, epilogue, operands)
    ):
        return (few_columns_step(left, FewColumns(matrix, config.bias), result, epilogue, operands),)
    panels, steps = pack_right_operand(region, left, lowering)
    bias = None if config.bias is None else make_constant(pack_bias(config.bias, panels.tile), "bias")
    left, copies = with_dense_rows(left, panels.columns, region.region.reads[0].value.name, lowering.target)
    multiply = bf16_matmul_steps if config.is_rounded else matmul_steps
    products = multiply(
        left, panels, result, bias=bias, epilogue=epilogue, operands=operands, k_block=config.k_block
    )
    packed = (*steps, *copies, *products)
    return packed if product is None else split_off_one_row(product, packed)


def epilogue_operands(region: LaidOutRegion[Product]) -> tuple[TensorView, ...]:
    """The operands of the epilogue; an operand with one element for each row is expanded to the shape of the result."""
    epilogue, result = region.epilogue, region.results[0]
    return tuple(
        expand_row_vector(operand.reshape(result.shape[:-1]), result)
        if is_row_operand(epilogue, i)
        else operand
        for i, operand in enumerate(region.epilogue_operands)
    )


def pack_right_operand(
    region: LaidOutRegion[Product], left: TensorView, lowering: Lowering
) -> tuple[Panels, Sequence[Step]]:
    """The right operand packed into panels: at compile time if it is constant, otherwise by steps."""
    config, matrix = region.config, region.config.matrix
    if matrix is None:
        b = transpose_if(region.operands[1], config.transposed[1])
        return pack_tensor(b, lowering.target, region.region.reads[1].value.name)
    if not config.is_rounded:
        rows = dim_product(left.shape[:-1] if matrix.ndim == 2 else left.shape[-2:-1])
        return constant_panels(matrix, config.value, lowering, rows), ()
    pack = partial(pack_bf16_constant, matrix, lowering.target)
    return pack() if config.value is None else lowering.memoize(("bf16_panels", config.value), pack), ()


def transpose_if(tensor: TensorView, is_transposed: bool) -> TensorView:
    """A matrix, transposed if the flag is set."""
    return transpose_matrix(tensor) if is_transposed else tensor
