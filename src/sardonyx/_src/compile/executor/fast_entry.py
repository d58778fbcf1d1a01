"""Native fast path of a session: checks that the feeds have the types and dims of an earlier run, and executes the tape.

    ptr enter(ptr self, ptr args, i64 count)

is a CPython function (METH_FASTCALL).  `self` is a NumPy array of i64 slots, the *frame*; `args` are the fed arrays,
then new arrays for the outputs.  It checks each fed array against the frame: a NumPy array, C-contiguous and aligned,
of the same element type and dims.  Equal element types may be different objects, as after unpickling an array, or as
`np.longlong` and `np.int64`, so their content is compared if the objects differ.  `enter` then writes the addresses of the arrays' elements into the
slots of the program (relocations), and runs the tape on one thread.

It returns a Python int: `DONE`; `MISMATCH` (nothing has happened); `FAULT` (a kernel has set the fault slot); or
`READY`: the slots are patched, and the caller runs the tape from the record in the status block on, because the frame
has no `run` function, or because a signal interval has passed.

After the slots named below, the frame has
- for each fed array: the address of its element type, its rank and its dims;
- for each array of strings: the same, then its number of elements, all of which must have exactly the type `str`;
- for each relocation: the index of its array, the address of the slot, and the offset in bytes from the
  array's first element.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.atomics import RuntimeFunctionBuilder
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.entry_layout import (
    ACQUIRE_GIL,
    ARRAY_COUNT,
    ARRAY_TYPE,
    CLEARED_STATUS,
    DONE,
    ELEMENT_BITS,
    FAULT,
    FEED_COUNT,
    FRAME_BODY,
    LONG_INTEGERS,
    MAKE_NUMBER,
    MISMATCH,
    READY,
    RECORDS,
    RELEASE_GIL,
    RELOCATION_COUNT,
    REQUIRED_FLAGS,
    RUN_FUNCTION,
    SCRATCH,
    STATUS,
    STRIDE,
    STRING_COUNT,
    STRING_TYPE,
    TAPE,
    ArrayFields,
)


class FastEntryBuilder(RuntimeFunctionBuilder):
    """Emits `enter`."""

    def __init__(self, target: Target, fields: ArrayFields) -> None:
        super().__init__(target)
        self.fields = fields
        self.has_long_of_64_bits = "windows" not in target.triple
        self.frame = self.load_slot_pointer("%self", fields.data)
        self.cursor = self.new_slot("at", I64)  # index of the next slot of the frame to read

    def build(self) -> str:
        self.store(self.cursor, self.constant(FRAME_BODY, I64))
        self.mismatch_if(self.parameter("count").ne(self.load_slot(self.frame, ARRAY_COUNT)))
        zero = self.constant(0, I64)
        with self.loop(zero, self.load_slot(self.frame, FEED_COUNT), name="fed") as i:
            self.check_array(i)
        strings = self.load_slot(self.frame, STRING_COUNT)
        with self.loop(zero, strings, name="strings") as i:
            self.check_strings(self.parameter("count") - strings + i)
        self.patch_and_run()
        return self.build_function("ptr @enter(ptr %self, ptr %args, i64 %count)")

    def patch_and_run(self) -> None:
        """Writes the addresses of arrays into slots, runs the tape, and returns how far it came."""
        relocations = self.load_slot(self.frame, RELOCATION_COUNT)
        with self.loop(self.constant(0, I64), relocations, name="port"):
            self.patch_pointer()
        status_block = self.load_slot_pointer(self.frame, STATUS)
        for slot in CLEARED_STATUS:
            self.store_slot(status_block, slot, 0)
        self.return_if(self.load_slot(self.frame, RUN_FUNCTION).eq(0), READY)
        with self.without_gil():
            self.run_tape()
        reached = self.load_slot(status_block, status.RESUME_RECORD)
        self.return_if(reached < self.load_slot(self.frame, RECORDS), READY)
        self.return_if(self.load_slot(status_block, status.FAULT).ne(0), FAULT)
        self.return_number(DONE)

    def next_slot(self) -> LLVMValue:
        """Loads the next slot of the frame."""
        index = self.load(self.cursor)
        self.store(self.cursor, index + 1)
        return self.load_slot(self.frame, index)

    def next_pointer(self) -> str:
        """Loads the next slot of the frame, an address, as a pointer."""
        index = self.load(self.cursor)
        self.store(self.cursor, index + 1)
        return self.load_slot_pointer(self.frame, index)

    def check_array(self, index: LLVMValue) -> None:
        """Checks a fed array against the frame; returns `MISMATCH` from the function if it differs."""
        fields, array = self.fields, self.load_slot_pointer("%args", index)
        self.mismatch_if(self.load_slot(array, fields.type_object).ne(self.load_slot(self.frame, ARRAY_TYPE)))
        self.check_dtype(array)
        self.mismatch_if((self.load_c_int(array, fields.flags) & REQUIRED_FLAGS).ne(REQUIRED_FLAGS))
        rank, dims = self.next_slot(), self.load_slot_pointer(array, fields.dims)
        self.mismatch_if(self.load_c_int(array, fields.rank).ne(rank))
        with self.loop(self.constant(0, I64), rank, name="dim") as i:
            self.check_dim(self.load_slot(dims, i))

    def check_dim(self, length: LLVMValue) -> None:
        """Compares a dim with the next slot of the frame."""
        self.mismatch_if(length.ne(self.next_slot()))

    def check_strings(self, index: LLVMValue) -> None:
        """Checks an array of strings against the frame, and the types of its elements."""
        self.check_array(index)
        array = self.load_slot_pointer("%args", index)
        elements = self.load_slot_pointer(array, self.fields.data)
        expected = self.load_slot(self.frame, STRING_TYPE)
        with self.loop(self.constant(0, I64), self.next_slot(), name="string") as i:
            self.mismatch_if(self.load_slot(elements, i).eq(0))
            element = self.load_slot_pointer(elements, i)
            self.mismatch_if(self.load_slot(element, self.fields.type_object).ne(expected))

    def check_dtype(self, array: str) -> None:
        """Checks an array's element type against the next slot of the frame: the same object, or one with the same content."""
        index = self.load(self.cursor)
        is_other = self.load_slot(array, self.fields.dtype).ne(self.next_slot())
        with self.if_then(is_other):
            dtypes = (
                self.load_slot_pointer(array, self.fields.dtype),
                self.load_slot_pointer(self.frame, index),
            )
            fed, expected = (self.load_slot(dtype, self.fields.element) & ELEMENT_BITS for dtype in dtypes)
            for other, usual in LONG_INTEGERS if self.has_long_of_64_bits else ():
                fed = self.select(fed.eq(other), usual, fed)
            self.mismatch_if(fed.ne(expected))

    def patch_pointer(self) -> None:
        """Applies the next relocation of the frame: writes the address of an array's elements into a slot."""
        array = self.load_slot_pointer("%args", self.next_slot())
        target = self.next_pointer()
        self.store_slot(target, 0, self.load_slot(array, self.fields.data) + self.next_offset())

    def next_offset(self) -> LLVMValue:
        """The next slot of the frame: an offset."""
        return self.next_slot()

    def run_tape(self) -> None:
        """Runs the tape on this thread, and stores the record that it reached in the status block."""
        frame = self.frame
        end, stride = (self.load_slot(frame, slot) for slot in (RECORDS, STRIDE))
        run, tape, scratch = (self.load_slot_pointer(frame, slot) for slot in (RUN_FUNCTION, TAPE, SCRATCH))
        block = self.load_slot_pointer(frame, STATUS)
        arguments = f"ptr {tape}, i64 0, {end}, ptr null, i64 1, ptr {scratch}, {stride}, ptr {block}"
        reached = self.emit(I64, f"call i64 {run}({arguments})")
        self.store_slot(block, status.RESUME_RECORD, reached)

    @contextmanager
    def without_gil(self) -> Iterator[None]:
        """Code that runs with the GIL released, if the frame has the functions for that."""
        state = self.new_slot("state", I64)
        releases_gil = self.load_slot(self.frame, RELEASE_GIL).ne(0)
        with self.if_then(releases_gil):
            release = self.load_slot_pointer(self.frame, RELEASE_GIL)
            self.store(state, self.emit(I64, f"call i64 {release}()"))
        yield
        with self.if_then(releases_gil):
            value, acquire = self.load(state), self.load_slot_pointer(self.frame, ACQUIRE_GIL)
            self.lines.append(f" call void {acquire}({value})")

    def load_c_int(self, base: str, index: int) -> LLVMValue:
        """Loads a C int, extended to i64."""
        return self.load(MemoryLocation(self.slot_address(base, index), LLVMType("i32"))).convert(
            "zext", "i64"
        )

    def mismatch_if(self, condition: LLVMValue) -> None:
        self.return_if(condition, MISMATCH)

    def return_if(self, condition: LLVMValue, number: int) -> None:
        with self.if_then(condition):
            self.return_number(number)

    def return_number(self, number: int) -> None:
        self._count += 1
        name = f"%n{self._count}"
        self.lines.append(
            f" {name} = call ptr {self.load_slot_pointer(self.frame, MAKE_NUMBER)}(i64 {number})"
        )
        self.emit_return(f"ptr {name}")
