"""Loop outline of a kernel: its loop nest and the instructions of each loop, read from its LLVM text.

The text is not optimized yet: the variables of a kernel are stack slots (`%l3_row`), and each loop has a header that
loads its induction variable, compares it with the end and branches.  Loops are the natural loops of the function: a
back edge is an edge of a depth-first search to a block on its path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from sardonyx._src.compile.printing.llvm_text import (
    FunctionText,
    instruction_of,
    parse_function,
    resolve_operand,
)
from sardonyx._src.dataclass import dataclass

LOAD = re.compile(r"load i64, ptr (%l\d+_\w+)")
STORE = re.compile(r"store i64 ([^,]+), ptr (%l\d+_\w+)")
SUM = re.compile(r"add i64 ([^,]+), (\d+)$")
COMPARISON = re.compile(r"icmp \w+ i64 [^,]+, (\S+)$")
BRANCH = re.compile(r"br i1 (%\w+),")
SLOT_NAME = re.compile(r"%l\d+_(\w+)")


@dataclass(slots=True)
class LoopOutline:
    """A loop, or the complete function.

    name: the name of the induction variable; "" for a loop that has none.
    first, end: the bounds of its range, as names or numbers; None for anything else.
    step: the step of its range; None if it is not constant.
    instructions: the numbers of loads, stores, calls and floating-point operations of each type in its body,
        without inner loops.
    """

    name: str = ""
    first: str | None = None
    end: str | None = None
    step: int | None = 1
    instructions: Counter[str] = field(default_factory=Counter)
    loops: list[LoopOutline] = field(default_factory=list)


def outline_kernel(module: str, name: str, parameters: Sequence[str] = ()) -> LoopOutline:
    """The outline of a kernel in a module; parameters: the names of its argument slots."""
    function = parse_function(module, name)
    members = find_loops(function)
    outlines = {header: outline_loop(function, header, members[header], parameters) for header in members}
    whole = LoopOutline()
    for header in function.blocks:
        if header in outlines:
            parent = innermost_loop(header, {h: blocks for h, blocks in members.items() if h != header})
            (outlines[parent] if parent else whole).loops.append(outlines[header])
    for block, lines in function.blocks.items():
        loop = innermost_loop(block, members)
        counts = (outlines[loop] if loop else whole).instructions
        counts.update(filter(None, (instruction_of(line, function) for line in lines)))
    return whole


def innermost_loop(block: str, members: Mapping[str, set[str]]) -> str | None:
    """The header of the smallest loop that contains a block."""
    around = [header for header, blocks in members.items() if block in blocks]
    return min(around, key=lambda header: len(members[header]), default=None)


def find_loops(function: FunctionText) -> dict[str, set[str]]:
    """The blocks of each loop, by its header."""
    loops: dict[str, set[str]] = {}
    for latch, header in back_edges(function):
        blocks = loops.setdefault(header, {header})
        pending = [latch]
        while pending:
            block = pending.pop()
            if block not in blocks:
                blocks.add(block)
                pending += function.predecessors(block)
    return loops


def back_edges(function: FunctionText) -> Iterator[tuple[str, str]]:
    """The edges of a depth-first search that lead to a block on its path: from a latch to the header of its loop."""
    entry = next(iter(function.blocks))
    path, seen = {entry: iter(function.successors[entry])}, {entry}
    while path:
        block, successors = next(reversed(path.items()))
        successor = next(successors, None)
        if successor is None:
            del path[block]
        elif successor in path:
            yield block, successor
        elif successor not in seen:
            seen.add(successor)
            path[successor] = iter(function.successors[successor])


def outline_loop(
    function: FunctionText, header: str, blocks: set[str], parameters: Sequence[str]
) -> LoopOutline:
    """A loop by its induction variable: a slot that its header loads, and that its body stores.

    A variable that is advanced by a constant is preferred.
    """
    slots = [slot for line in function.blocks[header] for slot in LOAD.findall(line)]
    steps: dict[str, int | None] = {}
    for block in filter(blocks.__contains__, function.blocks):
        for value, slot in (store for line in function.blocks[block] for store in STORE.findall(line)):
            if slot in slots:
                steps[slot] = steps.get(slot) or step_of(value, slot, function)
    if not steps:
        return LoopOutline()
    slot = min(steps, key=lambda slot: steps[slot] is None)
    first = resolve_operand(initial_value(function, header, blocks, slot), function, parameters)
    end = resolve_operand(end_of_range(function, header), function, parameters)
    return LoopOutline(slot_name(slot), first, end, steps[slot])


def step_of(value: str, slot: str, function: FunctionText) -> int | None:
    """The constant by which a value that is stored in a slot exceeds the one loaded from it; None for other values."""
    advance = SUM.match(function.definitions.get(value, ""))
    is_advanced = advance and function.definitions.get(advance[1], "").startswith(f"load i64, ptr {slot},")
    return int(advance[2]) if advance and is_advanced else None


def slot_name(slot: str) -> str:
    match = SLOT_NAME.match(slot)
    assert match is not None, f"slot must have a name; got {slot}"
    return match[1]


def initial_value(function: FunctionText, header: str, blocks: set[str], slot: str) -> str | None:
    """The value that the block before a loop stores in a slot."""
    before = [block for block in function.predecessors(header) if block not in blocks]
    stores = [store for block in before for line in function.blocks[block] for store in STORE.findall(line)]
    return next((value for value, target in reversed(stores) if target == slot), None)


def end_of_range(function: FunctionText, header: str) -> str | None:
    """The right side of the comparison by which a header leaves its loop."""
    branch = BRANCH.search(function.blocks[header][-1])
    comparison = COMPARISON.match(function.definitions.get(branch[1], "")) if branch else None
    return comparison[1] if comparison else None


def format_outline(outline: LoopOutline) -> Iterator[str]:
    """The lines of a loop nest: instructions outside of loops first, then a line for each loop."""
    if outline.instructions:
        yield f"once: {format_instructions(outline.instructions)}"
    for loop in outline.loops:
        yield from format_loop(loop)


def format_loop(loop: LoopOutline) -> Iterator[str]:
    parts = [f"for {loop.name}" if loop.name else "loop"]
    if loop.first is not None and loop.end is not None:
        parts.append(f"in {loop.first}..{loop.end}")
    if loop.step != 1:
        parts.append(f"step {loop.step or 'unknown'}")
    body = f": {format_instructions(loop.instructions)}" if loop.instructions else ""
    yield " ".join(parts) + body
    for inner in loop.loops:
        yield from (f"  {line}" for line in format_loop(inner))


def format_instructions(instructions: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {instruction}" for instruction, count in instructions.items())
