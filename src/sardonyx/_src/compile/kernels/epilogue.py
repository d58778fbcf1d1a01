"""Epilogues: elementwise operations fused into a kernel's store.

A kernel emits the expression of its epilogue on each vector of results, in registers, before it stores the vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.emit_expressions import LoadLocal
from sardonyx._src.compile.codegen.expressions import Apply, Local, Scalar, topological_order
from sardonyx._src.compile.codegen.joined_calls import JOINED_FUNCTIONS
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.program import KernelArgument, TensorView
from sardonyx._src.dataclass import dataclass

OperandLayout = Literal["scalar", "column", "matrix"]
RESULT = Local("x")


@dataclass(frozen=True, slots=True)
class Epilogue:
    """An expression of the kernel's result, `Local("x")`, and of other operands, `Local("o0")`, `Local("o1")`, ...

    operand_layouts: the shape of each operand, which is broadcast to the result [rows, columns]:
        "scalar": one element; the kernel's argument is its address.
        "column": [columns], one element for each column; the argument is its address.
        "matrix": [rows, columns]; the arguments are its address and its row stride.
    """

    expression: Scalar = RESULT
    operand_layouts: tuple[OperandLayout, ...] = ()

    @property
    def key(self) -> str:
        """The part of a kernel's cache key: kernels are specialized on the epilogue."""
        return epilogue_key(self)

    @property
    def joins_calls(self) -> bool:
        """Whether the expression calls a vector function, and calls for several vectors are joined."""
        nodes = topological_order(self.expression)
        return any(isinstance(node, Apply) and node.op in JOINED_FUNCTIONS for node in nodes)


NO_EPILOGUE = Epilogue()  # stores results unchanged


@dataclass(frozen=True, slots=True)
class EpilogueOperand:
    """An operand of an epilogue in a kernel: its layout, the address of its first element, and the row stride of a matrix."""

    layout: OperandLayout
    address: str
    row_stride: LLVMValue | None


def epilogue_key(epilogue: Epilogue) -> str:
    """The canonical text of the expression, and the layouts of the operands."""
    return f"{canonical_text([epilogue.expression])}:{','.join(epilogue.operand_layouts)}"


# --- parameters, arguments and emission ------------------------------------------------------


def epilogue_parameters(epilogue: Epilogue) -> Parameters:
    """The parameters for the operands: `o0`, `o1`, ..., each matrix followed by its row stride, `o0_row_stride`."""
    names: list[str] = []
    for i, layout in enumerate(epilogue.operand_layouts):
        names += [f"o{i}", f"o{i}_row_stride"] if layout == "matrix" else [f"o{i}"]
    return Parameters(*names)


def epilogue_arguments(epilogue: Epilogue, operands: tuple[TensorView, ...]) -> dict[str, KernelArgument]:
    """The arguments of `epilogue_parameters` by name."""
    arguments: dict[str, KernelArgument] = {}
    for i, (layout, operand) in enumerate(zip(epilogue.operand_layouts, operands, strict=True)):
        arguments[f"o{i}"] = operand
        if layout == "matrix":
            assert operand.row_stride is not None, f"rows of {operand} must be contiguous and have one stride"
            arguments[f"o{i}_row_stride"] = operand.row_stride
    return arguments


def load_operands(b: KernelBuilder, epilogue: Epilogue) -> tuple[EpilogueOperand, ...]:
    """The operands of an epilogue, from the arguments of `epilogue_parameters`; to be called before any loop."""
    return tuple(
        EpilogueOperand(
            layout, b.pointer(f"o{i}"), b.integer(f"o{i}_row_stride") if layout == "matrix" else None
        )
        for i, layout in enumerate(epilogue.operand_layouts)
    )


def operand_offset(operand: EpilogueOperand, row: LLVMValue, column: LLVMValue) -> LLVMValue:
    """The offset of the element of a column or matrix operand for the result at (row, column)."""
    return column if operand.row_stride is None else row * operand.row_stride + column


def emit_epilogue(
    b: KernelBuilder,
    epilogue: Epilogue,
    result_type: LLVMType,
    value: LLVMValue,
    load_operand: Callable[[int], LLVMValue],
) -> LLVMValue:
    """Applies an epilogue to a vector of the kernel's results; load_operand: loads operand i in as many lanes."""
    return b.emit_expression(epilogue.expression, result_type, epilogue_loader(value, load_operand))


def epilogue_loader(value: LLVMValue, load_operand: Callable[[int], LLVMValue]) -> LoadLocal:
    """Resolves the locals of an epilogue to a vector of the kernel's results and to its operands."""

    def load_local(name: Local) -> LLVMValue:
        assert isinstance(name, Local), f"an epilogue must read locals; got {name}"
        return value if name.name == RESULT.name else load_operand(int(name.name.removeprefix("o")))

    return load_local
