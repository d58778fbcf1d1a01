"""How threads share one record of a tape: as a job, cut into chunks that each of them claims until all are done.

Chunks become smaller: the first ones, one for each thread, are half of all units, the next ones half of the rest, down to
the least that is worth a claim.  So threads that are slowed down, or began late, hold nobody up for long, and nobody has
more than others to do at the end (Hummel, Schonberg and Flynn, Factoring, 1992).

The word `JOB` is threads (16 bits) | chunks (24) | next chunk (24).  Order of memory:

- The caller writes what the job is (plain words), then `JOB` (release).  A chunk is claimed by changing the word as it
  was seen into its successor (acquire): who succeeds sees the words of the job, and those hold until all chunks are
  done, because before that the caller publishes no other.  A word that comes again with the same bits is a job with
  the same number of threads and chunks, and the claim is good for it.
- The number of threads stands in the same word so that a worker that lags behind never enters a run of fewer threads,
  which has no scratch for it.
- Who has done a chunk adds 1 to `DONE` (release); the caller waits until all are counted (acquire).  So what a chunk
  wrote is seen by the caller, and through the next `JOB` by everybody: records are in order as if one thread ran them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx.compile.blocks import I64, Slot
from sardonyx.compile.pool_words import (
    ARGS,
    DONE,
    GRAIN,
    JOB,
    JOB_ARGS,
    JOB_KERNEL,
    JOB_LEAST,
    JOB_SCRATCH,
    JOB_STRIDE,
    JOB_UNITS,
    KERNEL,
    UNITS,
    WEIGHT,
    Tape,
)
from sardonyx.compile.text import Value

FIELD = 24  # bits of a number of chunks
MASK = (1 << FIELD) - 1


def share(code: Tape) -> str:
    """Publishes a record as a job, works along, and waits until all of it is done."""
    threads, units = code.parameter("threads"), code.word("%record", UNITS)
    worth = code.quotient(code.word("%record", WEIGHT), code.word("%pool", GRAIN)) + 1
    fewest = code.quotient(units, MASK >> 1) + 1  # for the number of chunks to have room in its field
    least = most(code, code.quotient(units + worth - 1, worth), fewest)
    chunks = counted(code, units, threads, least)
    code.put_pointer("%pool", JOB_KERNEL, code.pointer("%record", KERNEL))
    code.put_pointer("%pool", JOB_ARGS, code.pointer("%record", ARGS))
    code.put("%pool", JOB_UNITS, units)
    code.put("%pool", JOB_LEAST, least)
    code.put_pointer("%pool", JOB_SCRATCH, "%scratch")
    code.put("%pool", JOB_STRIDE, code.parameter("stride"))
    code.put("%pool", DONE, 0)
    code.release("%pool", JOB, (threads << 2 * FIELD) | (chunks << FIELD))
    code.loop_while(lambda: code.emit(I64, "call i64 @chunk(ptr %pool, i64 0)") > 0, lambda: None)
    tries = code.new_slot("tries", I64)
    code.write(tries, code.constant(0, I64))
    code.loop_while(lambda: code.acquired("%pool", DONE) < chunks, lambda: code.rest("%pool", tries))
    code.answer("void")
    return code.function(
        "internal void @share(ptr %pool, ptr %record, i64 %threads, ptr %scratch, i64 %stride)"
    )


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of chunks of a job, `threads` of one size in each, gone through one after the other."""

    code: Tape
    threads: Value
    least: Value
    left: Slot  # units of this round and later ones

    @classmethod
    def of(cls, code: Tape, units: Value, threads: Value, least: Value) -> Rounds:
        left = code.new_slot("left", I64)
        code.write(left, units)
        return cls(code, threads, least, left)

    def size(self) -> Value:
        """Units of a chunk of this round."""
        code, twice = self.code, self.threads << 1
        return most(code, code.quotient(code.read(self.left) + twice - 1, twice), self.least)

    def follow(self) -> None:
        """Goes on to the next round."""
        self.code.write(self.left, self.code.read(self.left) - self.size() * self.threads)


def counted(code: Tape, units: Value, threads: Value, least: Value) -> Value:
    """The number of chunks of a job."""
    rounds, count = Rounds.of(code, units, threads, least), code.new_slot("count", I64)
    code.write(count, code.constant(0, I64))

    def add() -> None:
        size = rounds.size()
        full = code.quotient(code.read(rounds.left) + size - 1, size)
        code.write(count, code.read(count) + code.least(full, threads))
        rounds.follow()

    code.loop_while(lambda: code.read(rounds.left) > 0, add)
    return code.read(count)


def chunk(code: Tape) -> str:
    """Claims a chunk for a thread and does it: 1; 0 if there is none for it."""
    index = code.parameter("index")
    seen, claimed = code.new_slot("seen", I64), code.new_slot("claimed", I64)
    code.write(seen, code.acquired("%pool", JOB))
    code.write(claimed, code.constant(0, I64))

    def claim() -> None:
        word = code.read(seen)
        is_left = (word & MASK) < ((word >> FIELD) & MASK)
        is_left = is_left & (index < (word >> 2 * FIELD))
        code.when(is_left.equals(0), lambda: code.answer("i64 0"))
        stood, is_ours = code.swapped("%pool", JOB, word, word + 1)
        code.either(
            is_ours,
            lambda: code.write(claimed, code.constant(1, I64)),
            lambda: code.write(seen, stood),
        )

    code.loop_while(lambda: code.read(claimed).equals(0), claim)
    first, last = stretch(code, code.read(seen))
    away = index * code.word("%pool", JOB_STRIDE)
    scratch = code.address(code.pointer("%pool", JOB_SCRATCH), away, "i8")
    code.kernel(code.pointer("%pool", JOB_KERNEL), code.pointer("%pool", JOB_ARGS), first, last, scratch)
    code.count_up("%pool", DONE)
    code.answer("i64 1")
    return code.function("internal i64 @chunk(ptr %pool, i64 %index)")


def stretch(code: Tape, word: Value) -> tuple[Value, Value]:
    """The first unit of the chunk that a word of `JOB` says is next, and the one behind its last."""
    units, threads = code.word("%pool", JOB_UNITS), word >> 2 * FIELD
    rounds, number = (
        Rounds.of(code, units, threads, code.word("%pool", JOB_LEAST)),
        code.new_slot("number", I64),
    )
    code.write(number, word & MASK)

    def skip() -> None:
        code.write(number, code.read(number) - threads)
        rounds.follow()

    code.loop_while(lambda: code.read(number) >= threads, skip)
    size = rounds.size()
    first = units - code.read(rounds.left) + code.read(number) * size
    return first, code.least(first + size, units)


def most(code: Tape, a: Value, b: Value) -> Value:
    return code.select(a < b, b, a)
