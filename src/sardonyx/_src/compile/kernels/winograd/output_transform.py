"""Winograd products and output transform: M = V U at each point, then A^T M A, bias, epilogue and store for each tile.

Products of a group of tiles with a panel of weights, [tiles, channels] @ [channels, NR] for each point, are GEMMs of the
shared microkernel into scratch [points, tiles, NR].  The output transform reads them back tile by tile; its vectors run
along the columns of the panel.  Pixels of y are addressed through a table, in which pixels past the border are redirected
to a pixel that is discarded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.winograd.input_transform import InputTransformEmitter
from sardonyx._src.compile.kernels.winograd.tiles import (
    ADDRESS_TABLE_FLOATS,
    DISCARD_OFFSET,
    WINOGRAD_SIZES,
    TileOrigin,
    WinogradVariant,
    products_offset,
)


class OutputTransformEmitter(InputTransformEmitter):
    """Emits products and output transform, and a kernel that has the input transform as well.

    Arguments after those of `WinogradEmitter`: weights [panels, points, channels, width]; bias [panels, width]; those of
    `output.output_arguments`.  Scratch after the address table: a discarded pixel; the products of a group with a panel
    [points, tiles, width]; in a fused kernel, the group's transformed input [points, tiles, channels].
    matrices: address and row stride of the output and of each matrix operand of the epilogue.
    """

    def __init__(self, variant: WinogradVariant, epilogue: Epilogue, target: Target) -> None:
        super().__init__(variant, epilogue, target)
        self.has_partial_vector = variant.has_partial_vector and variant.tile.lanes > 1
        index = 3 + len(WINOGRAD_SIZES)
        self.weights, self.bias = self.pointer_argument(index), self.pointer_argument(index + 1)
        self.output = self.output_matrix(index + 2)
        matrices = [(o.address, o.row_stride) for o in self.output.operands if o.row_stride is not None]
        self.matrices = [(self.output.address, self.output.row_stride), *matrices]
        table_floats = len(self.matrices) * self.transforms.outputs * 2
        assert table_floats <= ADDRESS_TABLE_FLOATS, (
            f"the address table must have room for {table_floats} floats; got {ADDRESS_TABLE_FLOATS}"
        )
        self.discarded = self.gep(self.scratch, self.constant(DISCARD_OFFSET, I64))
        self.products = self.gep(self.scratch, self.constant(products_offset(self.tile.width), I64))

    def emit_fused_units(self) -> None:
        """Emits a kernel whose units of work are groups of tiles; all intermediate values are in scratch."""
        values = self.gep(self.products, self.sizes["product_point_stride"] * self.transforms.num_points)

        def emit_group(group: LLVMValue) -> None:
            first, count = self.group_bounds(group)

            def transform_row(row: LLVMValue) -> None:
                self.transform_tile(first + row, self.gep(values, row * self.sizes["channels"]))

            self.loop_call(self.zero, count, 1, transform_row, "tile")
            panels = self.sizes["panels"]
            self.loop_call(self.zero, panels, 1, lambda p: self.emit_panel(first, count, p, values), "panel")

        self.loop_call(self.first_unit, self.end_unit, 1, emit_group, "group")

    def emit_product_units(self) -> None:
        """Emits a kernel whose units of work are groups of tiles by a panel of the weights.

        Groups vary fastest, but within each half of the groups: each of two threads then reads the transformed input that
        it has written.  Each half reads all weights once.
        """

        def emit_unit(unit: LLVMValue) -> None:
            groups = self.udiv(
                self.sizes["tiles"] + (self.sizes["group_tiles"] - 1), self.sizes["group_tiles"]
            )
            half = (groups + 1) >> 1
            half_index, index = self.udivmod(unit, half * self.sizes["panels"])
            first_group = half_index * half
            panel, group = self.udivmod(index, self.min(groups - first_group, half))
            group = first_group + group
            first, count = self.group_bounds(group)
            values = self.gep(
                self.transformed_input, group * self.sizes["input_point_stride"] * self.transforms.num_points
            )
            self.emit_panel(first, count, panel, values)

        self.loop_call(self.first_unit, self.end_unit, 1, emit_unit, "unit")

    def group_bounds(self, group: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """The first tile of a group, and its number of tiles."""
        first = group * self.sizes["group_tiles"]
        return first, self.min(self.sizes["group_tiles"], self.sizes["tiles"] - first)

    def emit_panel(self, first: LLVMValue, count: LLVMValue, panel: LLVMValue, values: str) -> None:
        """Computes the output of a group of tiles in the columns of a panel."""
        self.emit_products(count, panel, values)
        self.loop_call(
            self.zero, count, 1, lambda row: self.store_output_tile(first + row, row, panel), "tile"
        )

    # --- products ----------------------------------------------------------------------------

    def emit_products(self, count: LLVMValue, panel: LLVMValue, values: str) -> None:
        """Multiplies the transformed input of a group, at each point, with a panel of the weights."""
        size, width = self.sizes, self.tile.width
        channels = size["channels"]

        def multiply_point(f: LLVMValue) -> None:
            a = self.gep(values, f * size["input_point_stride"])
            b = self.gep(self.weights, (panel * self.transforms.num_points + f) * channels * width)
            c = self.gep(self.products, f * size["product_point_stride"])
            # Each block of rows prefetches a share of the weights of the next point.
            next_weights = self.gep(b, channels * width)

            def multiply_block(row: LLVMValue) -> None:
                block_index = self.udiv(row, self.constant(self.tile.rows, I64))
                prefetch = self.gep(next_weights, block_index * channels * CACHE_LINE_FLOATS)

                def body(rows: int) -> None:
                    self.init_accumulators(rows)
                    rows_a = [self.gep(a, (row + r) * channels) for r in range(rows)]
                    self.accumulate(rows_a, b, channels, prefetch=prefetch)
                    self.spill_accumulators(rows, self.gep(c, row * width))

                self.dispatch_height(count - row, body)

            self.loop_call(self.zero, count + (self.tile.rows - 1), self.tile.rows, multiply_block, "block")

        self.loop_call(self.zero, self.constant(self.transforms.num_points, I64), 1, multiply_point, "point")

    def dispatch_height(self, rows_left: LLVMValue, body: Callable[[int], None]) -> None:
        """Emits the body for a third, two thirds and all of a register tile's rows; branches to the least that suffices."""
        max_rows = self.tile.rows
        covered = 0
        for rows in sorted({-(-max_rows // 3), -(-max_rows * 2 // 3), max_rows}):
            fits = rows_left > covered if rows == max_rows else (rows_left > covered) & (rows_left <= rows)
            self.if_then_call(fits, partial(body, rows))
            covered = rows

    # --- output transform --------------------------------------------------------------------

    def store_output_tile(self, tile: LLVMValue, row: LLVMValue, panel: LLVMValue) -> None:
        """Transforms a tile, which is a row of the products, and stores it in the columns of a panel."""
        first = panel * self.tile.width
        self.store_output_addresses(self.tile_origin(tile), first)
        start = self.gep(self.products, row * self.tile.width)

        def store_columns(column: LLVMValue) -> None:
            num_left = self.sizes["features"] - (first + column)
            is_full = num_left >= self.tile.lanes
            self.if_then_call(is_full, lambda: self.store_output_vector(start, column, first, None))
            if self.has_partial_vector:
                is_partial = (num_left > 0) & (num_left < self.tile.lanes)
                mask = self.column_mask(first + column, self.sizes["features"])
                self.if_then_call(is_partial, lambda: self.store_output_vector(start, column, first, mask))

        self.loop_call(
            self.zero, self.constant(self.tile.width, I64), self.tile.lanes, store_columns, "vector"
        )

    def store_output_addresses(self, origin: TileOrigin, column: LLVMValue) -> None:
        """Stores the addresses of a tile's pixels, in the output and in the epilogue's matrices, in the table.

        Pixels past the border read matrices at the last pixel inside, and are written to the discarded pixel.
        """
        size, horizontal = self.sizes, self.transforms.horizontal.outputs
        discarded = self.gep(self.discarded, 0 - column)
        for a in range(self.transforms.vertical.outputs):
            row = self.min(origin.row + a, size["rows"] - 1)
            first = (origin.image * size["rows"] + row) * size["columns"]
            for b in range(horizontal):
                column_index = self.min(origin.column + b, size["columns"] - 1)
                is_outside = (row < origin.row + a) | (column_index < origin.column + b)
                index = (a * horizontal + b) * len(self.matrices)
                for i, (base, row_stride) in enumerate(self.matrices):
                    address = self.gep(base, (first + column_index) * row_stride)
                    if i == 0:
                        address = self.select_pointer(is_outside, discarded, address)
                    self.store_address(index + i, address)

    def store_output_vector(
        self, start: str, offset: LLVMValue, first: LLVMValue, mask: LLVMValue | None
    ) -> None:
        """Transforms a vector of columns of a tile, adds the bias, and stores its pixels."""
        vertical, horizontal = self.transforms.vertical, self.transforms.horizontal
        bias = self.load(self.vector_slot(self.bias, first + offset))
        point_stride, line_stride = (
            self.sizes["product_point_stride"],
            self.sizes["product_point_stride"] * horizontal.inputs,
        )
        columns = []
        for b in range(horizontal.inputs):
            address = self.gep(start, point_stride * b + offset)
            products = []
            for _ in range(vertical.inputs):
                products.append(self.load(StackSlot(address, self.vector_type)))
                address = self.gep(address, line_stride)
            columns.append(vertical.emit_output_transform(self, products))
        for a, line in enumerate(zip(*columns, strict=True)):
            for b, value in enumerate(horizontal.emit_output_transform(self, line)):
                pixel = a * horizontal.outputs + b
                self.store_pixel(value + bias, pixel, first + offset, mask)

    def store_pixel(self, value: LLVMValue, pixel: int, column: LLVMValue, mask: LLVMValue | None) -> None:
        """Applies the epilogue to a vector of a pixel and stores it."""
        addresses = [self.load_address(pixel * len(self.matrices) + i) for i in range(len(self.matrices))]
        matrix_addresses = iter(addresses[1:])
        operands = [
            next(matrix_addresses) if o.row_stride is not None else o.address for o in self.output.operands
        ]

        def load_local(local: Local) -> LLVMValue:
            assert isinstance(local, Local), f"a name in an epilogue must be Local; got {local}"
            if local.name == "x":
                return value
            index = int(local.name[1:])
            if self.epilogue.operand_layouts[index] == "scalar":
                return self.splat(self.load(StackSlot(operands[index], LLVMType("float"))), self.tile.lanes)
            slot = self.vector_slot(operands[index], column)
            return self.load(slot) if mask is None else self.masked_load(mask, slot)

        self.prefetch_l1(
            addresses[0], self.output.row_stride * self.transforms.horizontal.outputs + column, write=True
        )
        stored = self.emit_expression(self.epilogue.expression, self.vector_type, load_local)
        slot = self.vector_slot(addresses[0], column)
        if mask is None:
            self.store(slot, stored)
        else:
            self.masked_store(mask, slot, stored)
