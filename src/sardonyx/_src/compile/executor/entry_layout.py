"""Memory layout of the frames of the native functions `enter` and `enter_sized`, in i64 slots, and their results.

A frame is what a function compares the arrays of a call with, and what it needs to run the program.  `fast_entry.py` and
`sized_entry.py` generate the functions.
"""

from __future__ import annotations

from sardonyx._src.compile.executor import status
from sardonyx._src.dataclass import dataclass

ARRAY_COUNT, FEED_COUNT, RELOCATION_COUNT = 0, 1, 2  # numbers of arrays, of fed arrays, and of relocations
ARRAY_TYPE = 3  # address of the type object numpy.ndarray
# RUN_FUNCTION: the address of `run` (`tape.py`), or 0.  RECORDS: the number of records of the tape.
RUN_FUNCTION, TAPE, RECORDS, SCRATCH, STRIDE, STATUS = range(4, 10)
RELEASE_GIL, ACQUIRE_GIL = 10, 11  # addresses of PyEval_SaveThread and PyEval_RestoreThread, or 0
MAKE_NUMBER = 12  # address of PyLong_FromLongLong
STRING_COUNT, STRING_TYPE = 13, 14  # number of arrays of strings, which come last; address of the type str
FRAME_BODY = 15
DONE, MISMATCH, FAULT, READY, RESIZED = range(5)  # RESIZED: of `enter_sized` only (`sized_entry.py`)
CLEARED_STATUS = (
    status.FAULT,
    status.NODES_CALLED,
    status.RESUME_RECORD,
    status.RESUME_UNIT,
    status.LONG_UNITS,
)
REQUIRED_FLAGS = 0x1 | 0x100  # array flags: C-contiguous and aligned
# Masks the slot of a dtype that holds its kind, character, byte order, flags and type number: without the
# flags, and without the bit in which the byte orders '<' and '=' differ.
ELEMENT_BITS = 0xFFFFFFFF_00FEFFFF


def element_slot(kind: str, character: str, number: int) -> int:
    """The masked slot of a dtype in the byte order of the machine."""
    order = ord("=") << 16
    return (ord(kind) | ord(character) << 8 | order | number << 32) & ELEMENT_BITS


# Where C's long has 64 bits, NumPy has two types of 64-bit integers, which are equal: those of long long, and of long, which is
# the usual one.
LONG_INTEGERS = (
    (element_slot("i", "q", 9), element_slot("i", "l", 7)),
    (element_slot("u", "Q", 10), element_slot("u", "L", 8)),
)


@dataclass(frozen=True, slots=True)
class ArrayFields:
    """Offsets of the fields of a PyArrayObject, in slots: pointers, except that rank and flags are C ints."""

    type_object: int
    data: int
    rank: int
    dims: int
    dtype: int
    flags: int

    @property
    def element(self) -> int:
        """The offset, in a dtype object, of the slot after its scalar type, which `ELEMENT_BITS` masks."""
        return self.type_object + 2


# The frame of `enter_sized` continues that of `enter`.
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
