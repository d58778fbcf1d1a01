"""Loops over the vectors of a range, with a partial last vector, and accesses to its first lanes.

Vectors are of the microkernel's type.  The number of lanes is None for a whole vector.
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.gemm.accumulators import Microkernel, vector_slot


def loop_vectors(
    m: Microkernel, first: LLVMValue, end: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """A loop over the vectors of [first, end): `for i, count in loop_vectors(m, first, end):`.

    The body is emitted for whole vectors, and for the `count` lanes that are left at last.
    """
    b, lanes = m.b, m.tile.lanes
    with b.loop(first, end, lanes) as i:
        yield i, None
    if lanes > 1:
        with b.if_then(i < end):
            yield i, end - i


def load_first_lanes(m: Microkernel, base: str, index: LLVMValue, count: LLVMValue | None) -> LLVMValue:
    """The first `count` lanes of the vector at base[index]; the others are not read."""
    slot = vector_slot(m, base, index)
    if count is None:
        return m.b.load(slot)
    return m.b.masked_load(m.b.lane_mask(count, m.tile.lanes), slot)


def store_first_lanes(
    m: Microkernel, base: str, index: LLVMValue, value: LLVMValue, count: LLVMValue | None
) -> None:
    """Stores the first `count` lanes of a vector at base[index]."""
    slot = vector_slot(m, base, index)
    if count is None:
        m.b.store(slot, value)
    else:
        m.b.masked_store(m.b.lane_mask(count, m.tile.lanes), slot, value)
