"""Memory report: the bytes that a run of a compiled program uses, and the values that are live at the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.encoding import size_functions as sizes_of
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.formatters import format_html


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A range of the arena that holds the value `name` from step `first` to step `last`."""

    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes that a run uses in addition to its feeds and outputs.

    arena: bytes of intermediate values, needed once for each simultaneous run.
    peak: the largest number of bytes that are live at one step.
    peak_step: the number of that step.
    node: the nodes that it computes.
    held: the values that are live there, largest first.
    weights: bytes of constants, which all runs share.
    scratch: bytes of scratch memory of all threads of a run.
    """

    arena: int
    peak: int
    peak_step: int
    node: str
    held: tuple[HeldMemory, ...]
    weights: int
    scratch: int

    def as_json(self) -> dict[str, object]:
        """The report as numbers, strings, lists and dicts."""
        return {**asdict(self), "held": [asdict(memory) for memory in self.held]}

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __str__(self) -> str:
        sizes = ((name, format_bytes(getattr(self, name))) for name in ("arena", "weights", "scratch"))
        summary = (
            ", ".join(f"{name} {size}" for name, size in sizes),
            f"at the peak, step {self.peak_step} ({self.node}), {format_bytes(self.peak)} are held:",
        )
        lines = (f"{format_bytes(m.bytes):>10}  {m.first:4} to {m.last:4}  {m.name}" for m in self.held)
        return "\n".join((*summary, *lines))


def build_memory_report(executable: Executable, threads: int, lengths: Mapping[str, int]) -> MemoryReport:
    """The report for runs with these dims, by the names of dimension variables.

    Raises InputError for a dim that is missing, unknown or negative, and for dims that violate the model's constraints.
    """
    program = executable.program
    known = check_lengths(program, lengths)
    _, arena, scratch, faults = sizes_of.evaluate_sizes(program, executable.encoding, list(known.values()))
    if faults:
        raise InputError(f"the dims must satisfy the model's constraints; got {known}", name="lengths")
    held = held_memory(executable, known)
    totals = [
        sum(memory.bytes for memory in held if memory.first <= i <= memory.last)
        for i in range(len(program.actions))
    ]
    peak = max(totals, default=0)
    peak_step = totals.index(peak) if totals else 0
    live = [memory for memory in held if memory.first <= peak_step <= memory.last]
    node = action_title(program.actions[peak_step]) if program.actions else ""
    largest = sorted(live, key=lambda memory: -memory.bytes)
    return MemoryReport(
        arena, peak, peak_step, node, tuple(largest), program.constant_bytes, scratch * threads
    )


def held_memory(executable: Executable, lengths: Mapping[str, int]) -> list[HeldMemory]:
    """The ranges of the arena with their live ranges, for runs with these dims.  Raises InputError as `check_lengths` does."""
    known = check_lengths(executable.program, lengths)
    return [measure_live_range(live_range, known) for live_range in executable.plan.alias_sets]


def check_lengths(program: Program, lengths: Mapping[str, int]) -> dict[str, int]:
    """The lengths in the order of the program's symbols; a data-dependent size is 0 unless it is given.

    Raises InputError for a dim that is missing, unknown or negative.
    """
    symbols = program.stages
    for name, length in lengths.items():
        if name not in symbols:
            names = ", ".join(map(repr, symbols)) or "none"
            raise InputError(f"the model has no dimension {name!r}; it has {names}", name=name)
        if length < 0:
            raise InputError(f"dimension {name!r} must be at least 0; got {length}", name=name)
    missing = [name for name in program.sizes if name not in lengths]
    if missing:
        names = ", ".join(map(repr, missing))
        example = ", ".join(f"{name!r}: {lengths.get(name, 1)}" for name in program.sizes)
        why = f"lengths must have every dimension of the inputs that is not a number; got none for {names}"
        raise InputError(f"{why}: pass them by name, as session.plan({{{example}}})", name=missing[0])
    return {name: int(lengths.get(name, 0)) for name in symbols}


def measure_live_range(live_range: LiveRange, known: dict[str, int]) -> HeldMemory:
    size = max(sizes_of.evaluate_dim(live_range.buffer.size, known), 0)
    return HeldMemory(live_range.buffer.name, size, live_range.first, live_range.last)


def action_title(action: Action) -> str:
    """The nodes that an action computes."""
    match action:
        case Step():
            return "+".join(dict.fromkeys(action.nodes))
        case FallbackOp():
            return action.node.name or action.node.op_type
        case CopyIn() | BindSizes():
            return action.value.name
        case CollectScanOutputs():
            return "+".join(value.name for value in action.buffers)


def format_bytes(size: float) -> str:
    """A number of bytes with a decimal unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("the loop returns at the last unit")
