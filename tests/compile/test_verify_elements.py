"""Verifiers that are linear in what they verify find the violations that a comparison of all pairs finds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sardonyx._src.compile.layouts.verify_elements import Box, TensorBoxes, WrittenElements, share_elements
from sardonyx._src.compile.partition.partitioner.verify import subgraphs_of
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.verification.verify_memory_plan import sharing_ranges
from sardonyx._src.dtypes import DataType

IMAGE = (24, 6, 1)  # strides of a buffer [2, 4, 6]


def box_of(offset: int, shape: tuple[int, ...], strides: tuple[int, ...] = IMAGE) -> Box:
    tensor = TensorView(DataType.FLOAT, shape, strides, Buffer("arena", 1 << 20, "b"), offset)
    (box,) = TensorBoxes([{}]).of(tensor)
    assert box is not None
    return box


def is_new(box: Box, others: list[Box]) -> bool:
    """Whether a box shares no elements with others, as far as their strides tell."""
    return not any(
        box.offset == other.offset or (box.strides == other.strides and share_elements(box, other))
        for other in others
    )


@pytest.mark.parametrize("seed", range(60))
def test_elements_that_are_written_twice_are_found(seed: int) -> None:
    draw = np.random.default_rng(seed)
    written, boxes = WrittenElements(), list[Box]()
    for _ in range(30):
        start = [int(draw.integers(n)) for n in (2, 4, 6)]
        dims = [
            int(draw.integers(1, n - first + (seed % 3 == 0) + 1))
            for n, first in zip((2, 4, 6), start, strict=True)
        ]
        if seed % 2:  # slices along one axis
            start, dims = [0, 0, start[2]], [2, 4, dims[2]]
        strides = IMAGE if draw.integers(4) else (24, 6, 2)
        box = box_of(sum(s * i for s, i in zip(IMAGE, start, strict=True)), tuple(dims), strides)
        tried = written.copy()
        assert tried.add(box) == is_new(box, boxes)
        if is_new(box, boxes):
            written.add(box)
            boxes.append(box)
    assert written.count == sum(box.count for box in boxes) and len(boxes) > 1


def test_slices_that_meet_share_nothing() -> None:
    written = WrittenElements()
    assert all(written.add(box_of(i, (2, 4, 2))) for i in (0, 4, 2))
    for offset, width in ((1, 2), (3, 4), (0, 2), (5, 2)):
        assert not written.copy().add(box_of(offset, (2, 4, width)))


def random_plan(draw: np.random.Generator, *, has_slots: bool) -> MemoryPlan:
    ranges = []
    for i in range(12):
        first = int(draw.integers(20))
        size = int(draw.integers(4)) * 64
        ranges.append(LiveRange(Buffer("arena", size, f"b{i}"), first, first + int(draw.integers(4)), size))
    buffers = [live_range.buffer for live_range in ranges]
    places = {buffer: int(draw.integers(12)) for buffer in buffers}
    slots = tuple(range(12)) if has_slots else ()
    offsets = {buffer: 64 * place for buffer, place in places.items()}
    return MemoryPlan(tuple(ranges), offsets, 1024, slots, places)  # type: ignore[arg-type]


def share_memory(plan: MemoryPlan, a: LiveRange, b: LiveRange) -> bool:
    if plan.slots:
        return plan.slot_of[a.buffer] == plan.slot_of[b.buffer]
    start, other = plan.offsets[a.buffer], plan.offsets[b.buffer]
    return start < other + b.size and other < start + a.size


@pytest.mark.parametrize("seed", range(200))
def test_buffers_that_share_memory_are_found(seed: int) -> None:
    """All pairs up to the first one that no step may have are those of a comparison of all."""
    plan = random_plan(np.random.default_rng(seed), has_slots=seed % 4 == 0)
    pairs = combinations(sorted(plan.live_ranges, key=lambda r: r.first), 2)
    expected = [(a, b) for a, b in pairs if a.last >= b.first and share_memory(plan, a, b)]
    rejected_at = min((b.first for a, b in expected if a.last != b.first), default=99)
    sharing = set[tuple[Buffer, Buffer]]()
    for a, b in sharing_ranges(plan):
        sharing.add((a.buffer, b.buffer))
        if a.last != b.first:
            break
    else:
        assert rejected_at == 99
    assert sharing <= {(a.buffer, b.buffer) for a, b in expected if b.first <= rejected_at}
    assert sharing >= {(a.buffer, b.buffer) for a, b in expected if b.first < rejected_at}


def test_shared_parts_of_a_config_are_visited_once() -> None:
    """A config of 64 levels, each with its parts twice: as a tree it has 2 ** 64 of them."""
    config: object = ("x",)
    for _ in range(64):
        config = (config, config)
    assert list(subgraphs_of(config)) == []
