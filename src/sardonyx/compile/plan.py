"""Where in the arena storages lie: those that are not needed at the same time share memory.

Storages of known sizes get offsets.  Where sizes are known only when the program runs, storages share slots, each as
large as its largest tenant; the slots stand in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx.compile.program import Action, HostCall, Program, Upload
from sardonyx.compile.step import Step
from sardonyx.compile.tensor import Storage
from sardonyx.ir.dims import Known, evaluate

LINE = 64  # bytes of a cache line, at which storages begin
GUESS = 61  # for a size that is not known yet, when slots are chosen


@dataclass(slots=True)
class Interval:
    """The actions for which a storage is needed."""

    storage: Storage
    first: int
    last: int
    size: int  # bytes, guessed where it depends on sizes of inputs


@dataclass(slots=True)
class Slot:
    """Tenants of one stretch of the arena, one after the other."""

    tenants: list[Storage] = field(default_factory=list)
    size: int = 0
    free_from: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """offsets: bytes from the start of the arena, if all sizes are numbers, which is then of `size` bytes; otherwise
    `slot_of` numbers the slots, whose sizes are those of their tenants."""

    intervals: tuple[Interval, ...]
    offsets: Mapping[Storage, int]
    size: int
    slots: tuple[Slot, ...]
    slot_of: Mapping[Storage, int]


def planned(program: Program) -> Plan:
    """The plan for a program's arena."""
    intervals = lives(program.actions, dict.fromkeys(program.sizes, GUESS))
    if all(isinstance(i.storage.size, int) for i in intervals):
        offsets, size = packed(intervals)
        return Plan(tuple(intervals), offsets, size, (), {})
    slots, slot_of = shared(intervals)
    return Plan(tuple(intervals), {}, 0, slots, slot_of)


def lives(actions: Sequence[Action], sizes: Mapping[str, int]) -> list[Interval]:
    """From where to where each storage of the arena is needed, in the order of first use."""
    found: dict[Storage, Interval] = {}
    for index, action in enumerate(actions):
        assert isinstance(action, Step | HostCall | Upload), f"{action!r} is no action"
        for tensor in (*action.reads, *action.writes):
            storage = tensor.storage
            if storage.role == "arena":
                if storage not in found:
                    found[storage] = Interval(storage, index, index, guessed(storage.size, sizes))
                found[storage].last = index
    return list(found.values())


def guessed(size: Known, sizes: Mapping[str, int]) -> int:
    found = evaluate(size, sizes)
    return LINE if found is None else max(found, 0)


def packed(intervals: Sequence[Interval]) -> tuple[dict[Storage, int], int]:
    """Offsets, the largest storage first, each in the lowest gap that it fits into."""
    placed: list[tuple[int, int, Interval]] = []  # start, end
    offsets: dict[Storage, int] = {}
    total = 0
    for one in sorted(intervals, key=lambda i: (-i.size, i.first)):
        start, size = 0, lines(one.size)
        for low, high, other in sorted(placed, key=lambda p: p[0]):
            if other.first > one.last or other.last < one.first:
                continue
            if start + size <= low:
                break
            start = max(start, high)
        placed.append((start, start + size, one))
        offsets[one.storage] = start
        total = max(total, start + size)
    return offsets, total


def shared(intervals: Sequence[Interval]) -> tuple[tuple[Slot, ...], dict[Storage, int]]:
    """Slots, each storage in the free one that is nearest in size."""
    slots: list[Slot] = []
    slot_of: dict[Storage, int] = {}
    for one in intervals:
        free = [i for i, slot in enumerate(slots) if slot.free_from <= one.first]
        same = [i for i in free if any(t.size == one.storage.size for t in slots[i].tenants)]
        chosen = min(same or free, key=lambda i: abs(slots[i].size - one.size), default=len(slots))
        if chosen == len(slots):
            slots.append(Slot())
        slot = slots[chosen]
        slot.tenants.append(one.storage)
        slot.size, slot.free_from = max(slot.size, one.size), one.last + 1
        slot_of[one.storage] = chosen
    return tuple(slots), slot_of


def lines(size: int) -> int:
    """A size rounded up to whole cache lines."""
    return -(-size // LINE) * LINE
