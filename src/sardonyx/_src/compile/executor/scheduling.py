"""Work partitioning: guided self-scheduling of one tape record (a job) over per-thread queues of chunks.

The units of a job form a grid: panels of columns, each with the same number of row groups; units of a panel are
adjacent.  Each thread has a queue: the units of all panels in an equal, contiguous share of the row groups.  If these
shares would have too few rows, and in all jobs other than matrix products, the grid has one panel, so that the units
of a share are contiguous.  A queue is ordered by blocks of row groups, then panels, then row groups: the rows of a
block stay in the thread's cache while panels stream through it.

A thread claims chunks of its own queue first, then chunks of other threads' queues.  So it mostly reads elements that
it wrote for the record before, and that are still in its cache (Markatos and LeBlanc, Using Processor Affinity in
Loop Scheduling, 1994).  Chunk sizes decrease: the first is a fifth of the queue, the next a fifth of the remainder, down
to a minimum that is worth a claim (Polychronopoulos and Kuck, Guided Self-Scheduling, 1987).  So threads that are
preempted, start late or have slower cores delay the job little: of up to eight threads with speeds from 0.4 to 1, by 2 % on
the average and 15 % at most, where halves would take 7 % and 31 %, since a slow thread claims large chunks shortly before
the others are done.

A queue is one i64 slot, `CLAIM`: threads (16 bits) | chunks (24) | next chunk (24).  Memory order:

- The caller writes the job (plain stores), then every `CLAIM` (release).  A chunk is claimed by compare-and-exchange
  of the slot with its successor (acquire): a thread that succeeds sees the job, which stays unchanged until all
  chunks are done, because the caller publishes no other job before.  If the slot has the same bits again (the ABA
  problem), they belong to a job with the same numbers of threads and chunks, for which the claim is valid.
- The number of threads is in the same slot so that a late worker never joins a run of fewer threads, which has no
  scratch memory for it.
- A thread that has emptied a queue adds the chunks that it has finished to `CHUNKS_DONE` (release): once, because the cache
  line of the counter moves between cores at each addition.  The caller waits until all are counted (acquire).
  So the caller sees all writes of the chunks, and through the next `CLAIM` every thread does: records are executed in
  order, as by one thread.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.executor.pool_builder import PoolFunctionBuilder
from sardonyx._src.compile.executor.pool_layout import (
    ARGS,
    BLOCK_GROUPS,
    CHUNKS_DONE,
    CLAIM,
    CURRENT_RUN,
    GRAIN_SIZE,
    JOB_ARGS,
    JOB_BLOCK,
    JOB_FIRST,
    JOB_GROUPS,
    JOB_KERNEL,
    JOB_MIN_CHUNK,
    JOB_PANELS,
    JOB_SCRATCH,
    JOB_STRIDE,
    KERNEL,
    MIN_ROW_GROUPS,
    ROW_GROUPS,
    UNITS,
    WEIGHT,
    WORKER_SLOTS,
    WORKERS_BEGIN,
)
from sardonyx._src.dataclass import dataclass

SHARES = 5  # of the remainder of a queue, of which a chunk is one
CHUNK_FIELD_BITS = 24  # bits in CLAIM for the number of chunks, and for the next chunk
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
    emit_grid(builder, threads, first, last, min_chunk)
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
    with builder.loop_while(lambda: builder.emit(I64, "call i64 @work_off(ptr %pool, i64 0)") > 0):
        pass
    tries = builder.new_slot("tries", I64)
    builder.store(tries, builder.constant(0, I64))
    with builder.loop_while(lambda: builder.load_acquire("%pool", CHUNKS_DONE) < builder.load(total)):
        builder.spin_wait("%pool", tries)
    builder.emit_return("void")
    return builder.build_function(
        "internal void @share(ptr %pool, ptr %record, i64 %first, i64 %last, i64 %threads, ptr %scratch, i64 %stride)"
    )


def emit_grid(
    builder: PoolFunctionBuilder,
    threads: LLVMValue,
    first: LLVMValue,
    last: LLVMValue,
    min_chunk: LLVMValue,
) -> None:
    """Stores the grid of a job: the panels and row groups of its record, or one panel of all units.

    A job becomes a grid only if it consists of whole panels, with enough row groups for each thread.  Each thread
    reads all panels, and threads share the memory bandwidth, so with more threads each needs more rows to make up for
    that.  For the same reason a chunk has a minimum of rows.
    """
    units, groups = last - first, builder.load_slot("%record", ROW_GROUPS)
    is_grid = groups >= threads * emit_max(builder, threads, builder.constant(MIN_ROW_GROUPS, I64))
    groups = builder.select(is_grid, groups, units)
    panels, rest = builder.udivmod(units, groups)
    _, skipped = builder.udivmod(first, groups)
    is_whole = is_grid & (rest + skipped).eq(0)
    single, min_rows = (builder.constant(number, I64) for number in (1, MIN_ROW_GROUPS))
    min_chunk = emit_max(builder, min_chunk, builder.select(is_whole, min_rows, single))
    builder.store_slot("%pool", JOB_MIN_CHUNK, min_chunk)
    builder.store_slot("%pool", JOB_PANELS, builder.select(is_whole, panels, single))
    builder.store_slot("%pool", JOB_GROUPS, builder.select(is_whole, groups, units))
    builder.store_slot(
        "%pool", JOB_BLOCK, builder.select(is_whole, builder.load_slot("%record", BLOCK_GROUPS), units)
    )


def emit_work_off(builder: PoolFunctionBuilder) -> str:
    """Emits `@work_off`: claims and executes chunks of the first queue that has any, of the thread's own queue first.

    `@work_off` returns the number of chunks, 0 if no queue has any.
    """
    index, threads = builder.parameter("index"), builder.load_acquire("%pool", CURRENT_RUN) & 0xFFFF
    tried = builder.new_slot("tried", I64)
    builder.store(tried, builder.constant(0, I64))
    with builder.loop_while(lambda: builder.load(tried) < threads):
        owner = index + builder.load(tried)
        owner = builder.select(owner < threads, owner, owner - threads)
        finished = emit_claims(builder, index, owner)
        is_done = finished > 0
        with builder.if_then(is_done):
            builder.atomic_add("%pool", CHUNKS_DONE, finished)
            builder.emit_return(str(finished))
        builder.store(tried, builder.load(tried) + 1)
    builder.emit_return("i64 0")
    return builder.build_function("internal i64 @work_off(ptr %pool, i64 %index)")


def emit_claims(builder: PoolFunctionBuilder, index: LLVMValue, owner: LLVMValue) -> LLVMValue:
    """Claims and executes chunks of the owner's queue until none is left; returns the number of chunks executed."""
    queue = queue_address(builder, owner)
    seen, finished = (builder.new_slot(name, I64) for name in ("seen", "finished"))
    builder.store(finished, builder.constant(0, I64))
    builder.store(seen, builder.load_acquire(queue, CLAIM))

    def is_left() -> LLVMValue:
        claim = builder.load(seen)
        has_next = (claim & CHUNK_FIELD_MASK) < ((claim >> CHUNK_FIELD_BITS) & CHUNK_FIELD_MASK)
        return has_next & (index < (claim >> 2 * CHUNK_FIELD_BITS))

    with builder.loop_while(is_left):
        claim = builder.load(seen)
        previous, is_claimed = builder.compare_exchange(queue, CLAIM, claim, claim + 1)
        builder.store(seen, builder.select(is_claimed, claim + 1, previous))
        with builder.if_then(is_claimed):
            emit_run_chunk(builder, index, owner, claim)
            builder.store(finished, builder.load(finished) + 1)
    return builder.load(finished)


