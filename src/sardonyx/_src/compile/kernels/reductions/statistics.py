"""Mean and mean square of a row of float32, and the epilogue of a normalized row."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue, EpilogueOperand, emit_epilogue, operand_offset
from sardonyx._src.compile.kernels.reductions.reducers import (
    SUM,
    Accumulator,
    accumulate,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.compile.kernels.reductions.rows import load_vector, loop_vectors


def mean_of_row(b: KernelBuilder, vector_type: LLVMType, row: str, n: LLVMValue) -> LLVMValue:
    """The mean of x over a row: a scalar."""
    accumulators = new_accumulators(b, vector_type, SUM)
    for v, index, mask in loop_vectors(b, n, vector_type.lanes):
        accumulate(b, accumulators[v], SUM, (load_vector(b, vector_type, row, index, mask),), mask)
    return mean_of_accumulators(b, accumulators, n)


def mean_square(
    b: KernelBuilder, vector_type: LLVMType, row: str, n: LLVMValue, center: LLVMValue
) -> LLVMValue:
    """The mean of (x - center)^2 over a row, a scalar; center: in every lane."""
    accumulators = new_accumulators(b, vector_type, SUM)
    for v, index, mask in loop_vectors(b, n, vector_type.lanes):
        deviation = load_vector(b, vector_type, row, index, mask) - center
        accumulate(b, accumulators[v], SUM, (deviation * deviation,), mask)
    return mean_of_accumulators(b, accumulators, n)


def mean_of_accumulators(b: KernelBuilder, accumulators: Sequence[Accumulator], n: LLVMValue) -> LLVMValue:
    """The mean of n elements whose sum is in accumulators."""
    return reduce_accumulators(b, SUM, accumulators)[0] / n.convert("sitofp", "float")


def inverse_deviation(b: KernelBuilder, variance: LLVMValue, epsilon: LLVMValue) -> LLVMValue:
    """1 / sqrt(variance + epsilon), for scalars."""
    return 1 / b.call_intrinsic("sqrt", variance + epsilon)


def apply_epilogue(
    b: KernelBuilder,
    epilogue: Epilogue,
    operands: Sequence[EpilogueOperand],
    value: LLVMValue,
    position: tuple[LLVMValue, LLVMValue],
    mask: LLVMValue | None,
) -> LLVMValue:
    """Applies an epilogue to the vector of results that begins at position [row, column]."""

    def load_operand(i: int) -> LLVMValue:
        operand = operands[i]
        if operand.layout == "scalar":
            return b.splat(b.load(StackSlot(operand.address, LLVMType("float"))), value.type.lanes)
        return load_vector(b, value.type, operand.address, operand_offset(operand, *position), mask)

    return emit_epilogue(b, epilogue, value.type, value, load_operand)
