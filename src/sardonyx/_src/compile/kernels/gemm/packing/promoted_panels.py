"""Promotion of half-precision panels to float32, a block of k at a time, in scratch after the partial sums.

A register tile converts each vector of B that it loads, which costs a fifth of its time.  If many tiles of rows read a
block, it is converted once for all of them; the panel itself stays in 16 bits.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel, load_panel_vector
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.tuning import GemmTuning

MAX_DIRECT_TILES = 2  # up to this many register tiles of rows convert the vectors of B themselves


def promote_panel(m: Microkernel, panel: str, first: LLVMValue, count: LLVMValue) -> str:
    """Writes terms of a half-precision panel, `count` from `first` on, as float32 into scratch.

    Returns the address at which term 0 would be, so that callers index the copy as they index the panel.
    """
    b, tile = m.b, m.tile
    promoted = b.gep(b.scratch, b.constant(partial_sum_rows() * tile.width, I64))
    start = first * tile.width
    with b.loop(b.constant(0, I64), count * tile.width, tile.lanes, "vector") as i:
        store_at(b, promoted, i, load_panel_vector(m, panel, start + i))
    return b.gep(promoted, 0 - start)


def partial_sum_rows() -> int:
    """The rows of partial sums in scratch."""
    return GemmTuning.max_rows + GemmTuning.spare_rows


def scratch_bytes(width: int, *, is_half: bool) -> int:
    """The scratch of a thread: partial sums, and a block of a panel in float32 if B is of half precision."""
    return (partial_sum_rows() + (GemmTuning.k_block if is_half else 0)) * width * 4
