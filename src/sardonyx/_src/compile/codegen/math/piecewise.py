"""Lookup of the coefficients of piecewise polynomials with 16 pieces: vector permutes, or loads lane by lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue

NUM_PIECES = 16
Row: TypeAlias = Sequence[float]
FLOAT = LLVMType("float")
POINTER = LLVMType("i64")  # the builder has no pointer type; only the name of such a value is used


def select_pieces(
    builder: FunctionBuilder, symbol: str, rows: Sequence[Row], index: LLVMValue
) -> list[LLVMValue]:
    """row[index] of each row, lane by lane, for 0 <= index < 16.

    With 8 or 16 lanes these are lanes of constant vectors, which LLVM turns into the permutes of AVX2 and AVX-512.  With
    fewer lanes LLVM would spill the constants first, so they are loaded from an array named `symbol`.
    """
    assert all(len(row) == NUM_PIECES for row in rows), f"each row must have {NUM_PIECES} pieces"
    lanes = index.type.lanes
    if lanes == NUM_PIECES:
        return permute_rows(builder, rows, index)
    if lanes == NUM_PIECES // 2:
        is_low, position = index < lanes, index & lanes - 1
        low, high = (permute_rows(builder, half, position) for half in split_rows(rows))
        return [builder.select(is_low, *pair) for pair in zip(low, high, strict=True)]
    return gather_rows(builder, symbol, rows, index)


def split_rows(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The first eight of each row, and the last."""
    middle = NUM_PIECES // 2
    return [row[:middle] for row in rows], [row[middle:] for row in rows]


def permute_rows(builder: FunctionBuilder, rows: Iterable[Row], index: LLVMValue) -> list[LLVMValue]:
    """row[index] of each row, of as many numbers as there are lanes."""
    vector_type = index.type.with_element("float")
    lanes = extract_lanes(builder, index)
    texts = [f"{vector_type} <{constant_text(row)}>" for row in rows]
    return [
        insert_lanes(
            builder, vector_type, [builder.emit(FLOAT, f"extractelement {text}, {i}") for i in lanes]
        )
        for text in texts
    ]


def gather_rows(
    builder: FunctionBuilder, symbol: str, rows: Sequence[Row], index: LLVMValue
) -> list[LLVMValue]:
    """row[index] of each row, loaded lane by lane from one constant array, [rows, 16]."""
    array_type, row_type = f"[{len(rows) * NUM_PIECES} x float]", f"[{NUM_PIECES} x float]"
    builder.declarations[
        f"{symbol} = internal constant {array_type} [{', '.join(map(constant_text, rows))}]"
    ] = None
    lanes = extract_lanes(builder, index)
    vectors = []
    for r in range(len(rows)):
        row = builder.emit(POINTER, f"getelementptr {row_type}, ptr {symbol}, i64 {r}").name
        pointers = [
            builder.emit(POINTER, f"getelementptr {row_type}, ptr {row}, i64 0, {lane}").name
            for lane in lanes
        ]
        numbers = [builder.emit(FLOAT, f"load float, ptr {pointer}, align 4") for pointer in pointers]
        vectors.append(insert_lanes(builder, index.type.with_element("float"), numbers))
    return vectors


def constant_text(row: Row) -> str:
    """The elements of a constant array or vector."""
    return ", ".join(f"float {FLOAT.constant(number)}" for number in row)


def extract_lanes(builder: FunctionBuilder, x: LLVMValue) -> list[LLVMValue]:
    """The lanes of a vector; a scalar is its only lane."""
    if x.type.lanes == 1:
        return [x]
    return [
        builder.emit(LLVMType(x.type.element), f"extractelement {x}, i32 {lane}")
        for lane in range(x.type.lanes)
    ]


def insert_lanes(builder: FunctionBuilder, llvm_type: LLVMType, lanes: Sequence[LLVMValue]) -> LLVMValue:
    """A vector of scalars, one a lane."""
    if llvm_type.lanes == 1:
        return lanes[0]
    vector = LLVMValue(builder, llvm_type, "poison")
    for lane, value in enumerate(lanes):
        vector = builder.emit(llvm_type, f"insertelement {vector}, {value}, i32 {lane}")
    return vector
