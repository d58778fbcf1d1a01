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
  symbol, or 0 for a number; and the number, or `BINDS` or `COMPARES`; then two slots: the address of the length that is the
  element of the array (a fed count), or 0, and the bytes of the element, 4 or 8;
- for each equation (`program/encoding/length_equations.py`): whether it is a bound, its constant, the number of its factors,
  and for each of them the address of a length, and the factor;
- for each dim of an output: the index of its array, its axis, and the address of the computed dim;
- for each relocation: the index of its array, the address of the slot, and the address of the offset in bytes.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.executor.entry_layout import (
    ARENA_BYTES,
    ARENA_RESULT,
    ARRAY_COUNT,
    BINDS,
    DIM_RESULTS,
    EQUATION_COUNT,
    FED_LENGTHS,
    FEED_COUNT,
    IS_RESIZED,
    ITERATIONS,
    LENGTHS,
    MAX_ALONE,
    MAX_BYTES,
    MAX_WEIGHT,
    MIN_RELEASE,
    OUTPUT_BYTES_RESULT,
    OUTPUT_DIM_COUNT,
    READY,
    RECORDS,
    RELEASE_GIL,
    RESIZED,
    RESULTS,
    RUN_ALONE,
    RUN_FUNCTION,
    SAVE_THREAD,
    SCRATCH_RESULT,
    SIZE_FUNCTION,
    SIZE_LIMIT,
    SIZED_BODY,
    STRIDE,
    SYMBOL_COUNT,
    TAPE,
    THREADS,
    VARYING,
    VARYING_COUNT,
    ArrayFields,
)
from sardonyx._src.compile.executor.fast_entry import FastEntryBuilder
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS, WEIGHT


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

    def check_array(self, index: LLVMValue) -> None:
        """Checks a fed array, and binds the symbol whose length its element is."""
        super().check_array(index)
        slot = self.load(self.cursor)
        is_count = self.load_slot(self.frame, slot).ne(0)
        symbol, size = self.next_pointer(), self.next_slot()
        with self.if_then(is_count):
            array = self.load_slot_pointer("%args", index)
            elements = self.load_slot_pointer(array, self.fields.data)
            narrow = self.load(MemoryLocation(elements, LLVMType("i32"))).convert("sext", "i64")
            self.store_slot(symbol, 0, narrow)
            with self.if_then(size.eq(8)):
                self.store_slot(symbol, 0, self.load_slot(elements, 0))
            count = self.load_slot(symbol, 0)
            self.mismatch_if((count < 0) | (count > self.load_slot(self.frame, SIZE_LIMIT)))

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
        is_bound = self.next_slot().ne(0)
        self.store(total, self.next_slot())
        with self.loop(self.constant(0, I64), self.next_slot(), name="factor"):
            length = self.load_slot(self.next_pointer(), 0)
            self.mismatch_if(length > limit)
            self.store(total, self.load(total) + length * self.next_slot())
        result = self.load(total)
        self.mismatch_if((result < 0) | (result.ne(0) & is_bound.eq(0)))

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
