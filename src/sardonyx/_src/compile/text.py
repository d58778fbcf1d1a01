"""LLVM text written as arithmetic: values with operators, each of which puts down one instruction.

A `Code` is the body of one function in the making.  Its values know their kind (element and lanes); Python numbers
beside them become constants of that kind in every lane.  Nothing here is `fast`: each operation rounds once, NaN and
infinities keep their meaning, and only `fma` contracts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Element = Literal[
    "float", "double", "i1", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "f16", "b16"
]
SHORT = {"float": "f32", "double": "f64"}
BITS_OF: dict[Element, Element] = {"float": "i32", "double": "i64", "i32": "float", "i64": "double"}


@dataclass(frozen=True, slots=True)
class Kind:
    """An element type and a number of lanes; one lane is a plain scalar."""

    element: Element
    lanes: int = 1

    def __str__(self) -> str:
        return self.written if self.lanes == 1 else f"<{self.lanes} x {self.written}>"

    @property
    def written(self) -> str:
        """The element type in LLVM's words, which know no signs: `i8` of `u8`; of halves it is that of their bits."""
        if self.is_half:
            return "i16"
        return self.element.replace("u", "i") if self.is_unsigned else self.element

    @property
    def suffix(self) -> str:
        """What names of intrinsics end in: `f32`, `v16f32`."""
        short = SHORT.get(self.written, self.written)
        return short if self.lanes == 1 else f"v{self.lanes}{short}"

    @property
    def is_float(self) -> bool:
        return self.element in ("float", "double")

    @property
    def is_half(self) -> bool:
        """Whether elements are the bits of floats of 16 bits, float16 or bfloat16, with which nothing computes."""
        return self.element in ("f16", "b16")

    @property
    def is_unsigned(self) -> bool:
        return self.element.startswith("u")

    @property
    def bits(self) -> int:
        """The width of an element."""
        return {"float": 32, "double": 64}.get(self.element) or int(self.element[1:])

    def of(self, element: Element) -> Kind:
        return replace(self, element=element)

    def constant(self, number: float) -> str:
        """The number in every lane, rounded to the element type and written as its bits."""
        if self.element == "float":
            number = struct.unpack("f", struct.pack("f", number))[0]
        if self.is_float:
            text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        else:
            assert number == int(number), f"{number} is no constant of {self}"
            text = str(int(number)) if self.element != "i1" else str(bool(number)).lower()
        return text if self.lanes == 1 else f"splat ({self.written} {text})"


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What an instruction made, or a constant: a name in the text of one function."""

    code: Code
    kind: Kind
    name: str

    def __add__(self, other: Value | float) -> Value:
        return self._two("fadd", "add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._two("fsub", "sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._two("fmul", "mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._two("fdiv", "", other)

    def __radd__(self, other: float) -> Value:
        return self.code.constant(other, self.kind) + self

    def __rsub__(self, other: float) -> Value:
        return self.code.constant(other, self.kind) - self

    def __rmul__(self, other: float) -> Value:
        return self.code.constant(other, self.kind) * self

    def __rtruediv__(self, other: float) -> Value:
        return self.code.constant(other, self.kind) / self

    def __neg__(self) -> Value:
        return self.code.emit(self.kind, f"fneg {self}") if self.kind.is_float else 0 - self

    def __and__(self, other: Value | float) -> Value:
        return self._two("", "and", other)

    def __or__(self, other: Value | float) -> Value:
        return self._two("", "or", other)

    def __xor__(self, other: Value | float) -> Value:
        return self._two("", "xor", other)

    def __lshift__(self, other: Value | float) -> Value:
        return self._two("", "shl", other)

    def __rshift__(self, other: Value | float) -> Value:
        """Keeps the sign, if there is one."""
        return self._two("", "lshr" if self.kind.is_unsigned else "ashr", other)

    def __lt__(self, other: Value | float) -> Value:
        return self._compared("fcmp olt", "icmp slt", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compared("fcmp ole", "icmp sle", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compared("fcmp ogt", "icmp sgt", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compared("fcmp oge", "icmp sge", other)

    def equals(self, other: Value | float) -> Value:
        """Where both are equal; NaN equals nothing."""
        return self._compared("fcmp oeq", "icmp eq", other)

    def differs(self, other: Value | float) -> Value:
        """Where they are not equal; NaN differs from itself."""
        return self._compared("fcmp une", "icmp ne", other)

    def at_most(self, other: float) -> Value:
        """The lesser of both; NaN stays NaN."""
        limit = self.code.constant(other, self.kind)
        return self.code.select(limit < self, limit, self)

    def at_least(self, other: float) -> Value:
        """The greater of both; NaN stays NaN."""
        limit = self.code.constant(other, self.kind)
        return self.code.select(limit > self, limit, self)

    @property
    def is_constant(self) -> bool:
        return not self.name.startswith("%")

    def bits(self) -> Value:
        """The same bits as integers of that width, or as floats if they are integers."""
        return self.converted("bitcast", BITS_OF[self.kind.element])

    def converted(self, how: str, element: Element) -> Value:
        """The value through one of LLVM's conversions: `fpext`, `fptrunc`, `fptosi`, `sitofp`, `zext`, `bitcast`."""
        kind = self.kind.of(element)
        return self.code.emit(kind, f"{how} {self} to {kind}")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    def _two(self, floating: str, integer: str, other: Value | float) -> Value:
        operation = floating if self.kind.is_float else integer
        assert operation and not self.kind.is_half, f"no such operation on {self.kind}"
        right = self.code.operand(other, self.kind)
        return self.code.emit(self.kind, f"{operation} {self}, {right.name}")

    def _compared(self, floating: str, integer: str, other: Value | float) -> Value:
        right = self.code.operand(other, self.kind)
        operation = floating if self.kind.is_float else integer
        if self.kind.is_unsigned:
            operation = operation.replace(" s", " u")
        return self.code.emit(self.kind.of("i1"), f"{operation} {self}, {right.name}")


