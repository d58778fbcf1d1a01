"""Epilogues: elementwise operations fused into a kernel's store.

A kernel emits the expression of its epilogue on each vector of results, in registers, before it stores the vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.program.step import KernelArgument
from sardonyx._src.compile.program.tensor import TensorView

OperandLayout = Literal["scalar", "column", "matrix"]
RESULT = Local("x")


@dataclass(frozen=True, slots=True)
class Epilogue:
    """An expression of the kernel's result, `Local("x")`, and of further operands, `Local("o0")`, `Local("o1")`, ...

    operand_layouts: how each operand is broadcast to the result [rows, columns], and its kernel arguments:
    "scalar", one element (address); "column", [columns], one element for each column (address); "matrix",
    [rows, columns] (address, row stride).
    """

    expression: Scalar = RESULT
    operand_layouts: tuple[OperandLayout, ...] = ()

    @property
    def key(self) -> str:
        """The cache key: kernels are specialized on it."""
        return epilogue_key(self)


def epilogue_key(epilogue: Epilogue) -> str:
    """The canonical text of the expression, and the layouts of the operands."""
    return f"{canonical_text([epilogue.expression])}:{','.join(epilogue.operand_layouts)}"


def operand_arguments(epilogue: Epilogue, operands: tuple[TensorView, ...]) -> tuple[KernelArgument, ...]:
    """The kernel arguments for the operands of an epilogue, in order."""
    arguments: list[KernelArgument] = []
    for layout, operand in zip(epilogue.operand_layouts, operands, strict=True):
        arguments.append(operand)
        if layout == "matrix":
            assert operand.row_stride is not None, f"rows of {operand} must be contiguous and have one stride"
            arguments.append(operand.row_stride)
    return tuple(arguments)
