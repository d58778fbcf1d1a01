"""Recomputation of activations: a program that keeps fewer results from its forward to its backward pass, and computes them again.

The blocks before the peak of memory are divided into segments.  Of the results that are read after the peak, those that later segments
read, too, are kept; the others of a segment are computed again from these in front of their first late reader.  Equal segments of
n blocks need memory for about the square root of n results, and one more forward pass: Chen, Xu, Zhang and Guestrin, "Training Deep Nets
with Sublinear Memory Cost", 2016.  The same kernels compute the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from sardonyx._src.compile.program.memory_plan import GUESSED_LENGTH, estimate_bytes, find_live_ranges
from sardonyx._src.compile.program.program import Action, FallbackOp, Program
from sardonyx._src.compile.program.step import Jump, KernelArgument, Step
from sardonyx._src.compile.program.step_graph import (
    Block,
    Uses,
    divide_into_blocks,
    find_uses,
    repeatable_buffers,
)
from sardonyx._src.compile.program.tensor import Buffer, TensorView

METADATA_KEY = "sardonyx.train.checkpointing"  # of a model: "auto", or the bytes to stay below
MAX_SEGMENTS = 32
TOLERANCE = 1.1  # the memory that fewer operations may cost, relative to the least possible
MIN_BYTES = 4096  # of a result that is worth a computation

MemoryGoal = int | Literal["auto"]


def goal_of(metadata: Mapping[str, str]) -> MemoryGoal | None:
    """What the metadata of a model ask for; None if nothing."""
    text = metadata.get(METADATA_KEY, "")
    return "auto" if text == "auto" else int(text) if text.isdecimal() else None


def recompute(program: Program, goal: MemoryGoal) -> Program:
    """A program that computes the same in less memory, with as few operations as possible.

    The memory is about the least that is possible, or, if the goal is a number that can be reached, at most that many bytes.
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
    for live_range in find_live_ranges(program.actions, dict.fromkeys(program.stages, GUESSED_LENGTH)):
        changes[live_range.first] += live_range.size
        changes[live_range.last + 1] -= live_range.size
    total, result = 0, []
    for change in changes[:-1]:
        total += change
        result.append(total)
    return result


