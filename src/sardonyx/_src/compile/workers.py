"""What the workers of a pool do: sleep, wake others, help with runs, and keep off the processor of the caller."""

from __future__ import annotations

from sardonyx._src.compile.atomics import USUAL
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.pool_words import (
    ALLOW,
    ALLOWED,
    AWAY,
    CALLER,
    CONDITION,
    GIVE,
    INDEX,
    MUTEX,
    POOL,
    RUN,
    SIGNAL,
    STOP,
    TAKE,
    THREAD,
    WAIT,
    WHERE,
    WORKER,
    WORKERS,
    Tape,
)
from sardonyx._src.compile.text import Value

PROCESSORS = 1024  # that a mask has bits for


def wake_next(code: Tape, pool: str, index: Value, threads: Value) -> None:
    """Wakes the workers that a thread has to wake, of those that take part."""
    for which in (index * 2 + 1, index * 2 + 2):

        def one(which: Value = which) -> None:
            worker = code.place(pool, which * WORKER + WORKERS)
            code.lines.append(f" call void @wake(ptr {pool}, ptr {worker})")

        code.when(which < threads, one)


def wake(code: Tape) -> str:
    """Wakes a worker if it sleeps; what it is woken for has been written before."""
    mutex, condition = code.place("%worker", MUTEX), code.place("%worker", CONDITION)
    is_known = code.word("%pool", WHERE).differs(0) & code.word("%worker", THREAD).differs(0)
    is_in_the_way = code.word("%worker", AWAY).differs(code.word("%pool", CALLER) + 1)
    code.when(
        is_known & is_in_the_way, lambda: code.lines.append(" call void @apart(ptr %pool, ptr %worker)")
    )
    code.system("%pool", TAKE, mutex)
    code.system("%pool", GIVE, mutex)
    code.system("%pool", SIGNAL, condition)
    code.answer("void")
    return code.function("internal void @wake(ptr %pool, ptr %worker)")


def apart(code: Tape) -> str:
    """Keeps a worker away from the caller's processor, if another one is allowed.

    Systems put a thread that wakes up where it was or near to who woke it, unless they look for a better place, which
    Linux does not do while its processors seem to be busy (as they do for a while after somebody's threads have been
    spinning).  There it would wait for the caller, who waits for it.
    """
    size, words = PROCESSORS // 8, PROCESSORS // 64
    mask = "%mask"
    code.slots.append(f" {mask} = alloca [{words} x i64], align 8")
    for i in range(words):
        code.put(mask, i, 0)
    allowed, allow = code.pointer("%pool", ALLOWED), code.pointer("%pool", ALLOW)
    failed = code.emit(I64.of("i32"), f"call i32 {allowed}(i32 0, i64 {size}, ptr {mask})")
    caller = code.word("%pool", CALLER)
    code.put("%worker", AWAY, caller + 1)
    is_beyond = (caller < 0) | (caller >= PROCESSORS)
    code.when(failed.differs(0) | is_beyond, lambda: code.answer("void"))
    bit = code.constant(1, I64) << (caller & 63)
    at = Slot(code.place(mask, caller >> 6), I64)
    code.write(at, code.read(at) & (bit ^ -1))
    left = code.word(mask, 0)
    for i in range(1, words):
        left = left | code.word(mask, i)
    thread = code.word("%worker", THREAD)
    code.when(
        left.differs(0),
        lambda: code.lines.append(f" call i32 {allow}({thread}, i64 {size}, ptr {mask})"),
    )
    code.answer("void")
    return code.function("internal void @apart(ptr %pool, ptr %worker)")


def takes_part(code: Tape, pool: str, index: Value) -> Value:
    return (code.acquired(pool, RUN) & 0xFFFF) > index


def sleep(code: Tape) -> str:
    """Waits until a run wants the worker, or nobody does any more."""
    mutex, condition = code.place("%worker", MUTEX), code.place("%worker", CONDITION)
    index = code.word("%worker", INDEX)
    code.system("%pool", TAKE, mutex)

    def is_idle() -> Value:
        is_wanted = takes_part(code, "%pool", index) | code.acquired("%pool", STOP).differs(0)
        return is_wanted.equals(0)

    code.loop_while(is_idle, lambda: code.system("%pool", WAIT, condition, mutex))
    code.system("%pool", GIVE, mutex)
    code.answer("void")
    return code.function("internal void @sleep(ptr %pool, ptr %worker)")


def work(code: Tape) -> str:
    """What a worker does: chunks while a run wants it, sleep otherwise."""
    code.set_mode(code.constant(USUAL[code.family], I64))
    pool, index = code.pointer("%worker", POOL), code.word("%worker", INDEX)
    seen, tries = code.new_slot("seen", I64), code.new_slot("tries", I64)
    for slot in (seen, tries):
        code.write(slot, code.constant(0, I64))

    def start(run: Value) -> None:
        code.write(seen, run)
        wake_next(code, pool, index, run & 0xFFFF)

    def help_along(run: Value) -> None:
        code.when(run.differs(code.read(seen)), lambda: start(run))
        found = code.emit(I64, f"call i64 @chunk(ptr {pool}, {index})")
        code.either(
            found > 0,
            lambda: code.write(tries, code.constant(0, I64)),
            lambda: code.rest(pool, tries),
        )

    def turn() -> None:
        code.when(code.acquired(pool, STOP).differs(0), lambda: code.answer("ptr null"))
        run = code.acquired(pool, RUN)
        code.either(
            (run & 0xFFFF) > index,
            lambda: help_along(run),
            lambda: code.lines.append(f" call void @sleep(ptr {pool}, ptr %worker)"),
        )

    code.forever(turn)
    return code.function("ptr @work(ptr %worker)")
