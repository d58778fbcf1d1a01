"""Builder of one LLVM function as text: types, values with overloaded operators, and straight-line instructions.

It corresponds to llvmlite's `IRBuilder`, but writes text.  Each operator on an `LLVMValue` appends one instruction to
the function of its `FunctionBuilder`; a Python number as the other operand becomes a constant of the value's type, in
every lane.  Floating-point operations carry no fast-math flags: each rounds once, NaN and infinities are kept, and
only `fma` contracts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from sardonyx._src.dataclass import dataclass

Element = Literal[
    "float", "double", "i1", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "f16", "b16"
]
LLVM_ELEMENTS = {"u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64", "f16": "i16", "b16": "i16"}
INTRINSIC_SUFFIXES = {"float": "f32", "double": "f64"}
BITCAST_ELEMENTS: dict[Element, Element] = {"float": "i32", "double": "i64", "i32": "float", "i64": "double"}


@dataclass(frozen=True, slots=True)
class LLVMType:
    """A scalar or vector type: an element type and a number of lanes (1: a scalar).

    Unlike LLVM's integers, `u8` to `u64` are unsigned: division, comparison, shift and widening depend on it.  `f16` and
    `b16` are the bits of float16 and bfloat16, i16 in LLVM, and have no arithmetic.
    """

    element: Element
    lanes: int = 1

    def __str__(self) -> str:
        element = LLVM_ELEMENTS.get(self.element, self.element)
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    @property
    def llvm_element(self) -> str:
        """The element type in LLVM's syntax, which has no signedness: `i8` for `u8`, `i16` for float16 and bfloat16."""
        return LLVM_ELEMENTS.get(self.element, self.element)

    @property
    def suffix(self) -> str:
        """The type suffix of intrinsic names: `f32`, `v16f32`."""
        element = INTRINSIC_SUFFIXES.get(self.llvm_element, self.llvm_element)
        return element if self.lanes == 1 else f"v{self.lanes}{element}"

    @property
    def is_float(self) -> bool:
        return self.element in ("float", "double")

    @property
    def is_half(self) -> bool:
        """Whether the elements are the bits of float16 or bfloat16, a storage type without arithmetic."""
        return self.element in ("f16", "b16")

    @property
    def is_unsigned(self) -> bool:
        return self.element.startswith("u")

    @property
    def bits(self) -> int:
        """The width of one element."""
        return {"float": 32, "double": 64}.get(self.element) or int(self.element[1:])

    def with_element(self, element: Element) -> LLVMType:
        return replace(self, element=element)

    def constant(self, number: float) -> str:
        """The LLVM text of a constant: the number in every lane, rounded to the element type, floats in hexadecimal."""
        if self.element == "float":
            number = struct.unpack("f", struct.pack("f", number))[0]
        if self.is_float:
            text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        else:
            assert number == int(number), f"constant of {self} must be an integer; got {number}"
            text = str(int(number)) if self.element != "i1" else str(bool(number)).lower()
        return text if self.lanes == 1 else f"splat ({self.llvm_element} {text})"


