"""Output loans: temporary buffers that lie in the memory of an output until the output is first written, instead of the arena.

A training step writes new states last.  Until then their memory can hold activations and gradients, so that the arena
is smaller.  An output never lies in the memory of a feed, since callers own both arrays.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import field

from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass

MIN_BYTES = 1 << 16  # the least size of a buffer that borrows memory, and of an output that lends it
# Malloc maps pages for a large NumPy array, which then begins 16 bytes after a cache line; 48 bytes later
# is the next line.
FIRST_OFFSET = 48


@dataclass(frozen=True, slots=True)
class Loan:
    """The location of a buffer in the memory of an output.

    offset: bytes from the beginning of the output.
    """

    output: Buffer
    offset: int


@dataclass(slots=True)
class Lender:
    """An output that lends its memory.

    first: the index of the first action that uses the output.
    placed: the lent ranges: first byte, end, and the live range of the borrower.
    """

    output: Buffer
    size: int
    first: int
    placed: list[tuple[int, int, LiveRange]] = field(default_factory=list)

    def place(self, borrower: LiveRange) -> Loan | None:
        """Lends a buffer the lowest gap that it fits into while it is live; None if there is none."""
        if borrower.last >= self.first:
            return None
        start, size = FIRST_OFFSET, -(-borrower.size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
        for low, high, other in self.placed:
            if other.first > borrower.last or other.last < borrower.first:
                continue
            if start + size <= low:
                break
            start = max(start, high)
        if start + size > self.size:
            return None
        insort(self.placed, (start, start + size, borrower), key=lambda p: p[0])
        return Loan(self.output, start)


def lend_outputs(program: Program, ranges: Sequence[LiveRange]) -> Mapping[Buffer, Loan]:
    """The loans of buffers with these live ranges; none if Python executes a part of the program."""
    if len(program.steps) < len(program.actions):
        return {}
    kept = {tensor.buffer for tensor in program.outputs.values() if tensor is not None}
    lenders = sorted(find_lenders(program), key=lambda lender: (lender.first, lender.size))
    loans: dict[Buffer, Loan] = {}
    for borrower in sorted(ranges, key=lambda r: (-r.size, r.first)):
        if borrower.size < MIN_BYTES or borrower.buffer in kept:
            continue
        loan = next((loan for lender in lenders if (loan := lender.place(borrower)) is not None), None)
        if loan is not None:
            loans[borrower.buffer] = loan
    return loans


def find_lenders(program: Program) -> list[Lender]:
    """The large dense outputs of known size that fill their buffers."""
    first_uses: dict[Buffer, int] = {}
    for i, action in enumerate(program.actions):
        for tensor in (*action.reads, *action.writes):
            first_uses.setdefault(tensor.buffer, i)
        if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0:
            start = i + action.jump.distance  # an output of a loop is used from its first iteration on
            first_uses.update((buffer, start) for buffer, first in first_uses.items() if first > start)
    lenders = []
    for value, output in program.outputs.items():
        if output is None or output.buffer.role != "output" or output.buffer not in first_uses:
            continue
        if value.name in program.in_place:  # its memory may be that of an input
            continue
        size = output.buffer.size
        if isinstance(size, int) and size >= MIN_BYTES and output.is_dense and output.nbytes == size:
            lenders.append(Lender(output.buffer, size, first_uses[output.buffer]))
    return lenders
