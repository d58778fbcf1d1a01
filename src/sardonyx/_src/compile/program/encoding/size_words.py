"""Size functions as words, which the size interpreter (`size_interpreter.py`) computes without any compilation.

The words are the number of violations known in advance, the index of the stage among the lengths or -1, and the
instructions, each in one word, the last of which is `END`: the operation and the stage (8 bits each), then the result and
two operands (16 bits each), which are registers.  A constant follows its instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.encoding.size_functions import runtime_dims, sized_values
from sardonyx._src.compile.program.encoding.size_limits import fits_int64
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.program import Program, stage_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol

OPERATIONS = (
    "end constant length add multiply // % max min saturated_add saturated_multiply and "
    "store check_negative check_unequal"
).split()
NUMBERS = {name: i for i, name in enumerate(OPERATIONS)}
WITHOUT_RESULT = ("store", "check_negative", "check_unequal")
MAX_REGISTERS = 4096
MAX_STAGE = 255


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation on values, which are numbers of earlier instructions.

    immediate: the constant, or the index of the length.
    """

    operation: str
    operands: tuple[int, ...] = ()
    stage: int = 0
    immediate: int = 0


class SizeRecorder:
    """Records the instructions of a size function; each expression and constant is computed once."""

    def __init__(self, program: Program) -> None:
        self.stages = dict(program.stages)
        self.instructions: list[Instruction] = []
        self.constants: dict[int, int] = {}
        self.computed: dict[Expr | DimCall, int] = {}
        self.violations = 0
        names = enumerate(program.stages)
        self.symbols = {name: self.append(Instruction("length", immediate=i)) for i, name in names}

    def append(self, instruction: Instruction) -> int:
        """The value of a new instruction."""
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def apply(self, operation: str, *operands: int, stage: int = 0) -> int:
        return self.append(Instruction(operation, operands, stage))

    def number(self, number: int) -> int:
        """A constant; 0, which counts as a violation, for one that an i64 cannot hold."""
        if not fits_int64(number):
            self.violations += 1
            number = 0
        if number not in self.constants:
            self.constants[number] = self.append(Instruction("constant", immediate=number))
        return self.constants[number]

    def dim(self, dim: Known) -> int:
        if not isinstance(dim, Expr):
            return self.number(dim)
        if dim not in self.computed:
            stage = stage_of(dim, self.stages)
            terms = [self.term(monomial, factor, stage) for monomial, factor in dim.terms.items()]
            self.computed[dim] = reduce(lambda a, b: self.apply("add", a, b, stage=stage), terms)
        return self.computed[dim]

    def term(self, monomial: Sequence[Atom], factor: int, stage: int) -> int:
        factors = [self.atom(atom) for atom in monomial]
        if factor != 1 or not factors:
            factors.append(self.number(factor))
        return reduce(lambda a, b: self.apply("multiply", a, b, stage=stage), factors)

    def atom(self, atom: Atom) -> int:
        if isinstance(atom, Symbol):
            return self.symbols[atom.name]
        assert isinstance(atom, DimCall), f"size must be an expression of dims; got {atom}"
        if atom not in self.computed:
            stage = max(stage_of(arg, self.stages) for arg in atom.args)
            args = [self.dim(arg) for arg in atom.args]
            self.computed[atom] = reduce(lambda a, b: self.apply(atom.op, a, b, stage=stage), args)
        return self.computed[atom]

    def largest(self, sizes: Iterable[Known], stage: int = 0) -> int:
        """The maximum of some sizes and 0, in whole cache lines."""
        largest = reduce(lambda a, b: self.apply("max", a, b), map(self.dim, sizes), self.number(0))
        padded = self.apply("add", largest, self.number(CACHE_LINE_BYTES - 1), stage=stage)
        return self.apply("and", padded, self.number(-CACHE_LINE_BYTES))

    def arena(self, encoding: Encoding) -> int:
        """The size of the arena; the offsets of its slots become symbols."""
        total = self.number(encoding.plan.size)
        for i, slot in enumerate(encoding.plan.slots):
            sizes = dict.fromkeys(buffer.size for buffer in slot.buffers)
            stage = max(stage_of(size, self.stages) for size in sizes)
            self.symbols[f"slot {i}"], self.stages[f"slot {i}"] = total, stage
            total = self.apply("add", total, self.largest(sizes, stage), stage=stage)
        return total

    def port_values(self, program: Program) -> Iterator[int]:
        """The bytes of all outputs, at most the greatest i64, and their dims."""
        ports = port_dims(program)
        if ports is None:
            return
        total = self.number(0)
        for tensor in ports.outputs:
            size = self.number(tensor.dtype.numpy.itemsize)
            for dim in tensor.shape:
                size = self.apply("saturated_multiply", size, self.dim(dim))
            total = self.apply("saturated_add", total, size)
        yield total
        yield from map(self.dim, ports.output_dims)

    def checks(self, program: Program) -> None:
        for dim in runtime_dims(program):
            self.apply("check_negative", self.dim(dim), stage=stage_of(dim, self.stages))
        for left, right in program.guards:
            stage = max(stage_of(left, self.stages), stage_of(right, self.stages))
            self.apply("check_unequal", self.dim(left), self.dim(right), stage=stage)


def size_words(program: Program, encoding: Encoding) -> tuple[int, ...] | None:
    """The size function of a program; None if it needs more registers or stages than the interpreter has."""
    recorder = SizeRecorder(program)
    arena = recorder.arena(encoding)
    values = [*map(recorder.dim, sized_values(encoding)), arena, recorder.largest(encoding.scratch_sizes)]
    for value in (*values, *recorder.port_values(program)):
        recorder.apply("store", value)
    recorder.checks(program)
    if any(stage > MAX_STAGE for stage in recorder.stages.values()):
        return None
    words = encode_instructions(recorder.instructions)
    if words is None:
        return None
    has_stages = any(program.stages.values())
    return (
        encoding.oversized + recorder.violations,
        len(program.stages) if has_stages else -1,
        *words,
        NUMBERS["end"],
    )


def encode_instructions(instructions: Sequence[Instruction]) -> list[int] | None:
    """The words of instructions, with registers for their values; None if there are too few."""
    last = {operand: i for i, instruction in enumerate(instructions) for operand in instruction.operands}
    registers: dict[int, int] = {}
    free: list[int] = []
    words: list[int] = []
    used = 0
    for i, instruction in enumerate(instructions):
        operands = [registers[operand] for operand in instruction.operands]
        free += {registers[operand] for operand in instruction.operands if last[operand] == i}
        result = 0
        if instruction.operation not in WITHOUT_RESULT:
            if not free:
                free.append(used)
                used += 1
            result = free.pop()
            if i in last:
                registers[i] = result
            else:
                free.append(result)
        if instruction.operation == "length":
            operands = [instruction.immediate]
        words.append(encode_instruction(instruction, result, operands))
        if instruction.operation == "constant":
            words.append(instruction.immediate)
    return words if used <= MAX_REGISTERS and len(registers) < 1 << 16 else None


def encode_instruction(instruction: Instruction, result: int, operands: Sequence[int]) -> int:
    first, second = (*operands, 0, 0)[:2]
    word = NUMBERS[instruction.operation] | instruction.stage << 8 | result << 16 | first << 32 | second << 48
    return word - (1 << 64) if word >= 1 << 63 else word
