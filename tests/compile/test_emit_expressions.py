"""Emitted expressions: the types of untyped numbers, common subexpressions, and canonical text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sardonyx._src.compile.codegen import Element, LLVMType, LLVMValue, operations
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.expressions import (
    FUNCTION_CALLS,
    Apply,
    Cast,
    Local,
    Number,
    Scalar,
    Select,
    topological_order,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.tile.microkernel import is_cheap
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.dtypes import DataType

X, Y = Local("x"), Local("y")


def emit(value: Scalar, element: Element, **types: Element) -> tuple[LLVMValue, list[str]]:
    """Emits an expression in four lanes; returns its value and the instructions.  types: of the named operands."""
    emitter = KernelBuilder(replace(host_target(), has_fma=True))
    operands = {name: LLVMValue(emitter, LLVMType(of, 4), f"%{name}") for name, of in types.items()}

    def load_local(local: Local) -> LLVMValue:
        return operands[local.name]

    return emitter.emit_expression(value, LLVMType(element, 4), load_local), emitter.lines


def test_numbers_take_the_type_of_the_other_operand() -> None:
    value, lines = emit(Apply("add", (Number(3), X)), "float", x="i64")
    assert value.type == LLVMType("i64", 4)
    assert lines == [" %v1 = add <4 x i64> splat (i64 3), %x"]


def test_numbers_compared_with_integers_are_integers() -> None:
    value, lines = emit(Apply("lt", (X, Apply("neg", (Number(3),)))), "i1", x="i32")
    assert value.type == LLVMType("i1", 4)
    assert "icmp slt <4 x i32> %x" in lines[-1]


def test_numbers_alone_take_the_expected_type() -> None:
    value, _ = emit(Number(2), "i8")
    assert str(value) == "<4 x i8> splat (i8 2)"


def test_unsigned_integers_are_compared_as_unsigned() -> None:
    _, lines = emit(Apply("max", (X, Y)), "u8", x="u8", y="u8")
    assert "icmp ugt <4 x i8> %x, %y" in lines[0]


@pytest.mark.parametrize(("op", "compares"), [("max", "ogt"), ("min", "olt")])
def test_max_and_min_with_a_constant_take_one_comparison(op: str, compares: str) -> None:
    for args in ((X, Number(0)), (Number(0), X)):
        _, lines = emit(Apply(op, args), "float", x="float")
        assert len(lines) == 2
        assert f"fcmp {compares} <4 x float> splat" in lines[0], (
            "a comparison with NaN must select the NaN operand"
        )


def test_max_with_a_nan_constant_is_nan() -> None:
    _, lines = emit(Apply("max", (X, Number(float("nan")))), "float", x="float")
    assert "llvm.maximum" in lines[0]


def test_shared_subexpressions_are_emitted_once() -> None:
    square = Apply("mul", (X, X))
    _, lines = emit(Apply("add", (square, square)), "float", x="float")
    assert len(lines) == 2


def test_casts_between_integers_of_one_width_emit_nothing() -> None:
    value, lines = emit(Cast(DataType.UINT32, X), "u32", x="i32")
    assert not lines
    assert value.type.element == "u32"


def test_canonical_text_prints_shared_subexpressions_once() -> None:
    square = Apply("mul", (X, X))
    chosen = Select("lt", square, Number(1), Cast(DataType.FLOAT, square), Number(0))
    assert len(list(topological_order(chosen))) == 6
    assert canonical_text((chosen, square)) == "0=mul(x,x);1=float(0);2=lt(0,1n)?1:0n;2,0"


def test_canonical_text_distinguishes_signed_zeros() -> None:
    assert canonical_text((Apply("add", (X, Number(0.0))),)) != canonical_text(
        (Apply("add", (X, Number(-0.0))),)
    )


def test_the_key_of_an_epilogue_is_linear_in_its_dag() -> None:
    """As a tree, the expression would have 2^24 leaves."""
    value: Scalar = RESULT
    for _ in range(24):
        value = Apply("mul", (value, value))
    epilogue = Epilogue(value)
    assert len(epilogue.key) < 1000
    assert not is_cheap(epilogue, host_target())


def test_operations_that_call_functions_are_those_of_no_instructions() -> None:
    instructions = {*operations.UNARY_OPS, *operations.BINARY_OPS, *operations.INTRINSIC_NAMES}
    assert operations.VECTOR_FUNCTIONS.keys() - instructions == FUNCTION_CALLS
    assert operations.DOUBLE_FUNCTIONS.keys() - instructions <= FUNCTION_CALLS
