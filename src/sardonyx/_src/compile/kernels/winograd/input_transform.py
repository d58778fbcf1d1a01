"""Winograd input transform: each tile d of the input becomes V = B^T d B.

Reads x [N, H, W, C] and writes [points, tiles of a group, channels]; vectors run along the channels.  Loop nest: tiles ->
vectors of channels -> columns, then lines, of the tile.  The pixels of a tile are read through a table of their addresses,
in which padding is a pixel of zeros.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.winograd.tiles import TileOrigin, WinogradEmitter

PREFETCH_TILES = 2  # how far to the right pixels are prefetched


class InputTransformEmitter(WinogradEmitter):
    """Emits the input transform: of single tiles, as units of a kernel of its own, or within another kernel."""

    def emit_tile_units(self) -> None:
        """Emits a kernel whose units of work are tiles; it writes `transformed_input`."""
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_tile_unit, "tile")

    def emit_tile_unit(self, tile: LLVMValue) -> None:
        size = self.sizes
        group = self.udiv(tile, size["group_tiles"])
        row = tile - group * size["group_tiles"]
        first = group * size["input_point_stride"] * self.transforms.num_points + row * size["channels"]
        self.transform_tile(tile, self.gep(self.transformed_input, first))

    def transform_tile(self, tile: LLVMValue, values: str) -> None:
        """Transforms a tile; `values` is the address of its row [channels] at the first point."""
        self.store_input_addresses(self.tile_origin(tile))
        channels, lanes = self.sizes["channels"], self.channel_vector.lanes

        def transform_channels(channel: LLVMValue) -> None:
            channel = self.min(channel, channels - lanes)  # the last vector overlaps the one before
            self.transform_vector(channel, self.gep(values, channel))

        self.loop_call(self.zero, channels + (lanes - 1), lanes, transform_channels, "channel")

    def store_input_addresses(self, origin: TileOrigin) -> None:
        """Stores the addresses of a tile's pixels in the table; padding is the pixel of zeros."""
        size = self.sizes
        row, column = origin.row - size["top"], origin.column - size["left"]
        columns = [column + b for b in range(self.transforms.horizontal.inputs)]
        column_inside = [self.is_in_range(c, size["width"]) for c in columns]
        for a in range(self.transforms.vertical.inputs):
            line = row + a
            is_inside = self.is_in_range(line, size["height"])
            first = origin.image * size["image_stride"] + line * size["row_stride"]
            for b, c in enumerate(columns):
                pixel = self.gep(self.x, first + c * size["pixel_stride"])
                address = self.select_pointer(is_inside & column_inside[b], pixel, self.zeros)
                self.store_address(a * len(columns) + b, address)

    def transform_vector(self, channel: LLVMValue, values: str) -> None:
        """Transforms a vector of channels of the tile in the table, and prefetches pixels of a later tile."""
        vertical, horizontal = self.transforms.vertical, self.transforms.horizontal
        overlap = horizontal.inputs - horizontal.outputs  # columns that the previous tile has read, too
        columns = []
        for b in range(horizontal.inputs):
            addresses = [self.load_address(a * horizontal.inputs + b) for a in range(vertical.inputs)]
            pixels = [self.load(StackSlot(self.gep(p, channel), self.channel_vector)) for p in addresses]
            if b >= overlap:
                for pixel in addresses:
                    self.prefetch_l1(
                        pixel, self.sizes["pixel_stride"] * (PREFETCH_TILES * horizontal.outputs) + channel
                    )
            columns.append(vertical.emit_input_transform(self, pixels))
        point = values
        for line in zip(*columns, strict=True):
            for value in horizontal.emit_input_transform(self, line):
                self.store(StackSlot(point, self.channel_vector), value)
                point = self.gep(point, self.sizes["input_point_stride"])
