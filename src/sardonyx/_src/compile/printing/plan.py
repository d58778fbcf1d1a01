"""Printer of memory plans: the arena, and where and how long each buffer is in it."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.printing.formatter import ProgramFormatter, format_quantity
from sardonyx._src.compile.program.encoding.executable import Executable


def format_memory_plan(executable: Executable, formatter: ProgramFormatter) -> Iterator[str]:
    """The size of the arena, and a line per buffer: live range in actions, slot or offset, size and name."""
    plan = executable.plan
    arena_size = f"{format_quantity(plan.size, 'B')}" if not plan.slots else f"{len(plan.slots)} slots"
    constant_bytes = format_quantity(executable.program.constant_bytes, "B")
    yield f"arena: {arena_size}, {len(plan.live_ranges)} buffers; constants: {constant_bytes}"
    for live_range in plan.live_ranges:
        slot = plan.slot_of.get(live_range.buffer)
        loan = plan.loans.get(live_range.buffer)
        if loan is not None:
            slot_text = f"{loan.output.name} at {loan.offset}"
        else:
            slot_text = f"slot {slot}" if slot is not None else f"at {plan.offsets[live_range.buffer]}"
        size = formatter.format_amount(live_range.buffer.size, "B")
        yield f"{live_range.first:4} to {live_range.last:4}  {slot_text:>14}  {size:>12}  {live_range.buffer.name}"
