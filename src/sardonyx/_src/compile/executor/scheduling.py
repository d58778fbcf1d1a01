"""Work partitioning: guided self-scheduling of one tape record (a job) over per-thread queues of chunks.

Each thread has a queue: an equal, contiguous share of the units of work.  It claims chunks of its own queue first, then
of those of other threads.  So a thread mostly reads what it wrote for the record before, which is still in its cache
(Markatos and LeBlanc, Using Processor Affinity in Loop Scheduling, 1994).  Chunk sizes decrease: the first is half of
the queue, the next half of the remainder, down to a minimum that is worth a claim (Polychronopoulos and Kuck, Guided
Self-Scheduling, 1987).  So threads that are preempted or start late delay the job little.

A queue is one i64 slot, `CLAIM`: threads (16 bits) | chunks (24) | next chunk (24).  Memory order:

- The caller writes the job (plain stores), then every `CLAIM` (release).  A chunk is claimed by compare-and-exchange of
  the slot with its successor (acquire): a thread that succeeds sees the job, which stays unchanged until all chunks are
  done, because the caller publishes no other job before.  If the slot has the same bits again (ABA), that is a job with
  the same numbers of threads and chunks, for which the claim is valid.
- The number of threads is in the same slot so that a late worker never joins a run of fewer threads, which has no
  scratch memory for it.
- A thread that has finished a chunk adds 1 to `CHUNKS_DONE` (release); the caller waits until all are counted (acquire).
  So the caller sees all writes of the chunks, and through the next `CLAIM` every thread does: records are executed in
  order, as by one thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.executor.pool_layout import (
    ARGS,
    CHUNKS_DONE,
    CLAIM,
    CURRENT_RUN,
    GRAIN_SIZE,
    JOB_ARGS,
    JOB_FIRST,
    JOB_KERNEL,
    JOB_MIN_CHUNK,
    JOB_SCRATCH,
    JOB_STRIDE,
    JOB_UNITS,
    KERNEL,
    UNITS,
    WEIGHT,
    WORKER_SLOTS,
    WORKERS_BEGIN,
    PoolFunctionBuilder,
)

CHUNK_FIELD_BITS = 24  # of the number of chunks, and of the next chunk, in CLAIM
CHUNK_FIELD_MASK = (1 << CHUNK_FIELD_BITS) - 1


def emit_share(builder: PoolFunctionBuilder) -> str:
    """Emits `@share`: publishes units of a record as a job, takes part in it, and waits until all its chunks are done."""
    threads, units = builder.parameter("threads"), builder.load_slot("%record", UNITS)
    first, last = builder.parameter("first"), builder.parameter("last")
    max_chunks = (
        builder.udiv(builder.load_slot("%record", WEIGHT), builder.load_slot("%pool", GRAIN_SIZE)) + 1
    )
    min_units = builder.udiv(units, CHUNK_FIELD_MASK >> 1) + 1  # so that the number of chunks fits its field
    min_chunk = emit_max(builder, builder.udiv(units + max_chunks - 1, max_chunks), min_units)
    builder.store_slot_pointer("%pool", JOB_KERNEL, builder.load_slot_pointer("%record", KERNEL))
    builder.store_slot_pointer("%pool", JOB_ARGS, builder.load_slot_pointer("%record", ARGS))
    builder.store_slot("%pool", JOB_FIRST, first)
    builder.store_slot("%pool", JOB_UNITS, last - first)
    builder.store_slot("%pool", JOB_MIN_CHUNK, min_chunk)
    builder.store_slot_pointer("%pool", JOB_SCRATCH, "%scratch")
    builder.store_slot("%pool", JOB_STRIDE, builder.parameter("stride"))
    builder.store_slot("%pool", CHUNKS_DONE, 0)
    total = builder.new_slot("total", I64)
    builder.store(total, builder.constant(0, I64))

    with builder.loop(builder.constant(0, I64), threads) as owner:
        chunks = ChunkQueue.for_thread(builder, owner, threads).count_chunks()
        builder.store(total, builder.load(total) + chunks)
        builder.store_release(
            queue_address(builder, owner),
            CLAIM,
            (threads << 2 * CHUNK_FIELD_BITS) | (chunks << CHUNK_FIELD_BITS),
        )
    with builder.loop_while(lambda: builder.emit(I64, "call i64 @chunk(ptr %pool, i64 0)") > 0):
        pass
    tries = builder.new_slot("tries", I64)
    builder.store(tries, builder.constant(0, I64))
    with builder.loop_while(lambda: builder.load_acquire("%pool", CHUNKS_DONE) < builder.load(total)):
        builder.spin_wait("%pool", tries)
    builder.emit_return("void")
    return builder.build_function(
        "internal void @share(ptr %pool, ptr %record, i64 %first, i64 %last, i64 %threads, ptr %scratch, i64 %stride)"
    )


def emit_chunk(builder: PoolFunctionBuilder) -> str:
    """Emits `@chunk`: claims a chunk, of the thread's own queue first, and executes it.  Returns 1, or 0 if none is left."""
    index, threads = builder.parameter("index"), builder.load_acquire("%pool", CURRENT_RUN) & 0xFFFF
    tried = builder.new_slot("tried", I64)
    builder.store(tried, builder.constant(0, I64))
    with builder.loop_while(lambda: builder.load(tried) < threads):
        owner = index + builder.load(tried)
        owner = builder.select(owner < threads, owner, owner - threads)
        emit_claim(builder, index, owner)
        builder.store(tried, builder.load(tried) + 1)
    builder.emit_return("i64 0")
    return builder.build_function("internal i64 @chunk(ptr %pool, i64 %index)")


