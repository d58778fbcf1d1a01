"""Native fast path for inputs of any sizes: `enter` (`fast_entry.py`), which also computes the slots for new sizes.

    ptr enter_sized(ptr self, ptr args, i64 count)

`args` are the fed arrays, then an array for each output, or the fed arrays alone.  A dim of a feed is a number, the first
dim of a symbol, which gives it its length, or another dim of a symbol, which must have this length.  Where a length differs
from that of the run before, the size function of the program (`program/encoding/size_functions.py`) computes the slots
that depend on sizes, and the port dims (`program/encoding/port_dims.py`).  They are used if no guard fails, no size exceeds
its limit, and arena and scratch have room.

In addition to the results of `enter`, it returns `RESIZED`: the outputs have other dims than those that were computed for
these feeds; the caller makes new outputs and calls again.  For feeds without outputs, it returns `RESIZED` if their lengths
are new, and else `READY`.  After `MISMATCH`, the slots are those of an earlier run.

The frame begins with the slots of `fast_entry` and those below.  Then it has
- for each fed array: the address of its element type, its rank, and for each dim two slots: the address of the length of its
  symbol, or 0 for a number; and the number, or `BINDS` or `COMPARES`;
- for each equation (`program/encoding/length_equations.py`): its constant, the number of its factors, and for each of them
  the address of a length, and the factor;
- for each dim of an output: the index of its array, its axis, and the address of the computed dim;
- for each relocation: the index of its array, the address of the slot, and the address of the offset in bytes.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue, Target
from sardonyx._src.compile.executor.fast_entry import (
    ARRAY_COUNT,
    FEED_COUNT,
    FRAME_BODY,
    READY,
    RECORDS,
    RELEASE_GIL,
    RESIZED,
    RUN_FUNCTION,
    STRIDE,
    TAPE,
    ArrayFields,
    FastEntryBuilder,
)
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS, WEIGHT

# SYMBOL_COUNT: the number of symbols.  FED_LENGTHS: the address of their lengths in the feeds, and then the stage for the size
# function.  LENGTHS: the address of the lengths that the slots are computed for, the first of them -1 before any are.
SYMBOL_COUNT, FED_LENGTHS, LENGTHS = range(FRAME_BODY, FRAME_BODY + 3)
# Addresses of the size function, of its results, and of the varying slots: pairs of the address of a slot and its base address.
SIZE_FUNCTION, RESULTS, VARYING, VARYING_COUNT = range(FRAME_BODY + 3, FRAME_BODY + 7)
# ARENA_BYTES: the size of the arena.  THREADS: the number of scratch memories.  MAX_BYTES: the limit of arena, scratch
# and outputs together.
ARENA_BYTES, THREADS, MAX_BYTES = range(FRAME_BODY + 7, FRAME_BODY + 10)
OUTPUT_DIM_COUNT, EQUATION_COUNT = FRAME_BODY + 10, FRAME_BODY + 11
IS_RESIZED = FRAME_BODY + 12  # address of a slot that is set to 1 before the program's slots are written
# RUN_ALONE, SAVE_THREAD: what RUN_FUNCTION and RELEASE_GIL become for a tape of less, or of more nominal nanoseconds than
# MAX_ALONE, or MIN_RELEASE.  ITERATIONS: the assumed number of iterations of the tape.
RUN_ALONE, MAX_ALONE, SAVE_THREAD, MIN_RELEASE, ITERATIONS = range(FRAME_BODY + 13, FRAME_BODY + 18)
SIZE_LIMIT = FRAME_BODY + 18  # the limit of lengths, sizes and offsets
SIZED_BODY = FRAME_BODY + 19
BINDS, COMPARES = 1, 0
ARENA_RESULT, SCRATCH_RESULT, OUTPUT_BYTES_RESULT, DIM_RESULTS = range(4)  # results after the varying slots
ENTRIES = ("enter", "enter_sized")
MAX_WEIGHT = 1 << 40  # of a tape; its product with the number of iterations fits a slot


def entry_module(target: Target, fields: ArrayFields) -> str:
    """The LLVM module of `enter` and `enter_sized`."""
    return "\n".join(builder(target, fields).build() for builder in (FastEntryBuilder, SizedEntryBuilder))


class SizedEntryBuilder(FastEntryBuilder):
    """Emits `enter_sized`."""

    def build(self) -> str:
        self.store(self.cursor, self.constant(SIZED_BODY, I64))
        count, feeds = self.parameter("count"), self.load_slot(self.frame, FEED_COUNT)
        self.mismatch_if(count.ne(self.load_slot(self.frame, ARRAY_COUNT)) & count.ne(feeds))
        zero = self.constant(0, I64)
        with self.loop(zero, feeds, name="fed") as i:
            self.check_array(i)
        with self.loop(zero, self.load_slot(self.frame, EQUATION_COUNT), name="equation"):
            self.check_equation()
        is_new = self.has_new_lengths()
        with self.if_then(is_new):
            self.resize()
        with self.if_then(count.eq(feeds)):
            self.return_if(is_new, RESIZED)
            self.return_number(READY)
        with self.loop(zero, self.load_slot(self.frame, OUTPUT_DIM_COUNT), name="output"):
            self.return_if(self.differs_from_computed(), RESIZED)
        self.patch_and_run()
        return self.build_function("ptr @enter_sized(ptr %self, ptr %args, i64 %count)")

    def check_dim(self, length: LLVMValue) -> None:
        """Compares a dim of a feed with a number or the length of its symbol, or binds the symbol."""
        index = self.load(self.cursor)
        has_symbol = self.load_slot(self.frame, index).ne(0)
        symbol, number = self.next_pointer(), self.next_slot()
        self.mismatch_if(has_symbol.eq(0) & length.ne(number))
        with self.if_then(has_symbol):
            with self.if_then(number.eq(BINDS)):
                self.store_slot(symbol, 0, length)
            self.mismatch_if(length.ne(self.load_slot(symbol, 0)))

    def check_equation(self) -> None:
        """Returns `MISMATCH` unless the lengths satisfy the next equation of the frame."""
        total, limit = self.new_slot("total", I64), self.load_slot(self.frame, SIZE_LIMIT)
        self.store(total, self.next_slot())
        with self.loop(self.constant(0, I64), self.next_slot(), name="factor"):
            length = self.load_slot(self.next_pointer(), 0)
            self.mismatch_if(length > limit)
            self.store(total, self.load(total) + length * self.next_slot())
        self.mismatch_if(self.load(total).ne(0))

    def has_new_lengths(self) -> LLVMValue:
        """Whether a length differs from those that the slots are computed for."""
        fed, known = (self.load_slot_pointer(self.frame, slot) for slot in (FED_LENGTHS, LENGTHS))
        differs = self.new_slot("differs", I64)
        self.store(differs, self.constant(0, I64))
        with self.loop(self.constant(0, I64), self.load_slot(self.frame, SYMBOL_COUNT), name="symbol") as i:
            difference = self.load_slot(fed, i) ^ self.load_slot(known, i)
            self.store(differs, self.load(differs) | difference)
        return self.load(differs).ne(0)

    def differs_from_computed(self) -> LLVMValue:
        """Whether the next dim of the frame differs from the computed dim."""
        array, axis = self.load_slot_pointer("%args", self.next_slot()), self.next_slot()
        length = self.load_slot(self.load_slot_pointer(array, self.fields.dims), axis)
        return length.ne(self.load_slot(self.next_pointer(), 0))

    def next_offset(self) -> LLVMValue:
        """The offset at the address in the next slot of the frame."""
        return self.load_slot(self.next_pointer(), 0)

    # --- new sizes ---------------------------------------------------------------------------

    def resize(self) -> None:
        """Computes the slots for the lengths of the feeds; returns `MISMATCH` if the run is not possible with these slots."""
        frame = self.frame
        fed, known, results, sizes = (
            self.load_slot_pointer(frame, slot) for slot in (FED_LENGTHS, LENGTHS, RESULTS, SIZE_FUNCTION)
        )
        self.store_slot(known, 0, -1)
        self.mismatch_if(self.emit(I64, f"call i64 {sizes}(ptr {fed}, ptr {results})").ne(0))
        self.check_results(results)
        self.store_slot(self.load_slot_pointer(frame, IS_RESIZED), 0, 1)
        self.store_slots(results)
        self.choose_runner()
        with self.loop(self.constant(0, I64), self.load_slot(frame, SYMBOL_COUNT), name="length") as i:
            self.store_slot(self.gep(known, i, "i64"), 0, self.load_slot(fed, i))

    def check_results(self, results: str) -> None:
        """Returns `MISMATCH` unless all sizes are within their limits."""
        frame, zero = self.frame, self.constant(0, I64)
        count, limit = self.load_slot(frame, VARYING_COUNT), self.load_slot(frame, SIZE_LIMIT)
        with self.loop(zero, count, name="value") as i:
            value = self.load_slot(results, i)
            self.mismatch_if((value > limit) | (value + limit < 0))
        arena, scratch, outputs = (
            self.load_slot(results, count + result)
            for result in (ARENA_RESULT, SCRATCH_RESULT, OUTPUT_BYTES_RESULT)
        )
        self.mismatch_if((arena < 0) | (arena > self.load_slot(frame, ARENA_BYTES)))
        self.mismatch_if((scratch < 0) | (scratch > self.load_slot(frame, STRIDE)))
        self.mismatch_if((outputs < 0) | (outputs > limit))
        required = arena + scratch * self.load_slot(frame, THREADS) + outputs
        self.mismatch_if(required > self.load_slot(frame, MAX_BYTES))
        with self.loop(zero, self.load_slot(frame, OUTPUT_DIM_COUNT), name="dim") as i:
            dim = self.load_slot(results, count + DIM_RESULTS + i)
            self.mismatch_if((dim < 0) | (dim > limit))

    def store_slots(self, results: str) -> None:
        """Writes the computed values, with their base addresses, into the program's slots."""
        table = self.load_slot_pointer(self.frame, VARYING)
        with self.loop(self.constant(0, I64), self.load_slot(self.frame, VARYING_COUNT), name="slot") as i:
            target, base = self.load_slot_pointer(table, i * 2), self.load_slot(table, i * 2 + 1)
            self.store_slot(target, 0, self.load_slot(results, i) + base)

    def choose_runner(self) -> None:
        """Decides by the weight of the tape whether this thread runs it alone, and whether it releases the GIL."""
        frame, weight = self.frame, self.new_slot("weight", I64)
        self.store(weight, self.constant(0, I64))
        tape = self.load_slot_pointer(frame, TAPE)
        with self.loop(self.constant(0, I64), self.load_slot(frame, RECORDS), name="record") as i:
            total = self.load(weight) + self.load_slot(tape, i * RECORD_SLOTS + WEIGHT)
            self.store(weight, self.min(total, MAX_WEIGHT))
        nanoseconds = self.load(weight) * self.load_slot(frame, ITERATIONS)
        zero = self.constant(0, I64)
        is_alone = nanoseconds < self.load_slot(frame, MAX_ALONE)
        self.store_slot(frame, RUN_FUNCTION, self.select(is_alone, self.load_slot(frame, RUN_ALONE), zero))
        is_long = nanoseconds > self.load_slot(frame, MIN_RELEASE)
        self.store_slot(frame, RELEASE_GIL, self.select(is_long, self.load_slot(frame, SAVE_THREAD), zero))