@dataclass(frozen=True, slots=True)
class SegmentedProgram:
    """A program as blocks.  turn: the number of the block with the peak of memory.  sizes: the bytes of buffers."""

    program: Program
    blocks: Sequence[Block]
    uses: Mapping[Buffer, Uses]
    repeatable: frozenset[Buffer]
    turn: int
    sizes: Mapping[Buffer, int]

    @staticmethod
    def of(program: Program) -> SegmentedProgram:
        blocks = divide_into_blocks(program.actions)
        uses = find_uses(blocks)
        live = live_bytes(program)
        peak = live.index(max(live, default=0)) if live else 0
        turn = max((i for i, block in enumerate(blocks) if block.first <= peak), default=0)
        lengths = dict.fromkeys(program.stages, GUESSED_LENGTH)
        sizes = {buffer: estimate_bytes(buffer.size, lengths) for buffer in uses}
        repeatable = frozenset(repeatable_buffers(program, blocks, uses))
        return SegmentedProgram(program, blocks, uses, repeatable, turn, sizes)

    def divide(self, count: int) -> list[Action] | None:
        """The actions, with the forward pass in a number of segments of which all but the last are computed again; None if nothing is."""
        bounds = self.bounds(count)
        insertions: dict[int, list[Action]] = {}
        renamed: dict[int, dict[Buffer, Buffer]] = {}
        for first, end in pairwise(bounds[:-1]):
            dropped = self.dropped(first, end)
            again = self.blocks_again(dropped, first)
            if dropped and again is not None:
                place = min(self.late_readers(buffer)[0] for buffer in dropped)
                copies = copy_buffers(self.blocks, again)
                insertions.setdefault(place, []).extend(
                    rename(action, copies) for number in again for action in self.blocks[number].actions
                )
                for buffer in dropped:
                    for reader in self.late_readers(buffer):
                        renamed.setdefault(reader, {})[buffer] = copies[buffer]
        if not insertions:
            return None
        actions: list[Action] = []
        for number, block in enumerate(self.blocks):
            actions += insertions.get(number, [])
            actions += [rename(action, renamed.get(number, {})) for action in block.actions]
        return actions

    def late_readers(self, buffer: Buffer) -> list[int]:
        """The blocks that read a buffer after the peak."""
        return [reader for reader in self.uses[buffer].readers if reader > self.turn]

    def crosses(self, buffer: Buffer) -> bool:
        """Whether a buffer is computed before the peak, not read at it, and read after it."""
        use = self.uses[buffer]
        is_early = bool(use.writers) and use.writers[-1] < self.turn
        return is_early and self.turn not in use.readers and bool(self.late_readers(buffer))

    def dropped(self, first: int, end: int) -> set[Buffer]:
        """The results of a segment to compute again: those that cross the peak, but no later segment reads."""
        return {
            buffer
            for buffer, use in self.uses.items()
            if buffer in self.repeatable
            and self.sizes[buffer] >= MIN_BYTES
            and self.crosses(buffer)
            and first <= use.writers[0] <= use.writers[-1] < end
            and not any(end <= reader < self.turn for reader in use.readers)
        }

    def blocks_again(self, dropped: set[Buffer], first: int) -> list[int] | None:
        """The blocks, from `first` on, that compute the dropped buffers; None if one of them reads what is overwritten."""
        again: set[int] = set()
        pending = list(dropped)
        while pending:
            for number in self.uses[pending.pop()].writers:
                if number not in again:
                    again.add(number)
                    block = self.blocks[number]
                    for buffer in block.reads - block.writes:
                        if buffer.role != "arena":
                            continue
                        use = self.uses[buffer]
                        if buffer not in self.repeatable and not is_written_once(use):
                            return None
                        is_kept = self.crosses(buffer) and buffer not in dropped
                        if use.writers[0] >= first and buffer in self.repeatable and not is_kept:
                            pending.append(buffer)
        return sorted(again)

    def bounds(self, count: int) -> list[int]:
        """The first blocks of segments, and the end of the last: where few bytes pass, near equal shares of what crosses the peak."""
        totals = self.crossing_bytes()
        passing = self.passing_bytes()
        bounds = [0]
        for i in range(1, count):
            near = [
                number
                for number in range(bounds[-1] + 1, self.turn)
                if abs(totals[number] * count - i * totals[-1]) * 2 <= totals[-1]
            ]
            if near:
                bounds.append(min(near, key=lambda number: (passing[number], number)))
        return [*bounds, self.turn]

    def crossing_bytes(self) -> list[int]:
        """For each block before the peak, and it: the bytes that blocks before it computed and that cross the peak."""
        totals = [0] * (self.turn + 1)
        for buffer, use in self.uses.items():
            if self.crosses(buffer):
                totals[use.writers[-1] + 1] += self.sizes[buffer]
        for number in range(1, len(totals)):
            totals[number] += totals[number - 1]
        return totals

    def passing_bytes(self) -> list[int]:
        """For each block before the peak, and it: the bytes that blocks before it computed for blocks from it on to the peak."""
        changes = [0] * (self.turn + 2)
        for buffer, use in self.uses.items():
            readers = [reader for reader in use.readers if reader < self.turn]
            if use.writers and readers and use.writers[0] < readers[-1]:
                changes[use.writers[0] + 1] += self.sizes[buffer]
                changes[readers[-1] + 1] -= self.sizes[buffer]
        for number in range(1, len(changes)):
            changes[number] += changes[number - 1]
        return changes[:-1]


def is_written_once(use: Uses) -> bool:
    """Whether all readers of a buffer read the same."""
    return bool(use.writers) and (not use.readers or use.readers[0] > use.writers[-1])


def copy_buffers(blocks: Sequence[Block], numbers: Sequence[int]) -> dict[Buffer, Buffer]:
    """New buffers for what blocks write to the arena, and for outputs."""
    written = {buffer for number in numbers for buffer in blocks[number].writes}
    return {
        buffer: Buffer("arena", buffer.size, buffer.name)
        for buffer in written
        if buffer.role in ("arena", "output")
    }


def rename(action: Action, copies: Mapping[Buffer, Buffer]) -> Action:
    """An action over other buffers."""
    if not copies:
        return action
    if isinstance(action, FallbackOp):
        inputs = {value: move(tensor, copies) for value, tensor in action.native_inputs.items()}
        return replace(action, native_inputs=inputs)
    if not isinstance(action, Step):
        return action
    args: tuple[KernelArgument, ...] = tuple(
        move(argument, copies) if isinstance(argument, TensorView) else argument for argument in action.args
    )
    jump = None if action.jump is None else Jump(move(action.jump.flag, copies), action.jump.distance)
    reads, writes = (
        tuple(move(tensor, copies) for tensor in tensors) for tensors in (action.reads, action.writes)
    )
    return replace(action, args=args, reads=reads, writes=writes, jump=jump)


def move(tensor: TensorView, copies: Mapping[Buffer, Buffer]) -> TensorView:
    """The same view of another buffer, if there is one for its own."""
    buffer = copies.get(tensor.buffer)
    return tensor if buffer is None else replace(tensor, buffer=buffer)
