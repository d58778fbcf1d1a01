"""Memory planning: buffers whose live ranges do not overlap share memory in the arena.

A step that may work in place writes to the memory of an input that is not read later: the buffers form an *in-place
alias set*, which is planned as one buffer.  If all sizes are known, alias sets get offsets.  Otherwise they are
assigned to slots, each as large as its largest buffer; the slots are adjacent in the arena.  All buffers of a slot
are of one stage (`Program.stages`), and slots of later stages come later in memory, so that binding sizes moves no
buffer that is in use.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from sardonyx._src.compile.program import Buffer, Step, TensorView, element_bytes
from sardonyx._src.compile.program.memory.arena import ArenaSlot, MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.memory.output_loans import lend_outputs
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
    stage_of,
)
from sardonyx._src.ir.dims import Known, evaluate
from sardonyx._src.phases import phase

MAX_PACKED_BY_SIZE = (
    2048  # more alias sets are packed in the order of first use, since by size takes quadratic time
)
MAX_CANDIDATES = 256  # gaps or slots that are considered for one buffer, so that planning stays linear
UNBOUNDED = 1 << 62
GUESSED_LENGTH = 61  # assumed for symbolic dims when slots are assigned


@phase("plan")
def plan_memory(program: Program) -> MemoryPlan:
    """Plans the arena of a program."""
    stages = program.stages
    ranges = find_live_ranges(program.actions, dict.fromkeys(stages, GUESSED_LENGTH))
    root = find_in_place_aliases(program.actions, ranges)
    alias_sets = coalesce(ranges, root)
    if all(isinstance(r.buffer.size, int) for r in alias_sets):
        lent = lend_outputs(program, alias_sets)
        others = [r for r in alias_sets if r.buffer not in lent]
        pack = pack_offsets if len(others) <= MAX_PACKED_BY_SIZE else pack_in_order
        root_offsets, size = pack(others)
        offsets = {r.buffer: root_offsets[root[r.buffer]] for r in ranges if root[r.buffer] not in lent}
        loans = {r.buffer: lent[root[r.buffer]] for r in ranges if root[r.buffer] in lent}
        return MemoryPlan(tuple(ranges), offsets, size, (), {}, tuple(others), loans)
    slots, root_slots = share_slots(alias_sets, stages)
    slot_of = {r.buffer: root_slots[root[r.buffer]] for r in ranges}
    return MemoryPlan(tuple(ranges), {}, 0, slots, slot_of, tuple(alias_sets))


def find_live_ranges(actions: Sequence[Action], sizes: Mapping[str, int]) -> list[LiveRange]:
    """The live range of each buffer of the arena, in the order of first use.

    A value that each iteration of a loop computes again, or a branch, is live from its first to its last use, as in
    straight-line code.
    """
    ranges: dict[Buffer, LiveRange] = {}
    for index, action in enumerate(actions):
        assert isinstance(action, Step | FallbackOp | CopyIn | BindSizes | CollectScanOutputs), (
            f"program must consist of actions; got {action!r}"
        )
        for tensor in (*action.reads, *action.writes):
            buffer = tensor.buffer
            if buffer.role == "arena":
                if buffer not in ranges:
                    ranges[buffer] = LiveRange(buffer, index, index, estimate_bytes(buffer.size, sizes))
                ranges[buffer].last = index
        if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0:
            extend_across_back_edge(ranges.values(), index + action.jump.distance, index)
    return list(ranges.values())


def extend_across_back_edge(ranges: Iterable[LiveRange], start: int, end: int) -> None:
    """Extends live ranges that begin before a loop and end inside of it to its end, since the next iteration reads the buffers."""
    for live_range in ranges:
        if live_range.first < start <= live_range.last:
            live_range.last = end


def find_in_place_aliases(actions: Sequence[Action], ranges: Sequence[LiveRange]) -> dict[Buffer, Buffer]:
    """For each buffer the first buffer of its in-place alias set; a buffer without aliases is its own."""
    live_ranges = {live_range.buffer: live_range for live_range in ranges}
    root = {buffer: buffer for buffer in live_ranges}
    for index, action in enumerate(actions):
        if isinstance(action, Step) and action.in_place and len(action.writes) == 1:
            output = action.writes[0]
            if output.buffer in live_ranges and live_ranges[output.buffer].first == index:
                candidates = (
                    operand.buffer
                    for operand in action.reads
                    if can_write_in_place(operand, output, action, index, live_ranges)
                )
                root[output.buffer] = root[next(candidates, output.buffer)]
    return root


def can_write_in_place(
    operand: TensorView, output: TensorView, step: Step, index: int, live_ranges: Mapping[Buffer, LiveRange]
) -> bool:
    """Whether a step may write its output over an operand: it is the last to use the buffer, and the layouts are equal."""
    live_range = live_ranges.get(operand.buffer)
    if live_range is None or live_range.last != index or live_range.first == index:
        return False
    views = [view for view in step.reads if view.buffer is operand.buffer]
    return (
        all((v.shape, v.strides, v.offset) == (output.shape, output.strides, output.offset) for v in views)
        and all(element_bytes(v.dtype) == element_bytes(output.dtype) for v in views)
        and operand.buffer.size == output.buffer.size
    )


def coalesce(ranges: Sequence[LiveRange], root: Mapping[Buffer, Buffer]) -> list[LiveRange]:
    """Coalesces the live ranges of each in-place alias set into one."""
    unions: dict[Buffer, LiveRange] = {}
    for live_range in ranges:
        union = unions.setdefault(root[live_range.buffer], replace(live_range))
        union.last = max(union.last, live_range.last)
    return list(unions.values())


def estimate_bytes(size: Known, sizes: Mapping[str, int]) -> int:
    """A size with assumed values of the symbolic dims."""
    value = evaluate(size, sizes)
    return CACHE_LINE_BYTES if value is None else max(value, 0)


def pack_offsets(ranges: Sequence[LiveRange]) -> tuple[dict[Buffer, int], int]:
    """(offsets, total size): first-fit packing, the largest buffer first, each in the lowest gap that it fits into."""
    placed: list[tuple[int, int, LiveRange]] = []  # start, end, live range; ascending
    offsets: dict[Buffer, int] = {}
    total = 0
    for live_range in sorted(ranges, key=lambda r: (-r.size, r.first)):
        start, size = 0, align_to_cache_line(live_range.size)
        for low, high, other in placed:
            if other.first > live_range.last or other.last < live_range.first:
                continue
            if start + size <= low:
                break
            start = max(start, high)
        insort(placed, (start, start + size, live_range), key=lambda p: p[0])
        offsets[live_range.buffer] = start
        total = max(total, start + size)
    return offsets, total


def pack_in_order(ranges: Sequence[LiveRange]) -> tuple[dict[Buffer, int], int]:
    """(offsets, total size): first-fit packing in the order of first use.

    The time is about linear in the number of buffers; that of `pack_offsets` is quadratic.
    """
    offsets: dict[Buffer, int] = {}
    live: list[tuple[int, int, int]] = []  # a heap of last use, start, end
    gaps, total = [(0, UNBOUNDED)], 0  # start, end
    for live_range in sorted(ranges, key=lambda r: r.first):
        while live and live[0][0] < live_range.first:
            _, start, end = heappop(live)
            add_gap(gaps, start, end)
        size = align_to_cache_line(live_range.size)
        index = next((i for i, (a, b) in enumerate(gaps[:MAX_CANDIDATES]) if b - a >= size), len(gaps) - 1)
        start, end = gaps[index][0], gaps[index][0] + size
        gaps[index : index + 1] = [(end, gaps[index][1])] if end < gaps[index][1] else []
        if size:
            heappush(live, (live_range.last, start, end))
        offsets[live_range.buffer] = start
        total = max(total, end)
    return offsets, total


def add_gap(gaps: list[tuple[int, int]], start: int, end: int) -> None:
    """Adds a gap to an ascending list, merged with adjacent gaps."""
    i = bisect_left(gaps, (start, end))
    if i < len(gaps) and gaps[i][0] == end:
        end = gaps.pop(i)[1]
    if i and gaps[i - 1][1] == start:
        i -= 1
        start = gaps.pop(i)[0]
    gaps.insert(i, (start, end))


def share_slots(
    ranges: Sequence[LiveRange], stages: Mapping[str, int]
) -> tuple[tuple[ArenaSlot, ...], dict[Buffer, int]]:
    """The slots in the order of their stages, and the slot of each buffer.  stages: the stage of each symbol."""
    by_stage: dict[int, list[LiveRange]] = {}
    for live_range in ranges:
        by_stage.setdefault(stage_of(live_range.buffer.size, stages), []).append(live_range)
    slots: list[ArenaSlot] = []
    slot_of: dict[Buffer, int] = {}
    for stage in sorted(by_stage):
        more, indices = share_slots_of_stage(by_stage[stage])
        slot_of |= {buffer: len(slots) + index for buffer, index in indices.items()}
        slots += more
    return tuple(slots), slot_of


def share_slots_of_stage(ranges: Sequence[LiveRange]) -> tuple[list[ArenaSlot], dict[Buffer, int]]:
    """(slots, slot of each buffer): a buffer gets the free slot nearest in size, preferably one with a buffer of equal size."""
    slots: list[ArenaSlot] = []
    slot_of: dict[Buffer, int] = {}
    sizes: list[set[Known]] = []  # for each slot, the sizes of its buffers
    busy: list[tuple[int, int]] = []  # a heap of the last use and the number of each slot that is not free
    free: list[int] = []  # ascending
    for live_range in ranges:
        while busy and busy[0][0] < live_range.first:
            insort(free, heappop(busy)[1])
        nearest = free[:MAX_CANDIDATES]
        candidates = [i for i in nearest if live_range.buffer.size in sizes[i]] or nearest
        index = min(candidates, key=lambda i: abs(slots[i].size - live_range.size), default=len(slots))
        if index == len(slots):
            slots.append(ArenaSlot())
            sizes.append(set())
        else:
            free.remove(index)
        slots[index].buffers.append(live_range.buffer)
        slots[index].size = max(slots[index].size, live_range.size)
        sizes[index].add(live_range.buffer.size)
        heappush(busy, (live_range.last, index))
        slot_of[live_range.buffer] = index
    return slots, slot_of


def align_to_cache_line(size: int) -> int:
    """A size rounded up to whole cache lines."""
    return -(-size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
