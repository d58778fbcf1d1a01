"""Numbers that differ from piece to piece of a function's range: rows of 16 floats, one for each piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sardonyx._src.compile.text import Code, Kind, Value

COUNT = 16
Row: TypeAlias = Sequence[float]
FLOAT = Kind("float")
POINTER = Kind("i64")  # of which only the name is of use


def of_pieces(code: Code, symbol: str, rows: Sequence[Row], index: Value) -> list[Value]:
    """row[index] in every lane, of each row; asks for indices from 0 to 15.

    With 8 or 16 lanes it is a choice among the lanes of constant vectors, in which LLVM sees the permutes of AVX2 and
    AVX-512.  With fewer it is read from memory, where LLVM would write the vectors first; the symbol names the rows there.
    """
    assert all(len(row) == COUNT for row in rows), f"rows have {COUNT} pieces"
    lanes = index.kind.lanes
    if lanes == COUNT:
        return permuted(code, rows, index)
    if lanes == COUNT // 2:
        is_low, near = index < lanes, index & lanes - 1
        low, high = (permuted(code, half, near) for half in halves(rows))
        return [code.select(is_low, *both) for both in zip(low, high, strict=True)]
    return read(code, symbol, rows, index)


def halves(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The first eight of each row, and the last."""
    middle = COUNT // 2
    return [row[:middle] for row in rows], [row[middle:] for row in rows]


def permuted(code: Code, rows: Iterable[Row], index: Value) -> list[Value]:
    """row[index] of each row of as many numbers as there are lanes."""
    kind = index.kind.of("float")
    lanes = apart(code, index)
    texts = [f"{kind} <{written(row)}>" for row in rows]
    return [
        together(code, kind, [code.emit(FLOAT, f"extractelement {text}, {i}") for i in lanes])
        for text in texts
    ]


def read(code: Code, symbol: str, rows: Sequence[Row], index: Value) -> list[Value]:
    """row[index] of each row, lane by lane, from a constant in which they stand one behind the other."""
    whole, one = f"[{len(rows) * COUNT} x float]", f"[{COUNT} x float]"
    code.declarations[f"{symbol} = internal constant {whole} [{', '.join(map(written, rows))}]"] = None
    lanes = apart(code, index)
    found = []
    for r in range(len(rows)):
        row = code.emit(POINTER, f"getelementptr {one}, ptr {symbol}, i64 {r}").name
        places = [code.emit(POINTER, f"getelementptr {one}, ptr {row}, i64 0, {lane}").name for lane in lanes]
        numbers = [code.emit(FLOAT, f"load float, ptr {place}, align 4") for place in places]
        found.append(together(code, index.kind.of("float"), numbers))
    return found


def written(row: Row) -> str:
    """The elements of a constant."""
    return ", ".join(f"float {FLOAT.constant(number)}" for number in row)


def apart(code: Code, x: Value) -> list[Value]:
    """The lanes of a vector; a scalar is its only lane."""
    if x.kind.lanes == 1:
        return [x]
    return [
        code.emit(Kind(x.kind.element), f"extractelement {x}, i32 {lane}") for lane in range(x.kind.lanes)
    ]


def together(code: Code, kind: Kind, lanes: Sequence[Value]) -> Value:
    """The vector of these lanes."""
    if kind.lanes == 1:
        return lanes[0]
    found = Value(code, kind, "poison")
    for lane, value in enumerate(lanes):
        found = code.emit(kind, f"insertelement {found}, {value}, i32 {lane}")
    return found
