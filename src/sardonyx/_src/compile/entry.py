"""The native code behind a run whose feeds are like those of an earlier one: its LLVM text.

    ptr enter(ptr self, ptr args, i64 count)

is a function as Python calls them (METH_FASTCALL).  `self` is an array of words, the *frame*; `args` are the arrays that
are fed, then new ones for the outputs.  It holds those that are fed to the frame: plain, aligned NumPy arrays, row-major, of these
very element types and dims.  It then puts the addresses of their elements into the program's words, and runs the tape
alone.  It answers with a Python number: `DONE`, `UNLIKE` (nothing has happened), `FAULT` (kernels noted something), or
`READY`: all is in place, and the caller runs the tape from the record that the status tells, because the frame has no
runner or because it has done a stretch.

Behind the words named here a frame has, for each array that is fed, its element type's address, its rank and its dims;
then for each word to put down the number of its array, its address, and its distance from the array's first element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile import status
from sardonyx._src.compile.atomics import Native
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Kind, Value

COUNT, FED, PORTS = 0, 1, 2  # arrays; those of them that are fed; words to put down
ARRAY = 3  # address of the type of arrays
RUN, TAPE, RECORDS, SCRATCH, STRIDE, STATUS = range(4, 10)  # RUN: address of the runner of tapes, or 0
SAVE, RESTORE = 10, 11  # addresses of the functions that let go of Python's lock and take it again, or 0
NUMBER = 12  # address of the function that makes a Python number
FIRST = 13
DONE, UNLIKE, FAULT, READY = range(4)
PLAIN = 0x1 | 0x100  # flags of an array: row-major and aligned


@dataclass(frozen=True, slots=True)
class Fields:
    """Where an array has its fields, in words from its beginning: pointers, but ints for rank and flags."""

    kind: int
    data: int
    rank: int
    dims: int
    dtype: int
    flags: int


def source(target: Target, fields: Fields) -> str:
    """The module of `enter`."""
    return Entry(target, fields).text()


class Entry(Native):
    """The instructions of `enter`."""

    def __init__(self, target: Target, fields: Fields) -> None:
        super().__init__(target)
        self.fields = fields
        self.frame = self.pointer("%self", fields.data)
        self.at = self.new_slot("at", I64)  # what is read next of the frame

    def text(self) -> str:
        self.write(self.at, self.constant(FIRST, I64))
        self.unlike_when(self.parameter("count").differs(self.word(self.frame, COUNT)))
        zero = self.constant(0, I64)
        self.counted(zero, self.word(self.frame, FED), 1, self.hold, "fed")
        self.counted(zero, self.word(self.frame, PORTS), 1, lambda _: self.put_down(), "port")
        told = self.pointer(self.frame, STATUS)
        for word in (status.FAULT, status.NODES, status.AT):
            self.put(told, word, 0)
        self.when(self.word(self.frame, RUN).equals(0), lambda: self.answer_number(READY))
        self.unlocked(self.run)
        is_under_way = self.word(told, status.AT) < self.word(self.frame, RECORDS)
        self.when(is_under_way, lambda: self.answer_number(READY))
        is_noted = self.word(told, status.FAULT).differs(0)
        self.when(is_noted, lambda: self.answer_number(FAULT))
        self.answer_number(DONE)
        return self.function("ptr @enter(ptr %self, ptr %args, i64 %count)")

    def next(self) -> Value:
        """The next word of the frame."""
        at = self.read(self.at)
        self.write(self.at, at + 1)
        return self.word(self.frame, at)

    def hold(self, index: Value) -> None:
        """Holds an array that is fed to what the frame says of it."""
        fields, array = self.fields, self.pointer("%args", index)
        self.unlike_when(self.word(array, fields.kind).differs(self.word(self.frame, ARRAY)))
        self.unlike_when(self.word(array, fields.dtype).differs(self.next()))
        self.unlike_when((self.c_int(array, fields.flags) & PLAIN).differs(PLAIN))
        rank, dims = self.next(), self.pointer(array, fields.dims)
        self.unlike_when(self.c_int(array, fields.rank).differs(rank))
        zero = self.constant(0, I64)
        self.counted(
            zero, rank, 1, lambda i: self.unlike_when(self.word(dims, i).differs(self.next())), "dim"
        )

    def put_down(self) -> None:
        array = self.pointer("%args", self.next())
        at = self.read(self.at)
        self.write(self.at, at + 1)
        place = self.pointer(self.frame, at)
        self.put(place, 0, self.word(array, self.fields.data) + self.next())

    def run(self) -> None:
        frame = self.frame
        numbers = {name: self.word(frame, word) for name, word in (("to", RECORDS), ("stride", STRIDE))}
        run, tape, scratch = (self.pointer(frame, word) for word in (RUN, TAPE, SCRATCH))
        given = f"ptr {tape}, i64 0, {numbers['to']}, ptr null, i64 1, ptr {scratch}, {numbers['stride']}"
        reached = self.emit(I64, f"call i64 {run}({given})")
        self.put(self.pointer(frame, STATUS), status.AT, reached)

    def unlocked(self, body: Callable[[], None]) -> None:
        """The body without Python's lock, if the frame says so."""
        state = self.new_slot("state", I64)
        is_long = self.word(self.frame, SAVE).differs(0)
        self.when(
            is_long, lambda: self.write(state, self.emit(I64, f"call i64 {self.pointer(self.frame, SAVE)}()"))
        )
        body()
        self.when(is_long, lambda: self.restore(self.read(state)))

    def restore(self, state: Value) -> None:
        self.lines.append(f" call void {self.pointer(self.frame, RESTORE)}({state})")

    def c_int(self, base: str, word: int) -> Value:
        """A C int."""
        return self.read(Slot(self.place(base, word), Kind("i32"))).converted("zext", "i64")

    def unlike_when(self, condition: Value) -> None:
        self.when(condition, lambda: self.answer_number(UNLIKE))

    def answer_number(self, number: int) -> None:
        self._count += 1
        made = f"%n{self._count}"
        self.lines.append(f" {made} = call ptr {self.pointer(self.frame, NUMBER)}(i64 {number})")
        self.answer(f"ptr {made}")
