"""Recomputation of activations: the backward pass computes some results of the forward pass again, so that fewer stay in memory.

The blocks (`step_graph.Block`) before the peak of memory, which are the forward pass, are divided into segments.
Consider the results that are read after the peak.  If a later segment reads a result as well, it is kept.  The other
results of a segment are dropped, and computed again from the kept ones, right before the first block after the peak
that reads one of them.

For n blocks in equal segments, memory for about the square root of n results suffices, for the price of one more
forward pass: Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.  Results keep their
bits, since the same kernels compute them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from sardonyx._src.compile.program import Buffer, KernelArgument, Step, TensorView
from sardonyx._src.compile.program.memory.memory_plan import GUESSED_LENGTH, estimate_bytes, find_live_ranges
from sardonyx._src.compile.program.memory.step_graph import (
    Block,
    Uses,
    divide_into_blocks,
    find_uses,
    repeatable_buffers,
)
from sardonyx._src.compile.program.steps.program import Action, FallbackOp, Program
from sardonyx._src.compile.program.steps.step import Jump
from sardonyx._src.dataclass import dataclass

METADATA_KEY = "sardonyx.train.checkpointing"  # metadata of a model: "auto", or the greatest number of bytes
MAX_SEGMENTS = 32
TOLERANCE = 1.1  # "auto" accepts this multiple of the least possible memory, if that saves operations
MIN_BYTES = 4096  # smaller results are kept

MemoryGoal = int | Literal["auto"]


def goal_of(metadata: Mapping[str, str]) -> MemoryGoal | None:
    """The memory goal in the metadata of a model; None if there is none."""
    text = metadata.get(METADATA_KEY, "")
    return "auto" if text == "auto" else int(text) if text.isdecimal() else None


def recompute(program: Program, goal: MemoryGoal) -> Program:
    """An equivalent program that needs less memory, with as few operations as possible.

    goal: "auto" for about the least possible memory; or a number of bytes, which is exceeded only if it
        cannot be reached.
    """
    choices = [program]
    segmented = SegmentedProgram.of(program)
    for count in range(2, MAX_SEGMENTS + 1):
        actions = segmented.divide(count)
        if actions is not None:
            choices.append(replace(program, actions=actions))
    peaks = [peak_bytes(choice) for choice in choices]
    least = int(min(peaks) * TOLERANCE)
    limit = least if goal == "auto" else max(goal, min(peaks))
    fitting = [choice for choice, peak in zip(choices, peaks, strict=True) if peak <= limit]
    return min(fitting, key=lambda choice: len(choice.actions))


def peak_bytes(program: Program) -> int:
    """The most bytes of the arena that are live at once."""
    return max(live_bytes(program), default=0)


def live_bytes(program: Program) -> list[int]:
    """The bytes of the arena that are live at each action."""
    changes = [0] * (len(program.actions) + 1)
    lengths = dict.fromkeys(program.stages, GUESSED_LENGTH)  # of symbolic dims, as in the memory plan
    for live_range in find_live_ranges(program.actions, lengths):
        changes[live_range.first] += live_range.size
        changes[live_range.last + 1] -= live_range.size
    total, result = 0, []
    for change in changes[:-1]:
        total += change
        result.append(total)
    return result


@dataclass(frozen=True, slots=True)
class SegmentedProgram:
    """A program as blocks, to be divided into segments.

    uses: the blocks that write and read each buffer.
    repeatable: the buffers that can be computed again.
    peak_block: the index of the block at the peak of memory.
    sizes: the bytes of each buffer, with guessed lengths of symbolic dims.
    """

    program: Program
    blocks: Sequence[Block]
    uses: Mapping[Buffer, Uses]
    repeatable: frozenset[Buffer]
    peak_block: int
    sizes: Mapping[Buffer, int]

    @staticmethod
    def of(program: Program) -> SegmentedProgram:
        blocks = divide_into_blocks(program.actions)
        uses = find_uses(blocks)
        live = live_bytes(program)
        peak = live.index(max(live, default=0)) if live else 0
        peak_block = max((i for i, block in enumerate(blocks) if block.first <= peak), default=0)
        lengths = dict.fromkeys(program.stages, GUESSED_LENGTH)
        sizes = {buffer: estimate_bytes(buffer.size, lengths) for buffer in uses}
        repeatable = frozenset(repeatable_buffers(program, blocks, uses))
        return SegmentedProgram(program, blocks, uses, repeatable, peak_block, sizes)

    def divide(self, count: int) -> list[Action] | None:
        """The actions that recompute all but the last of `count` segments; None if there is nothing to recompute."""
        bounds = self.bounds(count)
        insertions: dict[int, list[Action]] = {}
        renamed: dict[int, dict[Buffer, Buffer]] = {}
        for first, end in pairwise(bounds[:-1]):
            dropped = self.dropped(first, end)
            repeated = self.blocks_to_repeat(dropped, first)
            if dropped and repeated is not None:
                position = min(self.late_readers(buffer)[0] for buffer in dropped)
                copies = copy_buffers(self.blocks, repeated)
                insertions.setdefault(position, []).extend(
                    with_copies(action, copies)
                    for number in repeated
                    for action in self.blocks[number].actions
                )
                for buffer in dropped:
                    for reader in self.late_readers(buffer):
                        renamed.setdefault(reader, {})[buffer] = copies[buffer]
        if not insertions:
            return None
        actions: list[Action] = []
        for number, block in enumerate(self.blocks):
            actions += insertions.get(number, [])
            actions += [with_copies(action, renamed.get(number, {})) for action in block.actions]
        return actions

    def late_readers(self, buffer: Buffer) -> list[int]:
        """The blocks that read a buffer after the peak."""
        return [reader for reader in self.uses[buffer].readers if reader > self.peak_block]

    def crosses(self, buffer: Buffer) -> bool:
        """Whether a buffer is computed before the peak, not read at it, and read after it."""
        use = self.uses[buffer]
        is_early = bool(use.writers) and use.writers[-1] < self.peak_block
        return is_early and self.peak_block not in use.readers and bool(self.late_readers(buffer))

    def dropped(self, first: int, end: int) -> set[Buffer]:
        """The results of a segment to compute again: results that cross the peak, and that no later segment reads."""
        return {
            buffer
            for buffer, use in self.uses.items()
            if buffer in self.repeatable
            and self.sizes[buffer] >= MIN_BYTES
            and self.crosses(buffer)
            and first <= use.writers[0] <= use.writers[-1] < end
            and not any(end <= reader < self.peak_block for reader in use.readers)
        }

    def blocks_to_repeat(self, dropped: set[Buffer], first: int) -> list[int] | None:
        """The blocks, from `first` on, that compute the dropped buffers; None if one of them reads a buffer that is overwritten."""
        repeated: set[int] = set()
        pending = list(dropped)
        while pending:
            for number in self.uses[pending.pop()].writers:
                if number not in repeated:
                    repeated.add(number)
                    block = self.blocks[number]
                    for buffer in block.reads - block.writes:
                        if buffer.role != "arena":
                            # No step writes inputs, among them the states, and constants; outputs are complete before
                            # another block reads them.
                            continue
                        use = self.uses[buffer]
                        if buffer not in self.repeatable and not is_written_once(use):
                            return None
                        is_kept = self.crosses(buffer) and buffer not in dropped
                        if use.writers[0] >= first and buffer in self.repeatable and not is_kept:
                            pending.append(buffer)
        return sorted(repeated)

    def bounds(self, count: int) -> list[int]:
        """The first blocks of the segments, and the end of the last one.

        A segment begins where few bytes pass from block to block, near a point that divides the bytes that cross
        the peak equally.
        """
        totals = self.crossing_bytes()
        passing = self.passing_bytes()
        bounds = [0]
        for i in range(1, count):
            near = [
                number
                for number in range(bounds[-1] + 1, self.peak_block)
                if abs(totals[number] * count - i * totals[-1]) * 2 <= totals[-1]
            ]
            if near:
                bounds.append(min(near, key=lambda number: (passing[number], number)))
        return [*bounds, self.peak_block]

    def crossing_bytes(self) -> list[int]:
        """For each block up to the peak, the bytes that cross the peak and that earlier blocks have computed."""
        totals = [0] * (self.peak_block + 1)
        for buffer, use in self.uses.items():
            if self.crosses(buffer):
                totals[use.writers[-1] + 1] += self.sizes[buffer]
        for number in range(1, len(totals)):
            totals[number] += totals[number - 1]
        return totals

    def passing_bytes(self) -> list[int]:
        """For each block up to the peak, the bytes that earlier blocks have computed, and that it or later blocks up to the peak read."""
        changes = [0] * (self.peak_block + 2)
        for buffer, use in self.uses.items():
            readers = [reader for reader in use.readers if reader < self.peak_block]
            if use.writers and readers and use.writers[0] < readers[-1]:
                changes[use.writers[0] + 1] += self.sizes[buffer]
                changes[readers[-1] + 1] -= self.sizes[buffer]
        for number in range(1, len(changes)):
            changes[number] += changes[number - 1]
        return changes[:-1]


def is_written_once(use: Uses) -> bool:
    """Whether all readers of a buffer read the same elements: it is not written after it is first read."""
    return bool(use.writers) and (not use.readers or use.readers[0] > use.writers[-1])


def copy_buffers(blocks: Sequence[Block], numbers: Sequence[int]) -> dict[Buffer, Buffer]:
    """New buffers for the buffers of the arena, and the outputs, that blocks write."""
    written = {buffer for number in numbers for buffer in blocks[number].writes}
    return {
        buffer: Buffer("arena", buffer.size, buffer.name)
        for buffer in written
        if buffer.role in ("arena", "output")
    }


def with_copies(action: Action, copies: Mapping[Buffer, Buffer]) -> Action:
    """An action with its buffers replaced by their copies."""
    if not copies:
        return action
    if isinstance(action, FallbackOp):
        inputs = {value: with_copy(tensor, copies) for value, tensor in action.native_inputs.items()}
        return replace(action, native_inputs=inputs)
    if not isinstance(action, Step):
        return action
    args: tuple[KernelArgument, ...] = tuple(
        with_copy(argument, copies) if isinstance(argument, TensorView) else argument
        for argument in action.args
    )
    jump = None if action.jump is None else Jump(with_copy(action.jump.flag, copies), action.jump.distance)
    reads, writes = (
        tuple(with_copy(tensor, copies) for tensor in tensors) for tensors in (action.reads, action.writes)
    )
    return replace(action, args=args, reads=reads, writes=writes, jump=jump)


def with_copy(tensor: TensorView, copies: Mapping[Buffer, Buffer]) -> TensorView:
    """The same view of the copy of its buffer, if there is one."""
    buffer = copies.get(tensor.buffer)
    return tensor if buffer is None else replace(tensor, buffer=buffer)
