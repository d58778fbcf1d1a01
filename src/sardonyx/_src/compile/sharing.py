"""How threads share one record of a tape: as a job, cut into chunks that each of them claims until all are done.

Each thread has a region of its own, the i-th of as many equal ones as there are threads, and helps with those of others
when nothing is left in it.  So what a thread reads is often what it wrote a record before, and still in its cache
(Markatos and LeBlanc, Using Processor Affinity in Loop Scheduling, 1994).  Chunks of a region become smaller: the first is
half of it, the next one half of the rest, down to the least that is worth a claim.  So threads that are slowed down, or
began late, hold nobody up for long.

The word `CLAIM` of a region is threads (16 bits) | chunks (24) | next chunk (24).  Order of memory:

- The caller writes what the job is (plain words), then every `CLAIM` (release).  A chunk is claimed by changing the word
  as it was seen into its successor (acquire): who succeeds sees the words of the job, and those hold until all chunks
  are done, because before that the caller publishes no other.  A word that comes again with the same bits is a job with
  the same number of threads and chunks, and the claim is good for it.
- The number of threads stands in the same word so that a worker that lags behind never enters a run of fewer threads,
  which has no scratch for it.
- Who has done a chunk adds 1 to `DONE` (release); the caller waits until all are counted (acquire).  So what a chunk
  wrote is seen by the caller, and through the next `CLAIM` by everybody: records are in order as if one thread ran them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.pool_words import (
    ARGS,
    CLAIM,
    DONE,
    GRAIN,
    JOB_ARGS,
    JOB_KERNEL,
    JOB_LEAST,
    JOB_SCRATCH,
    JOB_STRIDE,
    JOB_UNITS,
    KERNEL,
    RUN,
    UNITS,
    WEIGHT,
    WORKER,
    WORKERS,
    Tape,
)
from sardonyx._src.compile.text import Value

FIELD = 24  # bits of a number of chunks
MASK = (1 << FIELD) - 1


def share(code: Tape) -> str:
    """Publishes a record as a job, works along, and waits until all of it is done."""
    threads, units = code.parameter("threads"), code.word("%record", UNITS)
    worth = code.quotient(code.word("%record", WEIGHT), code.word("%pool", GRAIN)) + 1
    fewest = code.quotient(units, MASK >> 1) + 1  # for the number of chunks to have room in its field
    least = most(code, code.quotient(units + worth - 1, worth), fewest)
    code.put_pointer("%pool", JOB_KERNEL, code.pointer("%record", KERNEL))
    code.put_pointer("%pool", JOB_ARGS, code.pointer("%record", ARGS))
    code.put("%pool", JOB_UNITS, units)
    code.put("%pool", JOB_LEAST, least)
    code.put_pointer("%pool", JOB_SCRATCH, "%scratch")
    code.put("%pool", JOB_STRIDE, code.parameter("stride"))
    code.put("%pool", DONE, 0)
    total = code.new_slot("total", I64)
    code.write(total, code.constant(0, I64))

    def publish(owner: Value) -> None:
        chunks = Region.of(code, owner, threads).chunks()
        code.write(total, code.read(total) + chunks)
        code.release(region(code, owner), CLAIM, (threads << 2 * FIELD) | (chunks << FIELD))

    code.counted(code.constant(0, I64), threads, 1, publish)
    code.loop_while(lambda: code.emit(I64, "call i64 @chunk(ptr %pool, i64 0)") > 0, lambda: None)
    tries = code.new_slot("tries", I64)
    code.write(tries, code.constant(0, I64))
    code.loop_while(
        lambda: code.acquired("%pool", DONE) < code.read(total), lambda: code.rest("%pool", tries)
    )
    code.answer("void")
    return code.function(
        "internal void @share(ptr %pool, ptr %record, i64 %threads, ptr %scratch, i64 %stride)"
    )


def chunk(code: Tape) -> str:
    """Claims a chunk for a thread, of its own region if it can, and does it: 1; 0 if there is none for it."""
    index, threads = code.parameter("index"), code.acquired("%pool", RUN) & 0xFFFF
    tried = code.new_slot("tried", I64)
    code.write(tried, code.constant(0, I64))

    def next_region() -> None:
        owner = index + code.read(tried)
        owner = code.select(owner < threads, owner, owner - threads)
        take(code, index, owner)
        code.write(tried, code.read(tried) + 1)

    code.loop_while(lambda: code.read(tried) < threads, next_region)
    code.answer("i64 0")
    return code.function("internal i64 @chunk(ptr %pool, i64 %index)")


def take(code: Tape, index: Value, owner: Value) -> None:
    """Does the next chunk of a region and answers 1, if there is one for this thread."""
    place, seen = region(code, owner), code.new_slot("seen", I64)
    code.write(seen, code.acquired(place, CLAIM))

    def is_left() -> Value:
        word = code.read(seen)
        is_one = (word & MASK) < ((word >> FIELD) & MASK)
        return is_one & (index < (word >> 2 * FIELD))

    def claim() -> None:
        word = code.read(seen)
        stood, is_ours = code.swapped(place, CLAIM, word, word + 1)
        code.when(is_ours, lambda: do(code, index, owner, word))
        code.write(seen, stood)

    code.loop_while(is_left, claim)


def do(code: Tape, index: Value, owner: Value, word: Value) -> None:
    """Does the chunk that a word says is next, and answers 1."""
    first, last = Region.of(code, owner, word >> 2 * FIELD).chunk(word & MASK)
    away = index * code.word("%pool", JOB_STRIDE)
    scratch = code.address(code.pointer("%pool", JOB_SCRATCH), away, "i8")
    code.kernel(code.pointer("%pool", JOB_KERNEL), code.pointer("%pool", JOB_ARGS), first, last, scratch)
    code.count_up("%pool", DONE)
    code.answer("i64 1")


def region(code: Tape, owner: Value) -> str:
    """Where the words of a thread begin."""
    return code.place("%pool", owner * WORKER + WORKERS)


@dataclass(frozen=True, slots=True)
class Region:
    """The units of a job from `first` to `last`, a thread's own."""

    code: Tape
    first: Value
    last: Value
    least: Value  # units of a chunk
    left: Slot  # units behind the chunks that were counted

    @classmethod
    def of(cls, code: Tape, owner: Value, threads: Value) -> Region:
        units, least, left = (
            code.word("%pool", JOB_UNITS),
            code.word("%pool", JOB_LEAST),
            code.new_slot("left", I64),
        )
        first, last = (code.quotient(units * i, threads) for i in (owner, owner + 1))
        code.write(left, last - first)
        return cls(code, first, last, least, left)

    def size(self) -> Value:
        """Units of the next chunk, or more than are left."""
        return most(self.code, (self.code.read(self.left) + 1) >> 1, self.least)

    def follow(self) -> None:
        """Goes on behind the next chunk."""
        self.code.write(self.left, self.code.read(self.left) - self.size())

    def chunks(self) -> Value:
        code, count = self.code, self.code.new_slot("count", I64)
        code.write(count, code.constant(0, I64))

        def add() -> None:
            code.write(count, code.read(count) + 1)
            self.follow()

        code.loop_while(lambda: code.read(self.left) > 0, add)
        return code.read(count)

    def chunk(self, number: Value) -> tuple[Value, Value]:
        """The first unit of a chunk, and the one behind its last."""
        code = self.code
        code.counted(code.constant(0, I64), number, 1, lambda _: self.follow())
        first = self.last - code.read(self.left)
        return first, code.least(first + self.size(), self.last)


def most(code: Tape, a: Value, b: Value) -> Value:
    return code.select(a < b, b, a)
