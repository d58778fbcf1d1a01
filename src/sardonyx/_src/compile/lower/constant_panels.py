"""Packed panels of constant right operands.  Products of the same constant with the same register tile share them."""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, choose_panel_tile, pack_constant
from sardonyx._src.compile.lower import Lowering
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known


def constant_panels(
    matrix: Array, value: Value | None, lowering: Lowering, rows: Known | None = None
) -> Panels:
    """The panels of a matrix [..., k, columns], the elements of `value`;
    rows: the rows of the product, on which the choice of the tile depends.
    """
    tile = choose_panel_tile(matrix.shape[-1], lowering.target, rows)
    pack = partial(pack_constant, matrix, lowering.target, tile=tile)
    return pack() if value is None else lowering.memoize(("panels", value, tile.vectors), pack)
