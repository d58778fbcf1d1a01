"""Destination of a register tile: the output matrix, the operands of its epilogue, and the kernel parameters for both."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen import LLVMValue, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import (
    Epilogue,
    EpilogueOperand,
    epilogue_arguments,
    epilogue_parameters,
    load_operands,
)
from sardonyx._src.compile.program import KernelArgument, TensorView
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OutputMatrix:
    """The output of a kernel: the address of a matrix with contiguous rows, its row stride, and the epilogue's operands.

    map_row: emits the row of the matrix, and of the operands, for a row of the sums; None if they are the same.
    """

    address: str
    row_stride: LLVMValue
    operands: tuple[EpilogueOperand, ...]
    map_row: Callable[[LLVMValue], LLVMValue] | None = None


@dataclass(frozen=True, slots=True)
class TileStore:
    """The destination of the sums of a tile: `output` from `row` and `column` on, up to column `end_column`.

    spill: the address of a tile of partial sums in scratch; empty for the microkernel's own, on the stack.
    is_last: whether the sums are complete; if not, they are spilled and not stored.  None: they are always complete.
    """

    output: OutputMatrix
    row: LLVMValue
    column: LLVMValue
    end_column: LLVMValue
    spill: str = ""
    is_last: LLVMValue | None = None


def output_parameters(epilogue: Epilogue) -> Parameters:
    """The parameters of an output: its address, its row stride, and the epilogue's operands."""
    return Parameters("y", "y_row_stride") + epilogue_parameters(epilogue)


def output_arguments(
    y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> dict[str, KernelArgument]:
    """The arguments of `output_parameters` by name, in the order of the parameters."""
    assert y.row_stride is not None, f"rows of {y} must be contiguous and have one stride"
    return {"y": y, "y_row_stride": y.row_stride, **epilogue_arguments(epilogue, operands)}


def load_output_matrix(b: KernelBuilder, epilogue: Epilogue) -> OutputMatrix:
    """The output, from the arguments of `output_parameters`; to be called before any loop."""
    return OutputMatrix(b.pointer("y"), b.integer("y_row_stride"), load_operands(b, epilogue))
