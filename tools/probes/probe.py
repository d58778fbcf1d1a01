"""A probe: machine code for one family of instructions, its inputs, and the results that it must give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sardonyx._src.compile.llvm.target_classes import AARCH64, TargetClass

COUNT = 64  # elements that a probe computes with
WIDTHS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8}
Condition = Callable[[TargetClass], bool]


@dataclass(frozen=True)
class Column:
    """Numbers in memory.  type: LLVM's name of their type; bits: of each number, which may be negative for integers."""

    type: str
    bits: tuple[int, ...]

    def content(self) -> bytes:
        width = WIDTHS[self.type]
        mask = (1 << 8 * width) - 1
        return b"".join((bits & mask).to_bytes(width, "little") for bits in self.bits)

    def vector(self) -> str:
        """LLVM's type of all numbers."""
        return f"<{len(self.bits)} x {self.type}>"


def has(*features: str) -> Condition:
    """The classes with these features, by LLVM's names."""
    return lambda target_class: set(features) <= set(target_class.features)


def with_feature(name: str) -> Condition:
    """The classes of x86-64 with a feature, and all of AArch64, which have such instructions, too."""
    return lambda target_class: name in target_class.features or target_class.machine == AARCH64


def column(type: str, bits: Iterable[int]) -> Column:
    return Column(type, tuple(bits))


@dataclass(frozen=True)
class Probe:
    """What a class is tested with.

    name: of the family of instructions, as a warning has it.
    inputs, expected: the operands and the result, of a multiple of 8 bytes each, so that all of them are aligned.
    body: LLVM text, in which %x0, %x1, ... are the inputs as vectors, %p0, %p1, ... their addresses, and %out is the address of
    the result; it defines %y, the result as a vector, unless `stores`.
    applies: whether the code of a class has these instructions.
    declarations: the intrinsics that the body calls: result, name, and types of the arguments.
    """

    name: str
    inputs: tuple[Column, ...]
    expected: Column
    body: str
    applies: Condition = lambda target_class: True
    declarations: tuple[tuple[str, str, str], ...] = ()
    stores: bool = False

    def function(self, name: str, places: Sequence[int]) -> str:
        """The text of a function that runs the probe: `void(ptr data, ptr result)`; places: of the inputs in the data."""
        lines = []
        for i, (column, place) in enumerate(zip(self.inputs, places, strict=True)):
            lines.append(f" %p{i} = getelementptr i8, ptr %data, i64 {place}")
            lines.append(f" %x{i} = load {column.vector()}, ptr %p{i}, align {WIDTHS[column.type]}")
        lines += [f" {line.strip()}" for line in self.body.strip().splitlines()]
        if not self.stores:
            lines.append(f" store {self.expected.vector()} %y, ptr %out, align {WIDTHS[self.expected.type]}")
        text = "\n".join(lines)
        return (
            f"define internal void @{name}(ptr %data, ptr %out) noinline nounwind {{\n{text}\n ret void\n}}"
        )

    def declares(self) -> list[str]:
        return [f"declare {result} @{name}({arguments})" for result, name, arguments in self.declarations]
