"""Winograd input transform: each tile d of the input becomes V = B^T d B.

Reads x [N, H, W, C] and writes [points, tiles of a group, channels]; vectors run along the channels.  Loop nest: tiles ->
vectors of channels -> columns, then lines, of the tile.  The pixels of a tile are read through a table of their addresses,
in which padding is a pixel of zeros.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.kernels.winograd.tiles import (
    TileOrigin,
    WinogradTiles,
    load_address,
    prefetch_l1,
    store_address,
    tile_origin,
)


def transform_tile(tiles: WinogradTiles, tile: LLVMValue, values: str) -> None:
    """Transforms a tile; `values` is the address of its row [channels] at the first point."""
    b, channels, lanes = tiles.b, tiles.size["channels"], tiles.variant.channel_lanes
    store_input_addresses(tiles, tile_origin(tiles, tile))
    with b.loop(b.constant(0, I64), channels + (lanes - 1), lanes, "channel") as i:
        channel = b.min(i, channels - lanes)  # the last vector overlaps the one before
        transform_vector(tiles, channel, b.gep(values, channel))


def store_input_addresses(tiles: WinogradTiles, origin: TileOrigin) -> None:
    """Stores the addresses of a tile's pixels in the table; padding is the pixel of zeros."""
    b, size, transforms = tiles.b, tiles.size, tiles.transforms
    row, column = origin.row - size["top"], origin.column - size["left"]
    columns = [column + j for j in range(transforms.horizontal.inputs)]
    is_column = [is_in_range(c, size["width"]) for c in columns]
    for i in range(transforms.vertical.inputs):
        line = row + i
        is_line = is_in_range(line, size["height"])
        first = origin.image * size["image_stride"] + line * size["row_stride"]
        for j, c in enumerate(columns):
            pixel = b.gep(tiles.x, first + c * size["pixel_stride"])
            address = b.select_pointer(is_line & is_column[j], pixel, tiles.zeros)
            store_address(b, i * len(columns) + j, address)


def transform_vector(tiles: WinogradTiles, channel: LLVMValue, values: str) -> None:
    """Transforms a vector of channels of the tile in the table, and prefetches pixels of a later tile."""
    b, size, vertical, horizontal = (
        tiles.b,
        tiles.size,
        tiles.transforms.vertical,
        tiles.transforms.horizontal,
    )
    vector_type = LLVMType("float", tiles.variant.channel_lanes)
    overlap = horizontal.inputs - horizontal.outputs  # columns that the previous tile has read, too
    prefetch_columns = tuning_for(b.target).winograd.prefetch_tiles * horizontal.outputs
    columns = []
    for j in range(horizontal.inputs):
        addresses = [load_address(b, i * horizontal.inputs + j) for i in range(vertical.inputs)]
        pixels = [b.load(MemoryLocation(b.gep(address, channel), vector_type)) for address in addresses]
        if j >= overlap:
            for address in addresses:
                prefetch_l1(b, address, size["pixel_stride"] * prefetch_columns + channel)
        columns.append(vertical.emit_input_transform(b, pixels))
    point = values
    for line in zip(*columns, strict=True):
        for value in horizontal.emit_input_transform(b, line):
            b.store(MemoryLocation(point, vector_type), value)
            point = b.gep(point, size["input_point_stride"])


def is_in_range(index: LLVMValue, end: LLVMValue) -> LLVMValue:
    return (index >= 0) & (index < end)
