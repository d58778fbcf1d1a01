"""Winograd products: M = V U at each point, for groups of tiles and a panel of weights.

    for point: for block of tiles by MR: M[point] [tiles, NR] = V[point] [tiles, channels] @ U[point] [channels, NR]

The GEMMs use the microkernel of `gemm` and write their results to scratch, [points, tiles, NR].
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    F32,
    Microkernel,
    accumulate,
    init_accumulators,
    spill_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.output import OutputMatrix, load_output_matrix, output_parameters
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_BYTES, Prefetch, share_bytes
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import count_blocks
from sardonyx._src.compile.kernels.winograd.tiles import (
    ADDRESS_TABLE_FLOATS,
    DISCARD_OFFSET,
    TILE_PARAMETERS,
    WinogradTiles,
    products_offset,
)
from sardonyx._src.dataclass import dataclass


def product_parameters(epilogue: Epilogue) -> Parameters:
    """The tiles; weights [panels, points, channels, width]; bias [panels, width]; the output."""
    return TILE_PARAMETERS + Parameters("weights", "bias") + output_parameters(epilogue)


@dataclass(frozen=True, slots=True)
class WinogradProducts:
    """The products and the output of a convolution in a kernel: the arguments of `product_parameters`, and areas of scratch.

    Scratch: the address table; `discarded`, a pixel that is written for pixels past the border; at `address`, the
    products of joint groups with a panel [points, tiles, width]; in a fused kernel, the group's transformed input
    [points, tiles, channels].
    """

    m: Microkernel
    tiles: WinogradTiles
    weights: str
    bias: str
    output: OutputMatrix
    discarded: str
    address: str

    @property
    def b(self) -> KernelBuilder:
        return self.m.b

    @property
    def matrices(self) -> list[tuple[str, LLVMValue]]:
        """Address and row stride of the output and of each matrix operand of the epilogue."""
        operands = [(o.address, o.row_stride) for o in self.output.operands if o.row_stride is not None]
        return [(self.output.address, self.output.row_stride), *operands]


def load_products(m: Microkernel, tiles: WinogradTiles) -> WinogradProducts:
    """Loads the arguments that follow `TILE_PARAMETERS`, and divides scratch."""
    b = m.b
    weights, bias, output = b.pointer("weights"), b.pointer("bias"), load_output_matrix(b, m.epilogue)
    discarded = b.gep(b.scratch, b.constant(DISCARD_OFFSET, I64))
    address = b.gep(b.scratch, b.constant(products_offset(m.tile.width), I64))
    products = WinogradProducts(m, tiles, weights, bias, output, discarded, address)
    table_floats = len(products.matrices) * tiles.transforms.outputs * 2
    assert table_floats <= ADDRESS_TABLE_FLOATS, (
        f"the address table must have room for {table_floats} floats; got {ADDRESS_TABLE_FLOATS}"
    )
    return products


def emit_products(
    products: WinogradProducts, count: LLVMValue, panel: LLVMValue, tile_values: Callable[[LLVMValue], str]
) -> None:
    """Multiplies the transformed input of `count` tiles, at each point, with a panel of the weights.

    tile_values: the address of a tile's transformed input at the first point; the tiles of a register tile are contiguous.
    Each block of rows prefetches an equal share of the weights of the next point.
    """
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.gemm.tile.microkernel import dispatch_row_count

    b, m, size, num_points = products.b, products.m, products.tiles.size, products.tiles.transforms.num_points
    zero, channels, tile = b.constant(0, I64), size["channels"], m.tile
    row_counts = sorted({-(-tile.rows // 3), -(-tile.rows * 2 // 3), tile.rows})
    num_blocks = count_blocks(b, tile, count)
    share = share_bytes(b, tile.width * F32.bits // 8, num_blocks)
    with b.loop(zero, b.constant(num_points, I64), 1, "point") as point:
        weights = b.gep(products.weights, (panel * num_points + point) * channels * tile.width)
        sums = b.gep(products.address, point * size["product_point_stride"])
        next_weights = b.gep(weights, channels * tile.width)
        with b.loop(zero, num_blocks, 1, "block") as block:
            row = block * tile.rows
            values = b.gep(tile_values(row), point * size["input_point_stride"])
            prefetch = Prefetch(
                b.gep(next_weights, block * channels * share, "i8"), share, 2 * CACHE_LINE_BYTES
            )
            for rows in dispatch_row_count(b, count - row, row_counts):
                init_accumulators(m, rows)
                row_addresses = [b.gep(values, channels * r) for r in range(rows)]
                accumulate(m, row_addresses, weights, channels, prefetch=prefetch)
                spill_accumulators(m, rows, b.gep(sums, row * tile.width))