@dataclass(frozen=True, slots=True, eq=False)
class LLVMValue:
    """The result of an instruction, or a constant, in the function of one builder."""

    builder: FunctionBuilder
    type: LLVMType
    name: str

    def __add__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("fadd", "add", other)

    def __sub__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("fsub", "sub", other)

    def __mul__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("fmul", "mul", other)

    def __truediv__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("fdiv", "", other)

    def __radd__(self, other: float) -> LLVMValue:
        return self.builder.constant(other, self.type) + self

    def __rsub__(self, other: float) -> LLVMValue:
        return self.builder.constant(other, self.type) - self

    def __rmul__(self, other: float) -> LLVMValue:
        return self.builder.constant(other, self.type) * self

    def __rtruediv__(self, other: float) -> LLVMValue:
        return self.builder.constant(other, self.type) / self

    def __neg__(self) -> LLVMValue:
        return self.builder.emit(self.type, f"fneg {self}") if self.type.is_float else 0 - self

    def __and__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("", "and", other)

    def __or__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("", "or", other)

    def __xor__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("", "xor", other)

    def __lshift__(self, other: LLVMValue | float) -> LLVMValue:
        return self._binary("", "shl", other)

    def __rshift__(self, other: LLVMValue | float) -> LLVMValue:
        """Shifts right: arithmetically if the type is signed, logically otherwise."""
        return self._binary("", "lshr" if self.type.is_unsigned else "ashr", other)

    def __lt__(self, other: LLVMValue | float) -> LLVMValue:
        return self._compare("fcmp olt", "icmp slt", other)

    def __le__(self, other: LLVMValue | float) -> LLVMValue:
        return self._compare("fcmp ole", "icmp sle", other)

    def __gt__(self, other: LLVMValue | float) -> LLVMValue:
        return self._compare("fcmp ogt", "icmp sgt", other)

    def __ge__(self, other: LLVMValue | float) -> LLVMValue:
        return self._compare("fcmp oge", "icmp sge", other)

    def eq(self, other: LLVMValue | float) -> LLVMValue:
        """Equality, lane by lane; ordered, so that NaN equals nothing."""
        return self._compare("fcmp oeq", "icmp eq", other)

    def ne(self, other: LLVMValue | float) -> LLVMValue:
        """Inequality, lane by lane; unordered, so that NaN differs from itself."""
        return self._compare("fcmp une", "icmp ne", other)

    def clamp_max(self, limit: float) -> LLVMValue:
        """min(self, limit) with a constant limit; NaN stays NaN."""
        bound = self.builder.constant(limit, self.type)
        return self.builder.select(bound < self, bound, self)

    def clamp_min(self, limit: float) -> LLVMValue:
        """max(self, limit) with a constant limit; NaN stays NaN."""
        bound = self.builder.constant(limit, self.type)
        return self.builder.select(bound > self, bound, self)

    @property
    def is_constant(self) -> bool:
        return not self.name.startswith("%")

    def bitcast(self) -> LLVMValue:
        """The bits of floats as signed integers of the same width, and the reverse."""
        return self.convert("bitcast", BITCAST_ELEMENTS[self.type.element])

    def convert(self, opcode: str, element: Element) -> LLVMValue:
        """Applies a conversion instruction: `fpext`, `fptrunc`, `fptosi`, `sitofp`, `zext`, `bitcast`."""
        result_type = self.type.with_element(element)
        return self.builder.emit(result_type, f"{opcode} {self} to {result_type}")

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    def _binary(self, floating: str, integer: str, other: LLVMValue | float) -> LLVMValue:
        operation = floating if self.type.is_float else integer
        assert operation and not self.type.is_half, f"no such instruction for {self.type}"
        right = self.builder.as_value(other, self.type)
        return self.builder.emit(self.type, f"{operation} {self}, {right.name}")

    def _compare(self, floating: str, integer: str, other: LLVMValue | float) -> LLVMValue:
        right = self.builder.as_value(other, self.type)
        operation = floating if self.type.is_float else integer
        if self.type.is_unsigned:
            operation = operation.replace(" s", " u")
        return self.builder.emit(self.type.with_element("i1"), f"{operation} {self}, {right.name}")


