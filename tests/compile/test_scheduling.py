"""Work partitioning: the chunks of all threads' queues are the units of a job, each once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.executor.pool_builder import PoolFunctionBuilder
from sardonyx._src.compile.executor.pool_layout import (
    JOB_BLOCK,
    JOB_FIRST,
    JOB_GROUPS,
    JOB_MIN_CHUNK,
    JOB_PANELS,
    WORKERS_BEGIN,
)
from sardonyx._src.compile.executor.scheduling import ChunkQueue
from sardonyx._src.compile.llvm.jit import Library, host_target, load

Chunk = tuple[int, int]


@cache
def queue_library() -> Library:
    """`count(pool, owner, threads)`: the chunks of a queue; `bound(pool, owner, threads, number, is_end)`: of one of them;
    `adjacent(pool, owner, threads, place, end, is_count)`: the unit at a place of the queue, or how many follow it."""
    builders = [PoolFunctionBuilder(host_target()) for _ in range(3)]
    counter, bounder, walker = builders
    counter.emit_return(f"{queue_of(counter).count_chunks()}")
    first, end = queue_of(bounder).chunk_bounds(bounder.parameter("number"))
    bounder.emit_return(f"{bounder.select(bounder.parameter('is_end').ne(0), end, first)}")
    unit, count = queue_of(walker).adjacent_units(walker.parameter("place"), walker.parameter("end"))
    walker.emit_return(f"{walker.select(walker.parameter('is_count').ne(0), count, unit)}")
    queue = "ptr %pool, i64 %owner, i64 %threads"
    functions = (
        counter.build_function(f"i64 @count({queue})"),
        bounder.build_function(f"i64 @bound({queue}, i64 %number, i64 %is_end)"),
        walker.build_function(f"i64 @adjacent({queue}, i64 %place, i64 %end, i64 %is_count)"),
    )
    declarations = (line for builder in builders for line in builder.declarations)
    return load("\n".join((*declarations, *functions)), ["count", "bound", "adjacent"])


def queue_of(builder: PoolFunctionBuilder) -> ChunkQueue:
    owner: LLVMValue = builder.parameter("owner")
    return ChunkQueue.for_thread(builder, owner, builder.parameter("threads"))


def function(name: str, numbers: int) -> Callable[..., int]:
    """A function of the library, of a pool and numbers."""
    i64 = ctypes.c_int64
    return ctypes.CFUNCTYPE(i64, ctypes.c_void_p, *[i64] * numbers)(queue_library().addresses[name])


def pool_of(panels: int, groups: int, block: int, min_chunk: int = 1, first: int = 0) -> NDArray[np.int64]:
    """The memory of a pool with a job: a grid of panels and row groups."""
    pool = np.zeros(WORKERS_BEGIN, np.int64)
    pool[[JOB_PANELS, JOB_GROUPS, JOB_BLOCK]] = panels, groups, block
    pool[[JOB_MIN_CHUNK, JOB_FIRST]] = min_chunk, first
    return pool


def chunks_of(units: int, threads: int, min_chunk: int) -> list[list[Chunk]]:
    """The chunks of each thread's queue in a job of one panel, as half-open ranges of units."""
    pool = pool_of(1, units, units, min_chunk)
    bounds = [queue_bounds(pool, owner, threads) for owner in range(threads)]
    starts = [units * owner // threads for owner in range(threads)]
    return [
        [(start + first, start + end) for first, end in queue]
        for start, queue in zip(starts, bounds, strict=True)
    ]


def queue_bounds(pool: NDArray[np.int64], owner: int, threads: int) -> list[Chunk]:
    """The chunks of a queue, as half-open ranges of places in its order."""
    count, bound, base = function("count", 2), function("bound", 4), pool.ctypes.data
    numbers = range(count(base, owner, threads))
    return [tuple(bound(base, owner, threads, i, is_end) for is_end in (0, 1)) for i in numbers]  # type: ignore[misc]


def calls_of(pool: NDArray[np.int64], owner: int, threads: int) -> list[Chunk]:
    """The ranges of units for which a queue calls the kernel."""
    adjacent, base = function("adjacent", 5), pool.ctypes.data
    calls: list[Chunk] = []
    for place, end in queue_bounds(pool, owner, threads):
        while place < end:
            unit, count = (adjacent(base, owner, threads, place, end, is_count) for is_count in (0, 1))
            calls.append((unit, unit + count))
            place += count
    return calls


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
def test_chunks_are_fifths_of_the_remainder_and_not_below_the_minimum(
    units: int, threads: int, min_chunk: int
) -> None:
    for queue in chunks_of(units, threads, min_chunk):
        remaining = sum(end - first for first, end in queue)
        for first, end in queue:
            assert end - first == min(max((remaining + 4) // 5, min_chunk), remaining)
            remaining -= end - first


def test_chunks_of_a_large_job() -> None:
    (queue,) = chunks_of(1 << 40, 1, 1)
    assert len(queue) == 120
    assert queue[0] == (0, -(-(1 << 40) // 5))
    assert queue[-1] == ((1 << 40) - 1, 1 << 40)


def finish(queues: Sequence[Sequence[Chunk]], speeds: Sequence[float]) -> float:
    """When the last chunk ends, if thread i does `speeds[i]` units in a second: as `@work_off`, a thread empties its own queue,
    then those after it."""
    left = [[end - first for first, end in queue] for queue in queues]
    events = [
        (0.0, thread, thread) for thread in range(len(queues))
    ]  # time, thread, the queue that it empties
    last = 0.0
    while events:
        now, thread, owner = heappop(events)
        last = max(last, now)
        owners = [owner, *((thread + i) % len(queues) for i in range(len(queues)))]
        claimed = next((queue for queue in owners if left[queue]), None)
        if claimed is not None:
            heappush(events, (now + left[claimed].pop(0) / speeds[thread], thread, claimed))
    return last


SLOWER = [speed / 100 for speed in range(40, 101, 5)]
MIXTURES = ("fs", "sf", "ffss", "ffffssss", "ffffffss")  # of fast and slow threads


@pytest.mark.parametrize("units", [256, 1024])
def test_slower_threads_delay_a_job_little(units: int) -> None:
    """Beyond the ideal time, in which all threads end at once."""
    delays = [
        finish(chunks_of(units, len(mixture), 1), speeds) / (units / sum(speeds))
        for mixture in MIXTURES
        for slow in SLOWER
        for speeds in [[1 if kind == "f" else slow for kind in mixture]]
    ]
    assert min(delays) >= 1 - 1e-9
    assert max(delays) < 1.15 and sum(delays) / len(delays) < 1.025


def test_more_threads_than_units_have_empty_queues() -> None:
    queues = chunks_of(3, 8, 1)
    assert sorted(map(len, queues)) == [0] * 5 + [1] * 3


@given(
    st.integers(1, 9), st.integers(1, 60), st.integers(1, 40), THREADS, st.integers(1, 30), st.integers(0, 50)
)
def test_a_grid_is_divided_by_row_groups(
    panels: int, groups: int, block: int, threads: int, min_chunk: int, first: int
) -> None:
    pool = pool_of(panels, groups, block, min_chunk, first)
    seen = []
    for owner in range(threads):
        rows = range(groups * owner // threads, groups * (owner + 1) // threads)
        units = [unit for begin, end in calls_of(pool, owner, threads) for unit in range(begin, end)]
        assert sorted(units) == sorted(first + p * groups + g for p in range(panels) for g in rows)
        seen += units
    assert sorted(seen) == list(range(first, first + panels * groups))


@given(st.integers(1, 9), st.integers(1, 60), st.integers(1, 40), THREADS)
def test_all_panels_of_a_block_of_row_groups_precede_the_next_block(
    panels: int, groups: int, block: int, threads: int
) -> None:
    pool = pool_of(panels, groups, block)
    for owner in range(threads):
        calls = calls_of(pool, owner, threads)
        order = [(unit % groups, unit // groups) for begin, end in calls for unit in range(begin, end)]
        rows = sorted({group for group, _ in order})
        blocks = -(-len(rows) // block)
        length = -(-len(rows) // blocks) if rows else 1
        first = rows[0] if rows else 0
        expected = sorted(order, key=lambda place: ((place[0] - first) // length, place[1], place[0]))
        assert order == expected


def test_a_queue_calls_the_kernel_once_for_each_panel() -> None:
    pool = pool_of(panels=3, groups=16, block=36, min_chunk=100)
    assert calls_of(pool, 0, 2) == [(0, 8), (16, 24), (32, 40)]
    assert calls_of(pool, 1, 2) == [(8, 16), (24, 32), (40, 48)]