def emit_claim(builder: PoolFunctionBuilder, index: LLVMValue, owner: LLVMValue) -> None:
    """Claims and executes the next chunk of the owner's queue, if one is left, and returns 1 from the function."""
    queue, seen = queue_address(builder, owner), builder.new_slot("seen", I64)
    builder.store(seen, builder.load_acquire(queue, CLAIM))

    def is_left() -> LLVMValue:
        claim = builder.load(seen)
        has_next = (claim & CHUNK_FIELD_MASK) < ((claim >> CHUNK_FIELD_BITS) & CHUNK_FIELD_MASK)
        return has_next & (index < (claim >> 2 * CHUNK_FIELD_BITS))

    with builder.loop_while(is_left):
        claim = builder.load(seen)
        previous, is_claimed = builder.compare_exchange(queue, CLAIM, claim, claim + 1)
        with builder.if_then(is_claimed):
            emit_run_chunk(builder, index, owner, claim)
        builder.store(seen, previous)


def emit_run_chunk(
    builder: PoolFunctionBuilder, index: LLVMValue, owner: LLVMValue, claim: LLVMValue
) -> None:
    """Executes the next chunk of the owner's queue as of `claim`, and returns 1 from the function."""
    first, last = ChunkQueue.for_thread(builder, owner, claim >> 2 * CHUNK_FIELD_BITS).chunk_bounds(
        claim & CHUNK_FIELD_MASK
    )
    offset = index * builder.load_slot("%pool", JOB_STRIDE)
    scratch = builder.gep(builder.load_slot_pointer("%pool", JOB_SCRATCH), offset, "i8")
    builder.call_kernel(
        builder.load_slot_pointer("%pool", JOB_KERNEL),
        builder.load_slot_pointer("%pool", JOB_ARGS),
        first,
        last,
        scratch,
    )
    builder.atomic_increment("%pool", CHUNKS_DONE)
    builder.emit_return("i64 1")


def queue_address(builder: PoolFunctionBuilder, owner: LLVMValue) -> str:
    """The pointer to the slots of a thread."""
    return builder.slot_address("%pool", owner * WORKER_SLOTS + WORKERS_BEGIN)


@dataclass(frozen=True, slots=True)
class ChunkQueue:
    """A thread's share of a job, the units in [first, end), and its division into chunks."""

    builder: PoolFunctionBuilder
    first: LLVMValue
    end: LLVMValue
    min_chunk: LLVMValue  # units
    remaining: StackSlot  # units after the chunks that were skipped

    @classmethod
    def for_thread(cls, builder: PoolFunctionBuilder, owner: LLVMValue, threads: LLVMValue) -> ChunkQueue:
        start, units, min_chunk = (
            builder.load_slot("%pool", slot) for slot in (JOB_FIRST, JOB_UNITS, JOB_MIN_CHUNK)
        )
        remaining = builder.new_slot("left", I64)
        first, end = (start + builder.udiv(units * i, threads) for i in (owner, owner + 1))
        builder.store(remaining, end - first)
        return cls(builder, first, end, min_chunk, remaining)

    def chunk_size(self) -> LLVMValue:
        """Units of the next chunk; may be more than remain."""
        return emit_max(self.builder, (self.builder.load(self.remaining) + 1) >> 1, self.min_chunk)

    def skip_chunk(self) -> None:
        """Moves past the next chunk."""
        self.builder.store(self.remaining, self.builder.load(self.remaining) - self.chunk_size())

    def count_chunks(self) -> LLVMValue:
        """The number of chunks of the queue."""
        builder, count = self.builder, self.builder.new_slot("count", I64)
        builder.store(count, builder.constant(0, I64))
        with builder.loop_while(lambda: builder.load(self.remaining) > 0):
            builder.store(count, builder.load(count) + 1)
            self.skip_chunk()
        return builder.load(count)

    def chunk_bounds(self, number: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """The half-open range of units of a chunk."""
        builder = self.builder
        with builder.loop(builder.constant(0, I64), number):
            self.skip_chunk()
        first = self.end - builder.load(self.remaining)
        return first, builder.min(first + self.chunk_size(), self.end)


def emit_max(builder: PoolFunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    return builder.select(a < b, b, a)
