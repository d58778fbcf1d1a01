"""Work partitioning: the chunks of all threads' queues are the units of a job, each once."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.executor.pool_layout import (
    JOB_MIN_CHUNK,
    JOB_UNITS,
    WORKERS_BEGIN,
    PoolFunctionBuilder,
)
from sardonyx._src.compile.executor.scheduling import ChunkQueue
from sardonyx._src.compile.llvm.jit import Library, host_target, load

Chunk = tuple[int, int]


@cache
def queue_library() -> Library:
    """`count(pool, owner, threads)`: the chunks of a queue; `bound(pool, owner, threads, number, is_end)`: of one of them."""
    counter, bounder = PoolFunctionBuilder(host_target()), PoolFunctionBuilder(host_target())
    counter.emit_return(f"{queue_of(counter).count_chunks()}")
    first, end = queue_of(bounder).chunk_bounds(bounder.parameter("number"))
    bounder.emit_return(f"{bounder.select(bounder.parameter('is_end').ne(0), end, first)}")
    functions = (
        counter.build_function("i64 @count(ptr %pool, i64 %owner, i64 %threads)"),
        bounder.build_function("i64 @bound(ptr %pool, i64 %owner, i64 %threads, i64 %number, i64 %is_end)"),
    )
    return load("\n".join((*counter.declarations, *bounder.declarations, *functions)), ["count", "bound"])


def queue_of(builder: PoolFunctionBuilder) -> ChunkQueue:
    owner: LLVMValue = builder.parameter("owner")
    return ChunkQueue.for_thread(builder, owner, builder.parameter("threads"))


def chunks_of(units: int, threads: int, min_chunk: int) -> list[list[Chunk]]:
    """The chunks of each thread's queue, as half-open ranges of units."""
    pool = np.zeros(WORKERS_BEGIN, np.int64)
    pool[[JOB_UNITS, JOB_MIN_CHUNK]] = units, min_chunk
    addresses, i64, pointer = queue_library().addresses, ctypes.c_int64, ctypes.c_void_p
    count = ctypes.CFUNCTYPE(i64, pointer, i64, i64)(addresses["count"])
    bound = ctypes.CFUNCTYPE(i64, pointer, *[i64] * 4)(addresses["bound"])
    base = pool.ctypes.data
    return [
        [
            (bound(base, owner, threads, i, 0), bound(base, owner, threads, i, 1))
            for i in range(count(base, owner, threads))
        ]
        for owner in range(threads)
    ]


UNITS, THREADS, MIN_CHUNKS = st.integers(0, 5000), st.integers(1, 17), st.integers(1, 600)


@given(UNITS, THREADS, MIN_CHUNKS)
def test_chunks_cover_all_units_in_order(units: int, threads: int, min_chunk: int) -> None:
    chunks = [chunk for queue in chunks_of(units, threads, min_chunk) for chunk in queue]
    ends = [0, *(end for _, end in chunks)]
    assert ends == [*(first for first, _ in chunks), units]


@given(UNITS, THREADS, MIN_CHUNKS)
def test_queues_are_equal_shares(units: int, threads: int, min_chunk: int) -> None:
    sizes = [sum(end - first for first, end in queue) for queue in chunks_of(units, threads, min_chunk)]
    assert max(sizes) - min(sizes) <= 1


@given(UNITS, THREADS, MIN_CHUNKS)
def test_chunks_are_halves_of_the_remainder_and_not_below_the_minimum(
    units: int, threads: int, min_chunk: int
) -> None:
    for queue in chunks_of(units, threads, min_chunk):
        remaining = sum(end - first for first, end in queue)
        for first, end in queue:
            assert end - first == min(max((remaining + 1) // 2, min_chunk), remaining)
            remaining -= end - first


def test_chunks_of_a_large_job() -> None:
    (queue,) = chunks_of(1 << 40, 1, 1)
    assert len(queue) == 41
    assert queue[0] == (0, 1 << 39)
    assert queue[-1] == ((1 << 40) - 1, 1 << 40)


def test_more_threads_than_units_have_empty_queues() -> None:
    queues = chunks_of(3, 8, 1)
    assert sorted(map(len, queues)) == [0] * 5 + [1] * 3
