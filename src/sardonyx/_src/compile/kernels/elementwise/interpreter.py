"""The interpreter: a function that computes what the descriptor of an elementwise kernel says, with its arguments.

An interpreted kernel passes its descriptor (`descriptor.py`) in place of scratch memory, and has no other code; its
compiled module is a template whose words `llvm/interpreted_code.py` fills in.  Loop nest:

    for each unit of work:
        for each block of elements: a part of a row, or several short rows     addresses of the rows in each tensor
            for each instruction: a loop over the elements of the block
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.elementwise.descriptor import HEADER_WORDS
from sardonyx._src.compile.kernels.elementwise.interpreter_instructions import (
    BLOCK,
    MAX_SLOTS,
    MAX_TENSORS,
    SLOT_BYTES,
    instructions,
)
from sardonyx._src.compile.kernels.elementwise.loop_nest import emit_row
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseVariant
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning
from sardonyx._src.compile.program import element_bytes
from sardonyx._src.dataclass import dataclass

INTERPRETER, DESCRIPTOR, TEMPLATE = "sx_interpreter", "descriptor", f"sx_{'0' * 24}"  # symbols
SIGNATURE = "ptr %args, i64 %first, i64 %last, ptr"
MAX_PIECES = 32  # rows in a block
MASK = 0xFF


@dataclass(frozen=True, slots=True)
class InterpreterState:
    """The state of the kernel: the counts in the descriptor's header, and its memory on the stack.

    slots: the blocks.  addresses: the address of each piece of a block in each tensor.
    """

    rank: LLVMValue
    tensors: LLVMValue
    constants: LLVMValue
    instructions: LLVMValue
    slots: str
    addresses: str


@dataclass(frozen=True, slots=True)
class ElementBlock:
    """Elements of `pieces` rows from `row` on, `length` of each from `first` on."""

    row: LLVMValue
    pieces: LLVMValue
    first: LLVMValue
    length: LLVMValue


def kernel_template() -> str:
    """The LLVM module of an interpreted kernel with a descriptor of one word, in a section of its own."""
    return f"""@{DESCRIPTOR} = weak hidden constant [1 x i64] zeroinitializer, section ".rodata.words", align 8