def emit_run_chunk(
    builder: PoolFunctionBuilder, index: LLVMValue, owner: LLVMValue, claim: LLVMValue
) -> None:
    """Executes the next chunk of the owner's queue as of `claim`."""
    queue = ChunkQueue.for_thread(builder, owner, claim >> 2 * CHUNK_FIELD_BITS)
    first, end = queue.chunk_bounds(claim & CHUNK_FIELD_MASK)
    offset = index * builder.load_slot("%pool", JOB_STRIDE)
    scratch = builder.gep(builder.load_slot_pointer("%pool", JOB_SCRATCH), offset, "i8")
    kernel, args = (builder.load_slot_pointer("%pool", slot) for slot in (JOB_KERNEL, JOB_ARGS))
    position = builder.new_slot("place", I64)
    builder.store(position, first)
    with builder.loop_while(lambda: builder.load(position) < end):
        unit, count = queue.adjacent_units(builder.load(position), end)
        builder.call_kernel(kernel, args, unit, unit + count, scratch)
        builder.store(position, builder.load(position) + count)


def queue_address(builder: PoolFunctionBuilder, owner: LLVMValue) -> str:
    """The pointer to the slots of a thread."""
    return builder.slot_address("%pool", owner * WORKER_SLOTS + WORKERS_BEGIN)


@dataclass(frozen=True, slots=True)
class ChunkQueue:
    """A thread's share of a job, divided into chunks: the units of all panels in the row groups [first_group, end_group)."""

    builder: PoolFunctionBuilder
    first_group: LLVMValue
    end_group: LLVMValue
    min_chunk: LLVMValue  # units
    units: LLVMValue
    remaining: MemoryLocation  # units after the chunks that were skipped

    @classmethod
    def for_thread(cls, builder: PoolFunctionBuilder, owner: LLVMValue, threads: LLVMValue) -> ChunkQueue:
        panels, groups, min_chunk = (
            builder.load_slot("%pool", slot) for slot in (JOB_PANELS, JOB_GROUPS, JOB_MIN_CHUNK)
        )
        remaining = builder.new_slot("left", I64)
        first, end = (builder.udiv(groups * i, threads) for i in (owner, owner + 1))
        units = (end - first) * panels
        builder.store(remaining, units)
        return cls(builder, first, end, min_chunk, units, remaining)

    def chunk_size(self) -> LLVMValue:
        """Units of the next chunk; may be more than remain."""
        share = self.builder.udiv(self.builder.load(self.remaining) + (SHARES - 1), SHARES)
        return emit_max(self.builder, share, self.min_chunk)

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
        """The half-open range of a chunk, in the queue's order of units."""
        builder = self.builder
        with builder.loop(builder.constant(0, I64), number):
            self.skip_chunk()
        first = self.units - builder.load(self.remaining)
        return first, builder.min(first + self.chunk_size(), self.units)

    def adjacent_units(self, position: LLVMValue, end: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """The unit at a position in the queue's order, and the number of adjacent units from it on, before the position `end`.

        All blocks but the last one have the same number of row groups.
        """
        builder = self.builder
        first, panels, groups, block = (
            builder.load_slot("%pool", slot) for slot in (JOB_FIRST, JOB_PANELS, JOB_GROUPS, JOB_BLOCK)
        )
        count = self.end_group - self.first_group
        num_blocks = builder.udiv(count + block - 1, block)
        length = builder.udiv(count + num_blocks - 1, num_blocks)
        number, rest = builder.udivmod(position, length * panels)
        group = self.first_group + number * length
        length = builder.min(length, self.end_group - group)
        panel, skipped = builder.udivmod(rest, length)
        unit = first + panel * groups + group + skipped
        return unit, builder.min(length - skipped, end - position)


def emit_max(builder: PoolFunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    return builder.select(a < b, b, a)
