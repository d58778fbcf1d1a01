"""Verifier of memory plans: asserts that buffers share memory only if they are not live at the same time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import NamedTuple

from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.program import Action, Program, describe_action, stage_of
from sardonyx._src.ir.dims import known_ge
from sardonyx._src.phases import phase


@phase("verify")
def verify_memory_plan(program: Program, plan: MemoryPlan) -> None:
    """Asserts that no two buffers overlap in memory while both are live.

    Only at a step that works in place may one buffer end and another one begin in the same memory.
    """
    verify_slot_stages(program, plan)
    verify_live_ranges(program.actions, plan.live_ranges)
    verify_loops(program.actions, plan.live_ranges)
    for a, b in sharing_ranges(plan):
        where = f"{a.buffer.name} and {b.buffer.name} share memory"
        assert a.last == b.first, f"{where} while both are live"
        step = program.actions[b.first]
        is_in_place = isinstance(step, Step) and step.in_place
        assert is_in_place, f"{where} at {describe_action(program.actions, b.first)}"
    verify_loans(program.actions, plan)
    for buffer, offset in plan.offsets.items():
        is_inside = offset % CACHE_LINE_BYTES == 0 and known_ge(plan.size, offset + buffer.size)
        assert is_inside, f"{buffer.name} is at {offset} of {plan.size}"


def verify_slot_stages(program: Program, plan: MemoryPlan) -> None:
    """Asserts that the arena's slots are in the order of their stages, so that binding sizes moves no buffer in use."""
    stages = program.stages
    last = 0
    for i, slot in enumerate(plan.slots):
        of_buffers = {stage_of(buffer.size, stages) for buffer in slot.buffers}
        assert len(of_buffers) == 1, f"slot {i} has buffers of the stages {sorted(of_buffers)}"
        stage = of_buffers.pop()
        assert stage >= last, f"slot {i} of stage {stage} is after one of stage {last}"
        last = stage


def verify_loans(actions: Sequence[Action], plan: MemoryPlan) -> None:
    """A buffer in the memory of an output fits there, and is no longer live when the output is first used."""
    by_buffer = {live_range.buffer: live_range for live_range in plan.live_ranges}
    lenders = {loan.output for loan in plan.loans.values()}
    first_use: dict[Buffer, int] = {}
    for i, action in enumerate(actions):
        for tensor in (*action.reads, *action.writes):
            if tensor.buffer in lenders:
                first_use.setdefault(tensor.buffer, i)
    for buffer, loan in plan.loans.items():
        assert known_ge(loan.output.size, loan.offset + buffer.size), (
            f"{buffer.name} exceeds {loan.output.name}"
        )
        assert by_buffer[buffer].last < first_use[loan.output], (
            f"{buffer.name} is live when {loan.output.name} is written, which lends its memory"
        )


def verify_live_ranges(actions: Sequence[Action], live_ranges: Sequence[LiveRange]) -> None:
    """Every use of an arena buffer is in its live range."""
    by_buffer = {live_range.buffer: live_range for live_range in live_ranges}
    for i, action in enumerate(actions):
        for tensor in (*action.reads, *action.writes):
            if tensor.buffer.role == "arena":
                live_range = by_buffer.get(tensor.buffer)
                is_live = live_range is not None and live_range.first <= i <= live_range.last
                assert is_live, f"{tensor.buffer.name} is used by {describe_action(actions, i)} and not live"


def verify_loops(actions: Sequence[Action], live_ranges: Sequence[LiveRange]) -> None:
    """A buffer that is live when a loop begins, and used in it, is live until the loop ends."""
    for end, action in enumerate(actions):
        if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0:
            start = end + action.jump.distance
            for r in live_ranges:
                is_carried = not r.first < start <= r.last < end
                assert is_carried, (
                    f"{r.buffer.name} is live until {r.last}, in the loop from {start} to {end}"
                )


class PlacedRange(NamedTuple):
    """The memory of a live range: a range of bytes of the arena or of an output, or a slot.

    memory: 0 for the arena, the `id` of an output that lends memory, or the index of a slot.
    number: the index of the live range, which makes entries with equal bytes comparable.
    """

    memory: int
    start: int
    end: int
    number: int
    live_range: LiveRange


def sharing_ranges(plan: MemoryPlan) -> Iterator[tuple[LiveRange, LiveRange]]:
    """The pairs of live ranges that are live at the same time and have memory in common, in the order of their first actions.

    The caller rejects a pair unless the first range ends where the second begins.  So the ranges that began before an
    action and are still live do not overlap in memory, and sorting them by their first byte sorts them by their last
    byte as well.
    """
    live: list[PlacedRange] = []  # sorted
    endings: list[tuple[int, PlacedRange]] = []  # a heap
    in_order = enumerate(sorted(plan.live_ranges, key=lambda r: r.first))
    for first, group in groupby(in_order, lambda pair: pair[1].first):
        while endings and endings[0][0] < first:
            del live[bisect_left(live, heappop(endings)[1])]
        begun: list[PlacedRange] = []
        for number, live_range in group:
            placed = placed_range(plan, live_range, number)
            yield from ((other.live_range, live_range) for other in overlapping(live, placed))
            yield from ((other.live_range, live_range) for other in begun if overlapping([other], placed))
            begun.append(placed)
        for placed in begun:
            insort(live, placed)
            heappush(endings, (placed.live_range.last, placed))


def overlapping(sorted_ranges: Sequence[PlacedRange], placed: PlacedRange) -> list[PlacedRange]:
    """Of ranges that do not overlap each other, sorted, those that have memory in common with `placed`."""
    end = start = bisect_left(sorted_ranges, (placed.memory, placed.end))
    while (
        start > 0
        and sorted_ranges[start - 1][0] == placed.memory
        and sorted_ranges[start - 1].end > placed.start
    ):
        start -= 1
    return [*sorted_ranges[start:end]]


def placed_range(plan: MemoryPlan, live_range: LiveRange, number: int) -> PlacedRange:
    buffer = live_range.buffer
    if plan.slots:
        return PlacedRange(plan.slot_of[buffer], 0, 1, number, live_range)
    loan = plan.loans.get(buffer)
    memory, start = (0, plan.offsets[buffer]) if loan is None else (id(loan.output), loan.offset)
    return PlacedRange(memory, start, start + live_range.size, number, live_range)
