"""The arena of a program: where each buffer is, as `memory_plan.py` plans it, or as a file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from sardonyx._src.compile.program import Buffer
from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from sardonyx._src.compile.program.memory.live_range import LiveRange
    from sardonyx._src.compile.program.memory.output_loans import Loan


@dataclass(slots=True)
class ArenaSlot:
    """A memory range of the arena, used by several buffers one after the other."""

    buffers: list[Buffer] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where the buffers of the arena are.

    live_ranges: the live range of every buffer.
    offsets: the offset of each buffer in bytes, if all sizes are known at compile time; otherwise empty.
    size: the size of the arena in bytes, if all sizes are known at compile time.
    slots: the slots of the arena, if sizes are known only at run time.
    slot_of: the index of each buffer's slot.
    loans: the buffers that lie in the memory of outputs, and not in the arena.
    alias_sets: the union of the live ranges of each in-place alias set, by its first buffer.
    """

    live_ranges: tuple[LiveRange, ...]
    offsets: Mapping[Buffer, int]
    size: int
    slots: tuple[ArenaSlot, ...]
    slot_of: Mapping[Buffer, int]
    alias_sets: tuple[LiveRange, ...] = ()
    loans: Mapping[Buffer, Loan] = field(default_factory=dict)