class FunctionBuilder:
    """Collects the instructions of one function and the declarations that they need.

    has_fma: whether the target has fused multiply-add.  Without it, `fma` is a product and a sum, rounded twice.
    converts_half: whether it has instructions that convert float16.  Without them, float16 is converted by integer
    instructions.
    """

    def __init__(self, has_fma: bool) -> None:
        self.has_fma = self.converts_half = has_fma
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self._count = 0

    def emit(self, llvm_type: LLVMType, instruction: str) -> LLVMValue:
        """Appends an instruction and returns its result, which has the given type."""
        self._count += 1
        value = LLVMValue(self, llvm_type, f"%v{self._count}")
        self.lines.append(f" {value.name} = {instruction}")
        return value

    def constant(self, number: float, llvm_type: LLVMType) -> LLVMValue:
        return LLVMValue(self, llvm_type, llvm_type.constant(number))

    def as_value(self, operand: LLVMValue | float, llvm_type: LLVMType) -> LLVMValue:
        """The operand itself, which must have this type, or a number as a constant of this type."""
        if not isinstance(operand, LLVMValue):
            return self.constant(operand, llvm_type)
        assert operand.type == llvm_type, f"operand must be of type {llvm_type}; got {operand}"
        return operand

    def call_intrinsic(
        self, name: str, *operands: LLVMValue, result_type: LLVMType | None = None
    ) -> LLVMValue:
        """Calls `@llvm.<name>.<suffix of the first operand>`; the result has the first operand's type by default."""
        first = operands[0].type
        result_type = result_type or first
        symbol = f"@llvm.{name}.{first.suffix}"
        self.declarations[f"declare {result_type} {symbol}({', '.join(str(o.type) for o in operands)})"] = (
            None
        )
        return self.emit(result_type, f"call {result_type} {symbol}({', '.join(map(str, operands))})")

    def fma(self, a: LLVMValue, b: LLVMValue | float, c: LLVMValue | float) -> LLVMValue:
        """a*b + c, rounded once if the target has the instruction."""
        b, c = self.as_value(b, a.type), self.as_value(c, a.type)
        return self.call_intrinsic("fma", a, b, c) if self.has_fma else a * b + c

    def table_lookup(self, symbol: str, table: Sequence[float], index: LLVMValue) -> LLVMValue:
        """Gathers table[index] as doubles, lane by lane; the index is not checked.  `symbol` names the constant array."""
        vector_type = LLVMType("double", index.type.lanes)
        array_type = f"[{len(table)} x double]"
        numbers = ", ".join(f"double {LLVMType('double').constant(number)}" for number in table)
        self.declarations[f"{symbol} = internal constant {array_type} [{numbers}]"] = None
        if vector_type.lanes == 1:
            return self._load_table_entry(array_type, symbol, index)
        vector = LLVMValue(self, vector_type, "poison")
        for lane in range(vector_type.lanes):
            entry = self.emit(LLVMType(index.type.element), f"extractelement {index}, i32 {lane}")
            number = self._load_table_entry(array_type, symbol, entry)
            vector = self.emit(vector_type, f"insertelement {vector}, {number}, i32 {lane}")
        return vector

    def _load_table_entry(self, array_type: str, symbol: str, index: LLVMValue) -> LLVMValue:
        pointer = self.emit(LLVMType("i64"), f"getelementptr {array_type}, ptr {symbol}, i64 0, {index}")
        return self.emit(LLVMType("double"), f"load double, ptr {pointer.name}")

    def select(self, condition: LLVMValue, then: LLVMValue | float, otherwise: LLVMValue) -> LLVMValue:
        then = self.as_value(then, otherwise.type)
        return self.emit(otherwise.type, f"select {condition}, {then}, {otherwise}")

    def fabs(self, x: LLVMValue) -> LLVMValue:
        return self.call_intrinsic("fabs", x)

    def copysign(self, x: LLVMValue, sign: LLVMValue) -> LLVMValue:
        """The magnitude of x with the sign of `sign`."""
        return self.call_intrinsic("copysign", x, sign)

    def horner(self, x: LLVMValue, coefficients: Sequence[float]) -> LLVMValue:
        """c[0] + c[1]*x + c[2]*x*x + ..., evaluated by Horner's scheme."""
        result = self.constant(coefficients[-1], x.type)
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def branch_if_any(
        self, condition: LLVMValue, emit_rare: Callable[[], LLVMValue], common: LLVMValue
    ) -> LLVMValue:
        """The result of `emit_rare`, executed only if the condition holds in any lane; `common` otherwise."""
        is_any = condition
        if condition.type.lanes > 1:
            is_any = self.call_intrinsic("vector.reduce.or", condition, result_type=LLVMType("i1"))
        self._count += 1
        before, then, after, done = (f"{name}{self._count}" for name in ("before", "then", "after", "done"))
        self.lines.append(f" br label %{before}")
        self.start_block(before)  # the phi needs the name of the predecessor
        self.lines.append(f" br {is_any}, label %{then}, label %{done}")
        self.start_block(then)
        rare = emit_rare()
        self.lines.append(f" br label %{after}")
        self.start_block(after)
        self.lines.append(f" br label %{done}")
        self.start_block(done)
        return self.emit(
            common.type, f"phi {common.type} [{common.name}, %{before}], [{rare.name}, %{after}]"
        )

    def start_block(self, block: str) -> None:
        """Begins a basic block; the block before it must have ended with a terminator."""
        self.lines.append(f"{block}:")
