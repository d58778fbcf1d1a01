"""Destination of a register tile: the output matrix, the operands of its epilogue, and the kernel arguments for both."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.epilogue import Epilogue, OperandLayout, operand_arguments
from sardonyx._src.compile.program.step import KernelArgument
from sardonyx._src.compile.program.tensor import TensorView


@dataclass(frozen=True, slots=True)
class EpilogueOperand:
    """An operand of an epilogue in a kernel: its layout, the address of its first element, and a matrix's row stride."""

    layout: OperandLayout
    address: str
    row_stride: LLVMValue | None


@dataclass(frozen=True, slots=True)
class OutputMatrix:
    """The output of a kernel: the address of a matrix with contiguous rows, its row stride, and the epilogue's operands."""

    address: str
    row_stride: LLVMValue
    operands: tuple[EpilogueOperand, ...]


@dataclass(frozen=True, slots=True)
class TileStore:
    """How the sums of a tile are stored: into `output` from `row` and `column` on, up to column `end_column`.

    spill: the address of a tile of partial sums in scratch; the stack if empty.  is_last: whether the sums are complete;
    if not, they are spilled and not stored.  None: they always are.
    """

    output: OutputMatrix
    row: LLVMValue
    column: LLVMValue
    end_column: LLVMValue
    spill: str = ""
    is_last: LLVMValue | None = None


def output_arguments(
    y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> tuple[KernelArgument, ...]:
    """The arguments that `MicrokernelEmitter.output_matrix` reads: address, row stride, the epilogue's operands."""
    assert y.row_stride is not None, f"rows of {y} must be contiguous and have one stride"
    return (y, y.row_stride, *operand_arguments(epilogue, operands))
