"""Dependences between the actions of a program: blocks of actions, the blocks that use each buffer, and which can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.steps.program import Action, Program
from sardonyx._src.dataclass import dataclass


@dataclass(slots=True)
class Uses:
    """The indices of the blocks that write a buffer, and of the blocks that only read it, in order."""

    writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Block:
    """Actions that are executed together: adjacent steps of one node, a loop or branch with its body, or any other action.

    first: the index of the first action.
    is_repeatable: whether all actions are steps without jumps.
    """

    first: int
    actions: tuple[Action, ...]
    is_repeatable: bool

    @property
    def reads(self) -> set[Buffer]:
        return {tensor.buffer for action in self.actions for tensor in action.reads}

    @property
    def writes(self) -> set[Buffer]:
        return {tensor.buffer for action in self.actions for tensor in action.writes}


def divide_into_blocks(actions: Sequence[Action]) -> list[Block]:
    """The blocks of a program, in order."""
    ends = jump_ends(actions)
    blocks: list[Block] = []
    first = 0
    while first < len(actions):
        action, end = actions[first], ends[first]
        is_repeatable = end == first + 1 and isinstance(action, Step)
        while (
            is_repeatable
            and end < len(actions)
            and ends[end] == end + 1
            and are_of_one_node(action, actions[end])
        ):
            end += 1
        blocks.append(Block(first, tuple(actions[first:end]), is_repeatable))
        first = end
    return blocks


def are_of_one_node(a: Action, b: Action) -> bool:
    return isinstance(a, Step) and isinstance(b, Step) and bool(a.nodes) and a.nodes == b.nodes


def jump_ends(actions: Sequence[Action]) -> list[int]:
    """For each action, the end of the block that begins with it: after all actions that jumps in the block span."""
    spans = []
    for i, action in enumerate(actions):
        if isinstance(action, Step) and action.jump is not None:
            target = i + action.jump.distance
            spans.append((min(i, target), max(i + 1, target)))
    ends = [i + 1 for i in range(len(actions))]
    for first, end in sorted(spans, reverse=True):
        reach = end
        for i in range(first, reach):
            reach = max(reach, ends[i])
        ends[first] = max(ends[first], reach)
    return ends


def find_uses(blocks: Sequence[Block]) -> dict[Buffer, Uses]:
    """The uses of each buffer of the arena."""
    uses: dict[Buffer, Uses] = {}
    for number, block in enumerate(blocks):
        written = block.writes
        for buffer in sorted(written | block.reads, key=id):
            if buffer.role == "arena":
                use = uses.setdefault(buffer, Uses())
                (use.writers if buffer in written else use.readers).append(number)
    return uses


def repeatable_buffers(program: Program, blocks: Sequence[Block], uses: dict[Buffer, Uses]) -> set[Buffer]:
    """The buffers that their writers can compute again: no other block reads one before all of its writers are done."""
    outputs = {tensor.buffer for tensor in program.outputs.values() if tensor is not None}
    return {
        buffer
        for buffer, use in uses.items()
        if use.writers
        and buffer not in outputs
        and (not use.readers or use.readers[0] > use.writers[-1])
        and all(blocks[number].is_repeatable for number in use.writers)
    }
