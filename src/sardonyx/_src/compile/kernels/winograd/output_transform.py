"""Winograd output transform: A^T M A, bias, epilogue and store for each tile.

    for vector of columns of the panel: for column, then line, of the tile: transform -> + bias -> epilogue -> store

Reads the products of a group of tiles back from scratch, tile by tile.  Pixels of y are addressed through a table, in
which pixels past the border are redirected to a pixel that is discarded.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.epilogue import emit_epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import vector_slot
from sardonyx._src.compile.kernels.gemm.tile.tile_store import column_mask
from sardonyx._src.compile.kernels.winograd.products import WinogradProducts
from sardonyx._src.compile.kernels.winograd.tiles import (
    TileOrigin,
    load_address,
    prefetch_l1,
    store_address,
    tile_origin,
)


def store_output_tile(products: WinogradProducts, tile: LLVMValue, row: LLVMValue, panel: LLVMValue) -> None:
    """Transforms a tile, which is a row of the products, and stores it in the columns of a panel."""
    b, m, features = products.b, products.m, products.tiles.size["features"]
    lanes, width = m.tile.lanes, m.tile.width
    first = panel * width
    store_output_addresses(products, tile_origin(products.tiles, tile), first)
    start = b.gep(products.address, row * width)
    with b.loop(b.constant(0, I64), b.constant(width, I64), lanes, "vector") as column:
        num_left = features - (first + column)
        is_full = num_left >= lanes
        with b.if_then(is_full):
            store_output_vector(products, start, column, first, None)
        if products.tiles.variant.has_partial_vector and lanes > 1:
            is_partial = (num_left > 0) & (num_left < lanes)
            mask = column_mask(m, first + column, features)
            with b.if_then(is_partial):
                store_output_vector(products, start, column, first, mask)


def store_output_addresses(products: WinogradProducts, origin: TileOrigin, column: LLVMValue) -> None:
    """Stores the addresses of a tile's pixels, in the output and in the epilogue's matrices, in the table.

    For pixels past the border, matrices are read at the last pixel inside, and results go to the discarded pixel.
    """
    b, size, transforms = products.b, products.tiles.size, products.tiles.transforms
    discarded = b.gep(products.discarded, 0 - column)
    for i in range(transforms.vertical.outputs):
        row = b.min(origin.row + i, size["rows"] - 1)
        first = (origin.image * size["rows"] + row) * size["columns"]
        for j in range(transforms.horizontal.outputs):
            pixel_column = b.min(origin.column + j, size["columns"] - 1)
            is_outside = (row < origin.row + i) | (pixel_column < origin.column + j)
            index = (i * transforms.horizontal.outputs + j) * len(products.matrices)
            for k, (base, row_stride) in enumerate(products.matrices):
                address = b.gep(base, (first + pixel_column) * row_stride)
                if k == 0:
                    address = b.select_pointer(is_outside, discarded, address)
                store_address(b, index + k, address)


def store_output_vector(
    products: WinogradProducts, start: str, offset: LLVMValue, first: LLVMValue, mask: LLVMValue | None
) -> None:
    """Transforms a vector of columns of a tile, adds the bias, and stores its pixels."""
    b, m, transforms = products.b, products.m, products.tiles.transforms
    vertical, horizontal = transforms.vertical, transforms.horizontal
    bias = b.load(vector_slot(m, products.bias, first + offset))
    point_stride = products.tiles.size["product_point_stride"]
    line_stride = point_stride * horizontal.inputs
    columns = []
    for j in range(horizontal.inputs):
        address = b.gep(start, point_stride * j + offset)
        values = []
        for _ in range(vertical.inputs):
            values.append(b.load(MemoryLocation(address, m.vector_type)))
            address = b.gep(address, line_stride)
        columns.append(vertical.emit_output_transform(b, values))
    for i, line in enumerate(zip(*columns, strict=True)):
        for j, value in enumerate(horizontal.emit_output_transform(b, line)):
            store_pixel(products, value + bias, i * horizontal.outputs + j, first + offset, mask)


def store_pixel(
    products: WinogradProducts, value: LLVMValue, pixel: int, column: LLVMValue, mask: LLVMValue | None
) -> None:
    """Applies the epilogue to a vector of a pixel and stores it."""
    b, m, output = products.b, products.m, products.output
    num_matrices = len(products.matrices)
    address, *matrices = (load_address(b, pixel * num_matrices + i) for i in range(num_matrices))
    matrix_addresses = iter(matrices)
    operands = [o.address if o.row_stride is None else next(matrix_addresses) for o in output.operands]

    def load_operand(index: int) -> LLVMValue:
        if output.operands[index].layout == "scalar":
            return b.splat(b.load(MemoryLocation(operands[index], LLVMType("float"))), m.tile.lanes)
        slot = vector_slot(m, operands[index], column)
        return b.load(slot) if mask is None else b.masked_load(mask, slot)

    distance = output.row_stride * products.tiles.transforms.horizontal.outputs
    prefetch_l1(b, address, distance + column, write=True)
    result = emit_epilogue(b, m.epilogue, m.vector_type, value, load_operand)
    slot = vector_slot(m, address, column)
    if mask is None:
        b.store(slot, result)
    else:
        b.masked_store(mask, slot, result)