class Code:
    """The instructions of one function, and the declarations that they need.

    fused: whether `fma` is one instruction; otherwise it is a product and a sum, rounded twice.  So with float16.
    """

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self._count = 0

    def emit(self, kind: Kind, instruction: str) -> Value:
        self._count += 1
        value = Value(self, kind, f"%v{self._count}")
        self.lines.append(f" {value.name} = {instruction}")
        return value

    def constant(self, number: float, kind: Kind) -> Value:
        return Value(self, kind, kind.constant(number))

    def operand(self, given: Value | float, kind: Kind) -> Value:
        if not isinstance(given, Value):
            return self.constant(given, kind)
        assert given.kind == kind, f"{given} beside {kind}"
        return given

    def intrinsic(self, name: str, *operands: Value, kind: Kind | None = None) -> Value:
        """A call of `@llvm.<name>.<suffix of the first operand>`; the result is of that kind too, or of `kind`."""
        first = operands[0].kind
        kind = kind or first
        symbol = f"@llvm.{name}.{first.suffix}"
        self.declarations[f"declare {kind} {symbol}({', '.join(str(o.kind) for o in operands)})"] = None
        return self.emit(kind, f"call {kind} {symbol}({', '.join(map(str, operands))})")

    def fma(self, a: Value, b: Value | float, c: Value | float) -> Value:
        """a*b + c, rounded once where the target can."""
        b, c = self.operand(b, a.kind), self.operand(c, a.kind)
        return self.intrinsic("fma", a, b, c) if self.fused else a * b + c

    def looked_up(self, symbol: str, table: Sequence[float], index: Value) -> Value:
        """table[index] in every lane, as doubles; an index outside of the table is a fault of ours, not checked."""
        kind = Kind("double", index.kind.lanes)
        array = f"[{len(table)} x double]"
        numbers = ", ".join(f"double {Kind('double').constant(number)}" for number in table)
        self.declarations[f"{symbol} = internal constant {array} [{numbers}]"] = None
        if kind.lanes == 1:
            return self._loaded(array, symbol, index)
        found = Value(self, kind, "poison")
        for lane in range(kind.lanes):
            one = self.emit(Kind(index.kind.element), f"extractelement {index}, i32 {lane}")
            found = self.emit(kind, f"insertelement {found}, {self._loaded(array, symbol, one)}, i32 {lane}")
        return found

    def _loaded(self, array: str, symbol: str, index: Value) -> Value:
        place = self.emit(Kind("i64"), f"getelementptr {array}, ptr {symbol}, i64 0, {index}")
        return self.emit(Kind("double"), f"load double, ptr {place.name}")

    def select(self, condition: Value, then: Value | float, otherwise: Value) -> Value:
        then = self.operand(then, otherwise.kind)
        return self.emit(otherwise.kind, f"select {condition}, {then}, {otherwise}")

    def absolute(self, x: Value) -> Value:
        return self.intrinsic("fabs", x)

    def with_sign(self, x: Value, sign: Value) -> Value:
        """The magnitude of x with the sign of the other."""
        return self.intrinsic("copysign", x, sign)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """c[0] + c[1]*x + c[2]*x*x + ..., from the highest term down."""
        total = self.constant(coefficients[-1], x.kind)
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, c)
        return total

    def if_any(self, condition: Value, rare: Callable[[], Value], usual: Value) -> Value:
        """What `rare` makes if the condition holds in any lane, the usual value otherwise."""
        chosen = condition
        if condition.kind.lanes > 1:
            chosen = self.intrinsic("vector.reduce.or", condition, kind=Kind("i1"))
        self._count += 1
        before, then, after, done = (f"{name}{self._count}" for name in ("before", "then", "after", "done"))
        self.lines.append(f" br label %{before}")
        self._open(before)  # for phi to name
        self.lines.append(f" br {chosen}, label %{then}, label %{done}")
        self._open(then)
        found = rare()
        self.lines.append(f" br label %{after}")
        self._open(after)
        self.lines.append(f" br label %{done}")
        self._open(done)
        return self.emit(usual.kind, f"phi {usual.kind} [{usual.name}, %{before}], [{found.name}, %{after}]")

    def _open(self, block: str) -> None:
        self.lines.append(f"{block}:")
