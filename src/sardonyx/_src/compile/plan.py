"""Where in the arena storages lie: those that are not needed at the same time share memory.

A step that may write in the place of what it reads does so where nobody reads that again: both are one *holding*.
Holdings of known sizes get offsets.  Where sizes are known only when the program runs, holdings share slots, each as
large as its largest tenant; the slots stand in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sardonyx._src.compile.program import Action, Collect, HostCall, Program, Upload
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor, width
from sardonyx._src.ir.dims import Known, evaluate

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
    `slot_of` numbers the slots, whose sizes are those of their tenants.

    intervals: of every storage.  holdings: the same with one for all that write in each other's places, by the first of
    them.
    """

    intervals: tuple[Interval, ...]
    offsets: Mapping[Storage, int]
    size: int
    slots: tuple[Slot, ...]
    slot_of: Mapping[Storage, int]
    holdings: tuple[Interval, ...] = ()


def planned(program: Program) -> Plan:
    """The plan for a program's arena."""
    intervals = lives(program.actions, dict.fromkeys(program.sizes, GUESS))
    home = homes(program.actions, intervals)
    holdings = joined(intervals, home)
    if all(isinstance(i.storage.size, int) for i in holdings):
        offsets, size = packed(holdings)
        every = {i.storage: offsets[home[i.storage]] for i in intervals}
        return Plan(tuple(intervals), every, size, (), {}, tuple(holdings))
    slots, slot_of = shared(holdings)
    numbers = {i.storage: slot_of[home[i.storage]] for i in intervals}
    return Plan(tuple(intervals), {}, 0, slots, numbers, tuple(holdings))


def lives(actions: Sequence[Action], sizes: Mapping[str, int]) -> list[Interval]:
    """From where to where each storage of the arena is needed, in the order of first use.

    What a loop makes anew in each iteration, or a branch, is needed from its first action to its last one, as elsewhere.
    """
    found: dict[Storage, Interval] = {}
    for index, action in enumerate(actions):
        assert isinstance(action, Step | HostCall | Upload | Collect), f"{action!r} is no action"
        for tensor in (*action.reads, *action.writes):
            storage = tensor.storage
            if storage.role == "arena":
                if storage not in found:
                    found[storage] = Interval(storage, index, index, guessed(storage.size, sizes))
                found[storage].last = index
        if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0:
            keep(found.values(), index + action.jump.distance, index)
    return list(found.values())


def keep(intervals: Iterable[Interval], start: int, end: int) -> None:
    """Keeps what was there before a loop, and is touched in it, until its end: it comes again."""
    for one in intervals:
        if one.first < start <= one.last:
            one.last = end


def homes(actions: Sequence[Action], intervals: Sequence[Interval]) -> dict[Storage, Storage]:
    """For each storage the first of those in whose place it lies; itself for most."""
    lives = {one.storage: one for one in intervals}
    found = {storage: storage for storage in lives}
    for index, action in enumerate(actions):
        if isinstance(action, Step) and action.in_place and len(action.writes) == 1:
            made = action.writes[0]
            if made.storage in lives and lives[made.storage].first == index:
                fitting = (one.storage for one in action.reads if fits(one, made, action, index, lives))
                found[made.storage] = found[next(fitting, made.storage)]
    return found


def fits(read: Tensor, made: Tensor, step: Step, index: int, lives: Mapping[Storage, Interval]) -> bool:
    """Whether a step may write in the place of a tensor that it reads: all of its storage, for the last time."""
    life = lives.get(read.storage)
    if life is None or life.last != index or life.first == index:
        return False
    alike = [one for one in step.reads if one.storage is read.storage]
    return (
        all((one.shape, one.strides, one.offset) == (made.shape, made.strides, made.offset) for one in alike)
        and all(width(one.dtype) == width(made.dtype) for one in alike)
        and read.storage.size == made.storage.size
    )


def joined(intervals: Sequence[Interval], home: Mapping[Storage, Storage]) -> list[Interval]:
    """One interval for all storages that lie in one place."""
    found: dict[Storage, Interval] = {}
    for one in intervals:
        first = found.setdefault(home[one.storage], replace(one))
        first.last = max(first.last, one.last)
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
