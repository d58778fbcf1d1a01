"""The native code that runs a program's tape, alone or with the workers of a pool: its LLVM text.

A tape is records of `RECORD` words of 8 bytes: address of the kernel (0: a step that Python does), address of its
arguments, units of work, weight (estimated nanoseconds), jump, flag, and two to spare.  Behind a record whose jump is
not 0 the tape goes on so many records away if the word at the address `flag` is not 0: branches and loops are that.

    i64 run(ptr tape, i64 from, i64 to, ptr pool, i64 threads, ptr scratch, i64 stride)

runs records in order, from `from` on, as long as they lie before `to` and not before `from`.  It answers where it is
then, or which record is Python's, or earlier where it goes on when it has done a stretch: then Python may handle
signals.  A record is never interrupted.  Thread i has the scratch at scratch + i*stride; the caller is thread 0.  With
1 thread the caller does everything, and needs no pool.
`void* work(ptr worker)` is what a worker does until it is told to stop.

A record that weighs enough is a *job*, cut into chunks that the caller and the workers claim (`sharing.py`).  One run at
a time has the pool (`LOCK`); another one meanwhile works alone.  A run tells how many threads take part (`RUN`), which wakes the
workers; they sleep again when it is over.  Nobody waits for a worker that has not woken up, only for claimed chunks.

A worker looks at `RUN` with its mutex held before it waits on its condition; who wakes it writes `RUN` first and then
takes that mutex.  So no call is missed.  Worker i wakes 2i+1 and 2i+2 in turn.

All threads compute in the usual mode (nearest, denormal numbers kept), whatever mode other code has left the caller in:
else results would depend on who computes them.  The caller gets its own back.
"""

from __future__ import annotations

from sardonyx._src.compile.atomics import DECLARATIONS, USUAL, family
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.pool_words import (
    ARGS,
    CALLER,
    FLAG,
    JUMP,
    KERNEL,
    LOCK,
    MOST_COUNTED,
    NEVER,
    RECORD,
    ROUNDS,
    RUN,
    STARTED,
    STRETCH,
    THRESHOLD,
    UNITS,
    WEIGHT,
    WHERE,
    WORTH,
    Tape,
)
from sardonyx._src.compile.sharing import chunk, share
from sardonyx._src.compile.text import Value
from sardonyx._src.compile.workers import apart, sleep, wake, wake_next, work


def source(target: Target) -> str:
    """The module of `run` and `work`."""
    functions = (run, enter, leave, share, chunk, wake, apart, sleep, work)
    return "\n".join((*DECLARATIONS[family(target)], *(made(Tape(target)) for made in functions)))


def run(code: Tape) -> str:
    """Runs a tape; the weight from which records are shared is infinite where nobody is there to share them."""
    i, limit, entered, left = (code.new_slot(name, I64) for name in ("i", "limit", "entered", "left"))
    before = code.mode()
    is_unusual = before.differs(USUAL[code.family])
    code.when(is_unusual, lambda: code.set_mode(code.constant(USUAL[code.family], I64)))
    code.write(i, code.parameter("from"))
    code.write(limit, code.constant(NEVER, I64))
    code.write(entered, code.constant(0, I64))
    code.write(left, code.least(code.parameter("threads"), MOST_COUNTED) * STRETCH)
    code.when(code.parameter("threads") > 1, lambda: code.write(limit, code.word("%pool", THRESHOLD)))

    def finish() -> None:
        code.when(code.read(entered) > 0, lambda: code.lines.append(" call void @leave(ptr %pool)"))
        code.when(is_unusual, lambda: code.set_mode(before))
        code.answer(str(code.read(i)))

    def record() -> None:
        is_outside = (code.read(i) >= code.parameter("to")) | (code.read(i) < code.parameter("from"))
        code.when(is_outside | (code.read(left) < 0), finish)
        at = code.place("%tape", code.read(i) * RECORD)
        kernel = code.pointer(at, KERNEL)
        code.when(code.word(at, KERNEL).equals(0), finish)
        units = code.word(at, UNITS)
        is_job = (code.word(at, WEIGHT) >= code.read(limit)) & (units > 1)
        code.when(is_job, lambda: ask(code, at, code.read(i), limit, entered))
        shared = is_job & (code.read(entered) > 0)
        share = f"call void @share(ptr %pool, ptr {at}, i64 %threads, ptr %scratch, i64 %stride)"
        code.when(shared, lambda: code.lines.append(f" {share}"))
        alone = shared.equals(0) & (units > 0)
        code.when(alone, lambda: code.kernel(kernel, code.pointer(at, ARGS), 0, units, "%scratch"))
        code.write(left, code.read(left) - code.word(at, WEIGHT) - STARTED)
        advance(code, at, i)

    code.forever(record)
    return code.function(
        "i64 @run(ptr %tape, i64 %from, i64 %to, ptr %pool, i64 %threads, ptr %scratch, i64 %stride)"
    )


