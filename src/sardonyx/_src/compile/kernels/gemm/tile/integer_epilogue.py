"""Epilogues of integer GEMMs and convolutions: expressions of int32 sums, with operands and results of any element type."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen import LLVMType
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, memory_type
from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.epilogue import Epilogue, epilogue_key
from sardonyx._src.compile.program import TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType


@dataclass(frozen=True, slots=True)
class Approximation:
    """A quotient, computed exactly as specified and approximately.

    exact: the quotient in float64; it is not NaN.
    value: the quotient in float32, with a relative error of at most 2^-22.
    """

    exact: Scalar
    value: Scalar


@dataclass(frozen=True, slots=True)
class IntegerEpilogue(Epilogue):
    """An epilogue with element types.

    operand_types: the element types of the operands.
    result_dtype: the element type of the output.
    row_operands: the indices of operands with one element for each row; their layout is "matrix" (`expand_row_vector`).
    has_bounded_quotient: whether the quotient that a quantized result rounds is below 2^30 in magnitude, and never NaN.
    approximation: a float32 approximation of that quotient, if it is computed in float64.
    """

    operand_types: tuple[DataType, ...] = ()
    result_dtype: DataType = DataType.INT32
    row_operands: tuple[int, ...] = ()
    has_bounded_quotient: bool = False
    approximation: Approximation | None = None

    @property
    def key(self) -> str:
        types = ",".join(dtype.text for dtype in self.operand_types)
        rows = ",".join(map(str, self.row_operands))
        bounded = ":bounded" if self.has_bounded_quotient else ""
        pair = self.approximation
        approximate = "" if pair is None else f":{canonical_text([pair.exact, pair.value])}"
        return f"{epilogue_key(self)}:{types}:{self.result_dtype.text}:{rows}{bounded}{approximate}"


def expand_row_vector(vector: TensorView, result: TensorView) -> TensorView:
    """A vector with one element for each row of a result, as a matrix of the result's shape; only its column 0 is read."""
    assert vector.shape == result.shape[:-1], f"shape must be {result.shape[:-1]}; got {vector.shape}"
    return replace(vector, shape=result.shape, strides=(*vector.strides, 1))


# --- element types of any epilogue ---------------------------------------------------------------


def result_type(epilogue: Epilogue) -> LLVMType:
    """The type of an element of the output; float32 for an epilogue that is no `IntegerEpilogue`."""
    if isinstance(epilogue, IntegerEpilogue):
        return LLVMType(LLVM_ELEMENTS[epilogue.result_dtype])
    return LLVMType("float")


def operand_type(epilogue: Epilogue, index: int) -> LLVMType:
    """The type of an element of an operand in memory; float32 for an epilogue that is no `IntegerEpilogue`."""
    if isinstance(epilogue, IntegerEpilogue):
        return memory_type(epilogue.operand_types[index])
    return LLVMType("float")


def is_row_operand(epilogue: Epilogue, index: int) -> bool:
    """Whether an operand has one element for each row."""
    return isinstance(epilogue, IntegerEpilogue) and index in epilogue.row_operands
