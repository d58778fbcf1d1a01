"""Memory layout of a library: the head of its data, in i64 slots, and the base addresses in the arena of a run."""

from __future__ import annotations

from sardonyx._src.compile.program.encoding.slot_bases import STATUS_BASE

ALIGNMENT = 64  # of the arena, of its parts, of the data and of each constant: a cache line

# The head.  SLOT_COUNT, RECORD_COUNT: of the program.  VALUES, BASES, PORTS: offsets in the data, in bytes, of the values of
# the slots (i64), of their base indices (u16), and of the alignments of inputs and outputs (i64; 0: no elements).
SLOT_COUNT, RECORD_COUNT, VALUES, BASES, PORTS = range(5)
INPUT_COUNT, OUTPUT_COUNT = 5, 6
# WEIGHTS: the offset of the weights in the data; 0 if the caller passes them.
WEIGHTS = 7
# Offsets in the arena, in bytes, of the base addresses, the status block, the tensors and the scratch; then its size.
BASES_AT, STATUS_AT, TENSORS_AT, SCRATCH_AT, ARENA_BYTES = range(8, 13)
MAX_NODES, MAX_ITERATIONS = 13, 14  # limits of a run
HEAD_SLOTS = 16  # a multiple of a cache line

# Base addresses after those of every program: of the code, of the weights, and of inputs and outputs.
CODE_BASE, WEIGHTS_BASE, PORT_BASES = STATUS_BASE + 1, STATUS_BASE + 2, STATUS_BASE + 3
MAX_BASES = 1 << 16

CODE_SYMBOL = "code"  # the beginning of the code, whose first word is the distance of the data from it
RUN_SYMBOL = "execute"


def align(size: int, to: int = ALIGNMENT) -> int:
    """A size rounded up to a multiple."""
    return -(-size // to) * to