def advance(code: Tape, at: str, i: Slot) -> None:
    """Goes on to the next record, or to the one that a record says where its flag is set."""
    distance = code.word(at, JUMP)
    code.write(i, code.read(i) + 1)

    def follow() -> None:
        is_set = code.word(code.pointer(at, FLAG), 0).differs(0)
        code.when(is_set, lambda: code.write(i, code.read(i) + (distance - 1)))

    code.when(distance.differs(0), follow)


def ask(code: Tape, at: str, i: Value, limit: Slot, entered: Slot) -> None:
    """Asks for the pool, unless this run has it; what is too little to wake anybody for is not asked for again."""

    def enter() -> None:
        count = code.parameter("to") - i
        found = code.emit(I64, f"call i64 @enter(ptr %pool, ptr {at}, {count}, i64 %threads)")
        code.when(found < 0, lambda: code.write(limit, code.constant(NEVER, I64)))
        code.write(entered, found)

    code.when(code.read(entered) <= 0, enter)


def enter(code: Tape) -> str:
    """Takes the pool and wakes workers: 1; 0 if another run has it; -1 if the records are not worth it.

    Those of a loop come again, so often as one may guess.
    """
    i, total = code.new_slot("i", I64), code.new_slot("total", I64)
    for slot in (i, total):
        code.write(slot, code.constant(0, I64))
    worth, threshold = code.word("%pool", WORTH), code.word("%pool", THRESHOLD)

    def weigh() -> None:
        code.when(code.read(i) >= code.parameter("count"), lambda: code.answer("i64 -1"))
        record = code.place("%records", code.read(i) * RECORD)
        weight = code.word(record, WEIGHT)
        code.write(i, code.read(i) + 1)
        code.when(weight >= threshold, lambda: code.write(total, code.read(total) + weight))
        comes_again = code.word(record, JUMP) < 0
        code.when(comes_again, lambda: code.write(total, code.read(total) * ROUNDS))

    code.loop_while(lambda: code.read(total) < worth, weigh)
    _, is_ours = code.swapped("%pool", LOCK, 0, 1)
    code.when(is_ours.equals(0), lambda: code.answer("i64 0"))
    is_known = code.word("%pool", WHERE).differs(0)
    code.when(is_known, lambda: code.put("%pool", CALLER, code.processor("%pool")))
    threads = code.parameter("threads")
    serial = (code.word("%pool", RUN) >> 16) + 1
    code.release("%pool", RUN, (serial << 16) | threads)
    wake_next(code, "%pool", code.constant(0, I64), threads)
    code.answer("i64 1")
    return code.function("internal i64 @enter(ptr %pool, ptr %records, i64 %count, i64 %threads)")


def leave(code: Tape) -> str:
    """Gives the pool back; workers see that the run has no threads and sleep."""
    serial = (code.word("%pool", RUN) >> 16) << 16
    code.release("%pool", RUN, serial)
    code.release("%pool", LOCK, 0)
    code.answer("void")
    return code.function("internal void @leave(ptr %pool)")
