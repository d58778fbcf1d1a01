"""The size interpreter: `i64 interpret(ptr lengths, ptr values, ptr words)`, which computes any size function.

lengths, values and the result are those of a size function (`size_functions.py`), words those of `size_words.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.program.encoding.dim_builder import DimBuilder
from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64
from sardonyx._src.compile.program.encoding.size_words import MAX_REGISTERS, OPERATIONS

INTERPRETER, DESCRIPTOR, FUNCTION = "sx_sizes", "descriptor", "sizes"  # symbols


def template_text() -> str:
    """The LLVM module of a size function with one word, in a section of its own."""
    return f"""@{DESCRIPTOR} = weak hidden constant [1 x i64] zeroinitializer, section ".rodata.words", align 8
declare hidden i64 @{INTERPRETER}(ptr, ptr, ptr)
define i64 @{FUNCTION}(ptr %lengths, ptr %values) nounwind {{
 %result = tail call i64 @{INTERPRETER}(ptr %lengths, ptr %values, ptr @{DESCRIPTOR})
 ret i64 %result
}}"""


def interpreter_text() -> str:
    """The LLVM module of the interpreter."""
    return SizeInterpreterBuilder().module()


class SizeInterpreterBuilder(DimBuilder):
    """Emits the loop over the instructions."""

    def __init__(self) -> None:
        super().__init__({})
        self.allocas.append(f" %registers = alloca [{MAX_REGISTERS} x i64], align 64")
        self.place = self.new_slot("place", I64)
        self.target = self.new_slot("target", I64)
        self.violations = self.new_slot("violations", I64)

    def module(self) -> str:
        self.store(self.violations, self.read("%words", self.constant(0, I64)))
        self.store(self.place, self.constant(2, I64))
        self.store(self.target, self.constant(0, I64))
        index = self.read("%words", self.constant(1, I64))
        stage = self.read("%lengths", self.select(index < 0, self.constant(0, I64), index))
        self.known_stage = self.select(index < 0, MAX_INT64, stage)
        self.enter_block("next")
        word = self.next_word()
        self.operation_stage, self.result, self.first, self.second = (
            self.emit(I64, f"lshr {word}, {shift}") & mask
            for shift, mask in ((8, 0xFF), (16, 0xFFFF), (32, 0xFFFF), (48, 0xFFFF))
        )
        table = " ".join(f"i64 {i}, label %case{name_of(op)}" for i, op in enumerate(OPERATIONS))
        self.lines.append(f" switch {word & 0xFF}, label %caseend [{table}]")
        for operation, emit in self.cases().items():
            self.start_block(f"case{name_of(operation)}")
            self.overflows.clear()
            value = emit()
            if value is not None:
                self.write("%registers", self.result, value)
            for _, overflow in self.overflows:
                self.count(overflow)
            self.lines.append(" br label %next")
        self.start_block("caseend")
        head = f"define i64 @{INTERPRETER}(ptr %lengths, ptr %values, ptr %words) nounwind {{"
        result = f" ret {self.load(self.violations)}"
        return "\n".join((*self.declarations, head, "entry:", *self.allocas, *self.lines, result, "}"))

    def cases(self) -> Mapping[str, Callable[[], LLVMValue | None]]:
        """What each operation emits; it returns its result, if it has one."""
        return {
            "constant": self.next_word,
            "length": lambda: self.read("%lengths", self.first),
            "add": lambda: self.emit_checked("sadd", *self.operands()),
            "multiply": lambda: self.emit_checked("smul", *self.operands()),
            **{op: partial(self.call, op) for op in ("//", "%", "max", "min")},
            "saturated_add": lambda: self.emit_saturated("sadd", *self.operands()),
            "saturated_multiply": lambda: self.emit_saturated("smul", *self.operands()),
            "and": lambda: self.operands()[0] & self.operands()[1],
            "store": self.store_value,
            "check_negative": lambda: self.count(self.operands()[0] < 0),
            "check_unequal": lambda: self.count(self.operands()[0].ne(self.operands()[1])),
        }

    def call(self, operation: str) -> LLVMValue:
        return self.emit_call(operation, *self.operands())

    def operands(self) -> tuple[LLVMValue, LLVMValue]:
        return self.read("%registers", self.first), self.read("%registers", self.second)

    def next_word(self) -> LLVMValue:
        place = self.load(self.place)
        self.store(self.place, place + 1)
        return self.read("%words", place)

    def store_value(self) -> None:
        target = self.load(self.target)
        self.write("%values", target, self.operands()[0])
        self.store(self.target, target + 1)

    def count(self, fails: LLVMValue) -> None:
        """Counts a violation if its stage is known."""
        counted = fails & (self.known_stage >= self.operation_stage)
        self.store(self.violations, self.load(self.violations) + counted.convert("zext", "i64"))

    def read(self, array: str, index: LLVMValue) -> LLVMValue:
        return self.load(MemoryLocation(self.gep(array, index, "i64"), I64))

    def write(self, array: str, index: LLVMValue, value: LLVMValue) -> None:
        self.store(MemoryLocation(self.gep(array, index, "i64"), I64), value)


def name_of(operation: str) -> str:
    """The name of an operation in labels."""
    return {"//": "quotient", "%": "remainder"}.get(operation, operation)
