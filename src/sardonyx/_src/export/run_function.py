"""The run function of a library, the same for all models: checks the memory of a call, writes the slots, executes the tape.

    i32 execute(ptr inputs, ptr outputs, ptr arena, i64 bytes, ptr weights, ptr head)

`inputs` and `outputs` are arrays of pointers, `head` is the data of the library (`layout.py`), and `weights` is null unless
the caller passes them.  It returns one of `outcomes`.  It is the run loop of sessions (`compile/executor/tape.py`) without
what a process needs: threads, signals and deadlines.  A record is executed by one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.atomics import (
    DEFAULT_FLOAT_MODE,
    INTRINSIC_DECLARATIONS,
    RuntimeFunctionBuilder,
    architecture_family,
)
from sardonyx._src.compile.executor import pool_layout, status
from sardonyx._src.compile.program.encoding.slot_bases import (
    ARENA_BASE,
    NO_BASE,
    SLOTS_BASE,
    STATUS_BASE,
)
from sardonyx._src.export import layout, outcomes

U16 = LLVMType("u16")


def run_module(target: Target) -> str:
    """The LLVM module that defines `@execute`."""
    return "\n".join(
        (
            f"@{layout.CODE_SYMBOL} = external hidden constant i64, align {layout.ALIGNMENT}",
            *INTRINSIC_DECLARATIONS[architecture_family(target)],
            RunFunctionBuilder(target).build(),
        )
    )


class RunFunctionBuilder(RuntimeFunctionBuilder):
    """Emits `@execute`."""

    def build(self) -> str:
        self.check_memory()
        inputs, outputs = (self.head(slot) for slot in (layout.INPUT_COUNT, layout.OUTPUT_COUNT))
        self.check_ports("%inputs", inputs, self.constant(0, I64))
        self.check_ports("%outputs", outputs, inputs)
        self.write_bases(inputs, outputs)
        self.write_slots()
        self.write_status()
        with self.float_mode():
            self.execute_tape()
        self.return_reported()
        return self.build_function(
            f"hidden i32 @{layout.RUN_SYMBOL}"
            "(ptr %inputs, ptr %outputs, ptr %arena, i64 %bytes, ptr %weights, ptr %head)"
        )

    # --- checks ------------------------------------------------------------------------------

    def check_memory(self) -> None:
        """Checks the arena, and the weights that a caller passes."""
        arena, weights = self.address("%arena"), self.address("%weights")
        is_small = self.parameter("bytes") < self.head(layout.ARENA_BYTES)
        self.return_if(arena.eq(0) | is_small, outcomes.ARENA_TOO_SMALL)
        self.return_if((arena & (layout.ALIGNMENT - 1)).ne(0), outcomes.MISALIGNED_ARENA)
        is_external = self.head(layout.WEIGHTS).eq(0)
        is_wrong = weights.eq(0) | (weights & (layout.ALIGNMENT - 1)).ne(0)
        self.return_if(is_external & is_wrong, outcomes.MISALIGNED_WEIGHTS)

    def check_ports(self, pointers: str, count: LLVMValue, first: LLVMValue) -> None:
        """Checks pointers to inputs or outputs, unless these have no elements.  first: the number of the first port."""
        alignments = self.part(layout.PORTS)
        with self.loop(self.constant(0, I64), count, name="port") as i:
            alignment = self.load_slot(alignments, first + i)
            with self.if_then(alignment.ne(0)):
                address = self.load_slot(pointers, i)
                self.return_if(address.eq(0), outcomes.NULL_POINTER)
                self.return_if((address & (alignment - 1)).ne(0), outcomes.MISALIGNED_POINTER)

    # --- memory ------------------------------------------------------------------------------

    def write_bases(self, inputs: LLVMValue, outputs: LLVMValue) -> None:
        """Writes the base addresses into the arena."""
        bases = self.arena_part(layout.BASES_AT)
        weights, own = self.address("%weights"), self.address("%head") + self.head(layout.WEIGHTS)
        fixed = {
            NO_BASE: self.constant(0, I64),
            ARENA_BASE: self.address(self.arena_part(layout.TENSORS_AT)),
            SLOTS_BASE: self.address("%arena"),
            STATUS_BASE: self.address(self.arena_part(layout.STATUS_AT)),
            layout.CODE_BASE: self.address(f"@{layout.CODE_SYMBOL}"),
            layout.WEIGHTS_BASE: self.select(self.head(layout.WEIGHTS).eq(0), weights, own),
        }
        for index, base in fixed.items():
            self.store_slot(bases, index, base)
        after_inputs = inputs + layout.PORT_BASES
        for pointers, count, first in (
            ("%inputs", inputs, layout.PORT_BASES),
            ("%outputs", outputs, after_inputs),
        ):
            with self.loop(self.constant(0, I64), count, name="base") as i:
                self.store(
                    MemoryLocation(self.slot_address(bases, i + first), I64), self.load_slot(pointers, i)
                )

    def write_slots(self) -> None:
        """Writes each slot into the arena: its value and its base address, added."""
        values, indices, bases = (
            self.part(layout.VALUES),
            self.part(layout.BASES),
            self.arena_part(layout.BASES_AT),
        )
        with self.loop(self.constant(0, I64), self.head(layout.SLOT_COUNT), name="slot") as i:
            index = self.load(MemoryLocation(self.gep(indices, i, "u16"), U16)).convert("zext", "i64")
            number = self.load_slot(values, i) + self.load_slot(bases, index)
            self.store(MemoryLocation(self.slot_address("%arena", i), I64), number)

    def write_status(self) -> None:
        """Clears the status block, and sets the limits of the run."""
        block = self.arena_part(layout.STATUS_AT)
        for slot in range(status.STATUS_SLOTS):
            self.store_slot(block, slot, 0)
        self.store_slot(block, status.MAX_NODES, self.head(layout.MAX_NODES))
        self.store_slot(block, status.MAX_ITERATIONS, self.head(layout.MAX_ITERATIONS))

    # --- the tape ----------------------------------------------------------------------------

    @contextmanager
    def float_mode(self) -> Iterator[None]:
        """Code in the default floating-point mode; the caller's mode is restored after it."""
        default = self.constant(DEFAULT_FLOAT_MODE[self.architecture], I64)
        callers = self.load_float_mode()
        self.store_float_mode(default)
        yield
        self.store_float_mode(callers)

    def execute_tape(self) -> None:
        """Executes the records, from the first to the end, with their jumps."""
        i, scratch = self.new_slot("record", I64), self.arena_part(layout.SCRATCH_AT)
        count = self.head(layout.RECORD_COUNT)
        self.store(i, self.constant(0, I64))
        with self.loop_while(lambda: self.load(i) < count):
            record = self.slot_address("%arena", self.load(i) * pool_layout.RECORD_SLOTS)
            units = self.load_slot(record, pool_layout.UNITS)
            with self.if_then(units > 0):
                kernel, args = (
                    self.load_slot_pointer(record, n) for n in (pool_layout.KERNEL, pool_layout.ARGS)
                )
                self.lines.append(f" call void {kernel}(ptr {args}, i64 0, {units}, ptr {scratch})")
            distance = self.load_slot(record, pool_layout.JUMP)
            self.store(i, self.load(i) + 1)
            with self.if_then(distance.ne(0)):
                is_set = self.load_slot(self.load_slot_pointer(record, pool_layout.FLAG), 0).ne(0)
                with self.if_then(is_set):
                    self.store(i, self.load(i) + (distance - 1))

    def return_reported(self) -> None:
        """Returns what kernels reported in the status block."""
        block = self.arena_part(layout.STATUS_AT)
        has_failed = self.load_slot(block, status.FAULT).ne(0)
        is_limit = self.load_slot(block, status.EXCEEDED_LIMIT).ne(0)
        self.return_if(has_failed & is_limit, outcomes.LIMIT_EXCEEDED)
        self.return_if(has_failed, outcomes.INDEX_OUT_OF_RANGE)
        self.emit_return(f"i32 {outcomes.OK}")

    # --- addresses ---------------------------------------------------------------------------

    def head(self, slot: int) -> LLVMValue:
        return self.load_slot("%head", slot)

    def part(self, slot: int) -> str:
        """The pointer to the part of the data whose offset is in a slot of the head."""
        return self.gep("%head", self.head(slot), "i8")

    def arena_part(self, slot: int) -> str:
        """The pointer to the part of the arena whose offset is in a slot of the head."""
        return self.gep("%arena", self.head(slot), "i8")

    def address(self, pointer: str) -> LLVMValue:
        return self.emit(I64, f"ptrtoint ptr {pointer} to i64")

    def return_if(self, condition: LLVMValue, outcome: int) -> None:
        with self.if_then(condition):
            self.emit_return(f"i32 {outcome}")
