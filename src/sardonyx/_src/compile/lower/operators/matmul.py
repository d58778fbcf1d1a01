"""MatMul and Gemm in float32: GEMM over packed panels of the right operand, with a fused epilogue.

Constant right operands are packed at compile time.  MatMuls around a Softmax become one attention step
(`attention_fusion`), quantized ones int8 products (`qdq`).  Falls back for vectors, other element types and, with more
than two dynamic batch dims, for a right operand that broadcasts along them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue, OperandLayout
from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.panels import Panels, pack_constant, pack_tensor
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.attention_fusion import emit_matched_attention, match_attention
from sardonyx._src.compile.lower.operators.qdq import lower_qdq_product
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import (
    FusedEpilogue,
    fuse_epilogue,
    lay_out_operand,
    operand_layout,
)
from sardonyx._src.compile.partition.fusion import Shape
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@lowers("MatMul", 13)
def lower_matmul(op: BoundNode, lowering: Lowering) -> bool:
    if (
        emit_matched_attention(op, lowering)
        or match_attention(op, lowering)
        or lower_qdq_product(op, lowering)
    ):
        return True
    a, b = op.input(0), op.input(1)
    if a is None or b is None or not is_matrix_product(op, lowering, a, b):
        return False
    is_dynamic = has_dynamic_batch(lowering.known_shape(op.output))
    if is_dynamic and lowering.known_shape(b)[:-2] not in ((), lowering.known_shape(a)[:-2]):
        return False
    left = lowering.dense(a) if is_dynamic else lowering.any_layout(a)
    panels = pack_right_operand(lowering, b)
    fused = fuse_epilogue(lowering, op.output)
    lowering.emit(*matmul_steps(left, panels, fused.y, epilogue=fused.epilogue, operands=fused.operands))
    return True


def has_dynamic_batch(shape: tuple[Known, ...]) -> bool:
    """Whether there are more than two batch dims, some of them dynamic: operands must then be dense to be merged."""
    return len(shape) > 4 and not all(isinstance(dim, int) for dim in shape[:-2])


def is_matrix_product(op: BoundNode, lowering: Lowering, a: Value, b: Value) -> bool:
    """Whether both operands are float32 matrices, or batches of them, with matching dims; guarded."""
    if (
        not (are_floats(lowering, a, b) and lowering.is_native(a) and lowering.is_native(b))
        or lowering.shape(op.output) is None
    ):
        return False
    left, right, result = lowering.known_shape(a), lowering.known_shape(b), lowering.known_shape(op.output)
    if min(len(left), len(right)) < 2 or not lowering.guard_equal(left[-1], right[-2]):
        return False
    return is_broadcastable_batch(lowering, left[:-2], result[:-2]) and is_broadcastable_batch(
        lowering, right[:-2], result[:-2]
    )


def are_floats(lowering: Lowering, *values: Value) -> bool:
    return all(lowering.dtype_of(value) is DataType.FLOAT for value in values)


def is_broadcastable_batch(lowering: Lowering, shape: tuple[Known, ...], result: tuple[Known, ...]) -> bool:
    aligned = result[len(result) - len(shape) :]
    return all(a == 1 or lowering.guard_equal(a, b) for a, b in zip(shape, aligned, strict=True))


def pack_right_operand(lowering: Lowering, b: Value) -> Panels:
    """The right operand packed into panels: at compile time if it is constant, otherwise by emitted steps."""
    elements = lowering.constant_source(b)
    if elements is not None:
        return lowering.memoize(("panels", b), lambda: pack_constant(elements, lowering.target))
    panels, steps = pack_tensor(lowering.any_layout(b), lowering.target, b.name)
    lowering.emit(*steps)
    return panels


@lowers("Gemm", 13)
def lower_gemm(op: BoundNode, lowering: Lowering) -> bool:
    """alpha * A' @ B' + beta * C, with C as initial accumulators if it is a constant row, otherwise in the epilogue."""
    a, b, bias = op.input(0), op.input(1), constant_bias(op, lowering)
    if (bias is not None or op.input(2) is None) and lower_qdq_product(op, lowering, bias):
        return True
    epilogue_operand = epilogue_bias(op, lowering) if bias is None else None
    if a is None or b is None or (bias is None and epilogue_operand is None and op.input(2) is not None):
        return False
    alpha, matrix = op.attribute("alpha", float), lowering.constant_source(b)
    if (
        not (are_floats(lowering, a, b) and lowering.is_native(a) and lowering.is_native(b))
        or lowering.shape(op.output) is None
    ):
        return False
    if matrix is None and alpha != 1.0 and bias is not None:
        return False  # the kernel adds the bias before the epilogue can scale by alpha
    if not lowering.guard_equal(*inner_dims(op, lowering, a, b)):
        return False
    left = transpose_if(lowering.any_layout(a), op.attribute("transA", int))
    if matrix is not None:
        matrix_kn = matrix.T if op.attribute("transB", int) else matrix
        scaled = matrix_kn if alpha == 1.0 else matrix_kn.astype(np.float32) * np.float32(alpha)
        panels, alpha = pack_constant(scaled, lowering.target), 1.0
    else:
        panels, steps = pack_tensor(
            transpose_if(lowering.any_layout(b), op.attribute("transB", int)), lowering.target, b.name
        )
        lowering.emit(*steps)
    result = scale(RESULT, alpha)
    fused = (
        fuse_epilogue(lowering, op.output, start=result)
        if epilogue_operand is None
        else add_bias_epilogue(op, lowering, result, *epilogue_operand)
    )
    bias_tensor = None if bias is None else make_constant(pack_bias(bias, panels.tile), "bias")
    lowering.emit(
        *matmul_steps(
            left, panels, fused.y, bias=bias_tensor, epilogue=fused.epilogue, operands=fused.operands
        )
    )
    return True


def inner_dims(op: BoundNode, lowering: Lowering, a: Value, b: Value) -> tuple[Known, Known]:
    """The inner dim K, by either operand."""
    left, right = lowering.known_shape(a), lowering.known_shape(b)
    return left[0 if op.attribute("transA", int) else 1], right[1 if op.attribute("transB", int) else 0]


def constant_bias(op: BoundNode, lowering: Lowering) -> Array | None:
    """beta * C as a row [N] float32; None if C is not a constant scalar or row."""
    shape, elements = lowering.shape(op.output), lowering.constant(op.input(2))
    if elements is None or shape is None or not isinstance(shape[1], int):
        return None
    if elements.size not in (1, shape[1]) or (elements.ndim == 2 and elements.shape[0] != 1):
        return None
    row = np.broadcast_to(elements.reshape(-1), (shape[1],))
    scaled: Array = (row * np.float32(op.attribute("beta", float))).astype(np.float32)
    return scaled


def epilogue_bias(op: BoundNode, lowering: Lowering) -> tuple[Value, Shape, OperandLayout] | None:
    """C with its broadcast dims and layout, if an epilogue can add it."""
    value, result = op.input(2), lowering.shape(op.output)
    if value is None or result is None or not lowering.is_native(value) or not are_floats(lowering, value):
        return None
    dims = lowering.known_shape(value)
    shape = (*(1 for _ in result[len(dims) :]), *dims)
    layout = operand_layout(shape, result, 1) if len(shape) == len(result) else None
    return None if layout is None else (value, shape, layout)


def add_bias_epilogue(
    op: BoundNode, lowering: Lowering, result: Scalar, value: Value, shape: Shape, layout: OperandLayout
) -> FusedEpilogue:
    """The epilogue that adds beta * C; no consumers are fused."""
    scaled_bias = scale(Local("o0"), op.attribute("beta", float))
    bias_operand = lay_out_operand(lowering, value, shape, layout, channels_last=False)
    return FusedEpilogue(
        Epilogue(Apply("add", (result, scaled_bias)), (layout,)),
        (bias_operand,),
        lowering.allocate_result(op.output),
    )


def scale(value: Scalar, factor: float) -> Scalar:
    return value if factor == 1.0 else Apply("mul", (value, Number(factor)))


def transpose_if(tensor: TensorView, is_transposed: int) -> TensorView:
    """A matrix, transposed if the flag is set."""
    return (
        replace(tensor, shape=tensor.shape[::-1], strides=tensor.strides[::-1]) if is_transposed else tensor
    )