declare hidden void @{INTERPRETER}(ptr, i64, i64, ptr)
define void @{TEMPLATE}({SIGNATURE} %scratch) nounwind {{
 tail call void @{INTERPRETER}({SIGNATURE} @{DESCRIPTOR})
 ret void
}}"""


def interpreter_module(target: Target) -> str:
    """The LLVM module of the interpreter."""
    b = KernelBuilder(target)
    rank, tensors, constants, count = (word(b, b.constant(i, I64)) for i in range(HEADER_WORDS))
    slots = allocate(b, "slots", MAX_SLOTS * SLOT_BYTES)
    addresses = allocate(b, "addresses", MAX_TENSORS * MAX_PIECES * 8)
    state = InterpreterState(rank, tensors, constants, count, slots, addresses)
    fill_constants(b, state)
    length, rows, rows_per_unit = (argument(b, state.tensors + i) for i in range(3))
    size = ElementwiseTuning.unit_elements
    segments = b.udiv(length + (size - 1), size)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        group, segment = b.udivmod(unit, segments)
        first = segment * size
        end = b.min(first + size, length)
        end_row = b.min((group + 1) * rows_per_unit, rows)
        pieces = pieces_of_block(b, end - first)
        with (
            steps(b, group * rows_per_unit, end_row, pieces) as (row, count),
            steps(b, first, end, b.constant(BLOCK, I64)) as (column, columns),
        ):
            emit_block(b, state, ElementBlock(row, count, column, columns))
    return b.build_module(INTERPRETER)


def pieces_of_block(b: KernelBuilder, width: LLVMValue) -> LLVMValue:
    """The rows of a block, of this many elements each."""
    fitting = b.udiv(b.constant(BLOCK, I64), b.select(width < 1, 1, width))
    return b.min(b.select(fitting < 1, 1, fitting), MAX_PIECES)


@contextmanager
def steps(
    b: KernelBuilder, first: LLVMValue, end: LLVMValue, step: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue]]:
    """The body of a loop over parts of a range: where each begins, and its length, at most `step`."""
    with b.loop(first, end + (step - 1), step) as start:
        yield start, b.min(step, end - start)


# --- words and arguments ---------------------------------------------------------------------


def word(b: KernelBuilder, index: LLVMValue) -> LLVMValue:
    return b.load(MemoryLocation(b.gep(b.scratch, index, "i64"), I64))


def argument(b: KernelBuilder, index: LLVMValue) -> LLVMValue:
    return b.load(MemoryLocation(b.gep("%args", index, "i64"), I64))


def allocate(b: KernelBuilder, name: str, size: int) -> str:
    """Memory on the stack."""
    b.allocas.append(f" %{name} = alloca [{size} x i8], align 64")
    return f"%{name}"


def fields(b: KernelBuilder, instruction: LLVMValue) -> list[LLVMValue]:
    """The fields of an instruction after its number."""
    shifted = (b.emit(I64, f"lshr {instruction}, {16 + 8 * i}") for i in range(4))
    return [field & MASK for field in shifted]


def slot_address(b: KernelBuilder, state: InterpreterState, slot: LLVMValue) -> str:
    return b.gep(state.slots, slot * SLOT_BYTES, "i8")


# --- blocks ----------------------------------------------------------------------------------


def fill_constants(b: KernelBuilder, state: InterpreterState) -> None:
    first = state.tensors * 2 + HEADER_WORDS
    single, whole = b.constant(1, I64), b.constant(BLOCK, I64)
    with b.loop(b.constant(0, I64), state.constants, name="constant") as i:
        place = first + i * 2
        instruction = word(b, place)
        source = b.gep(b.scratch, place + 1, "i64")
        b.lines.append(f" store ptr {source}, ptr {state.addresses}, align 8")
        moves = [item for item in numbered() if item[1].startswith("load") and item[1].endswith("same")]
        with switch(b, instruction & 0xFFFF, [number for number, _, _ in moves]) as cases:
            for (_, _, variant), case in zip(moves, cases, strict=True):
                b.start_block(case)
                block = ElementBlock(i, single, i, whole)
                emit_move(
                    b, state, block, variant, fields(b, instruction)[0], b.constant(0, I64), is_load=True
                )


def emit_block(b: KernelBuilder, state: InterpreterState, block: ElementBlock) -> None:
    emit_addresses(b, state, block)
    first = (state.tensors + state.constants) * 2 + HEADER_WORDS
    items = [*numbered()]
    with b.loop(first, first + state.instructions, name="instruction") as i:
        instruction = word(b, i)
        with switch(b, instruction & 0xFFFF, [number for number, _, _ in items]) as cases:
            for (_, name, variant), case in zip(items, cases, strict=True):
                b.start_block(case)
                emit_instruction(b, state, block, name, variant, fields(b, instruction))


def numbered() -> Iterator[tuple[int, str, ElementwiseVariant]]:
    """The number, name and variant of each instruction."""
    for number, (name, variant) in enumerate(instructions()):
        yield number, name, variant


@contextmanager
def switch(b: KernelBuilder, value: LLVMValue, numbers: Sequence[int]) -> Iterator[Iterator[str]]:
    """Branches by a number: yields the label of each case, in the order of `numbers`; the next one, or the end, closes a case."""
    done = b.new_label("done")
    labels = [b.new_label("case") for _ in numbers]
    table = " ".join(f"i64 {number}, label %{label}" for number, label in zip(numbers, labels, strict=True))
    b.lines.append(f" switch {value}, label %{done} [{table}]")

    def cases() -> Iterator[str]:
        for label in labels:
            yield label
            b.lines.append(f" br label %{done}")

    yield cases()
    b.start_block(done)


def emit_addresses(b: KernelBuilder, state: InterpreterState, block: ElementBlock) -> None:
    """Stores the address of each piece of a block in each tensor, row by row."""
    zero = b.constant(0, I64)
    dims = state.tensors + 2  # argument slots of the dims outside of a row, of which the first has none
    strides = dims + b.select(state.rank < 1, b.constant(1, I64), state.rank)
    with (
        b.loop(zero, block.pieces, name="piece") as piece,
        b.loop(zero, state.tensors, name="tensor") as tensor,
    ):
        size, kind = (word(b, tensor * 2 + HEADER_WORDS + i) for i in range(2))
        slot = b.select(kind < 2, zero, kind)
        stride = b.select(kind < 2, kind, argument(b, slot))
        offset, rest = b.new_slot("offset", I64), b.new_slot("rest", I64)
        b.store(offset, block.first * stride)
        b.store(rest, block.row + piece)
        with b.loop(zero, state.rank, name="axis") as i:
            axis = state.rank - 1 - i
            dim = b.select(axis.eq(0), b.constant(1 << 62, I64), argument(b, dims + axis))
            row, index = b.udivmod(b.load(rest), dim)
            b.store(rest, row)
            b.store(offset, b.load(offset) + index * argument(b, strides + tensor * state.rank + axis))
        base = b.load_pointer(b.gep("%args", tensor, "i64"))
        address = b.gep(base, b.load(offset) * size, "i8")
        place = b.gep(state.addresses, tensor * MAX_PIECES + piece, "i64")
        b.lines.append(f" store ptr {address}, ptr {place}, align 8")


def emit_instruction(
    b: KernelBuilder,
    state: InterpreterState,
    block: ElementBlock,
    name: str,
    variant: ElementwiseVariant,
    operands: Sequence[LLVMValue],
) -> None:
    if name.startswith(("load", "store")):
        is_load = name.startswith("load")
        slot, tensor = operands[:2] if is_load else (operands[1], operands[0])
        emit_move(b, state, block, variant, slot, tensor, is_load=is_load)
        return
    addresses = [slot_address(b, state, slot) for slot in operands[: 1 + len(variant.inputs)]]
    steps = [None] * len(addresses)
    emit_row(b, variant, steps, addresses, b.constant(0, I64), block.pieces * block.length, unroll=1)


def emit_move(
    b: KernelBuilder,
    state: InterpreterState,
    block: ElementBlock,
    variant: ElementwiseVariant,
    slot: LLVMValue,
    tensor: LLVMValue,
    *,
    is_load: bool,
) -> None:
    """Copies a block from or to a tensor, piece by piece."""
    zero = b.constant(0, I64)
    moved = variant.inputs[0] if is_load else variant.outputs[0]
    step = None
    if moved.access == "far":
        step = argument(b, word(b, tensor * 2 + HEADER_WORDS + 1))
    start = slot_address(b, state, slot)
    with b.loop(zero, block.pieces, name="piece") as piece:
        inside = b.gep(start, piece * block.length * element_bytes(moved.dtype), "i8")
        outside = b.load_pointer(b.gep(state.addresses, tensor * MAX_PIECES + piece, "i64"))
        addresses, moved_steps = (
            ([inside, outside], [None, step]) if is_load else ([outside, inside], [step, None])
        )
        emit_row(b, variant, moved_steps, addresses, zero, block.length, unroll=1)
