"""GEMM microkernel: accumulates one register tile by rank-1 updates over k, then applies the epilogue and stores it.

The tile is [rows, vectors * lanes] float32; A is given by the address of each row, B by a packed panel [k, width].  The
loop nest around it is that of a matrix product, a convolution, or any kernel that can compute the addresses of rows of A:

    emitter = MicrokernelEmitter(tile, epilogue, target)
    output = emitter.output_matrix(index)                   # from the kernel arguments
    def accumulate_rows(rows):                              # emitted for a full tile and for shorter ones
        emitter.init_accumulators(rows, bias)               # or emitter.load_accumulators(rows, partial_sums)
        emitter.accumulate(row_addresses, panel, k)         # once for each block of k
    emitter.emit_block(rows_left, accumulate_rows, TileStore(output, row, column, end_column))

A tile is stored from registers if it is full and its epilogue cheap; otherwise it is spilled and stored by a loop.
Source: the microkernel of BLIS (Van Zee and van de Geijn), after Goto and van de Geijn (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.expressions import Apply, Local, Select, topological_order
from sardonyx._src.compile.codegen.math.table import VECTOR_FUNCTIONS
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import F32, AccumulatorEmitter
from sardonyx._src.compile.kernels.gemm.output import EpilogueOperand, OutputMatrix, TileStore
from sardonyx._src.compile.kernels.gemm.register_tile import RegisterTile

MAX_INLINE_OPERATIONS = 8  # of an epilogue that is emitted for every vector of a tile


class MicrokernelEmitter(AccumulatorEmitter):
    """Emits the parts of a kernel that work on one register tile; subclasses add the loops around it."""

    def __init__(self, tile: RegisterTile, epilogue: Epilogue, target: Target) -> None:
        super().__init__(tile, target)
        self.epilogue = epilogue
        self.allocas.append(f" %kept = alloca [{tile.rows * tile.width} x float], align 64")

    def output_matrix(self, index: int) -> OutputMatrix:
        """The output and its epilogue's operands, read from the kernel arguments of `output_arguments` from `index` on."""
        address, row_stride = self.pointer_argument(index), self.size_argument(index + 1)
        operands, next_index = [], index + 2
        for layout in self.epilogue.operand_layouts:
            is_matrix = layout == "matrix"
            operands.append(
                EpilogueOperand(
                    layout,
                    self.pointer_argument(next_index),
                    self.size_argument(next_index + 1) if is_matrix else None,
                )
            )
            next_index += 2 if is_matrix else 1
        return OutputMatrix(address, row_stride, tuple(operands))

    def emit_block(
        self, rows_left: LLVMValue, accumulate_rows: Callable[[int], None], tile_store: TileStore
    ) -> None:
        """Accumulates a tile of the `rows_left` rows that remain, at most a full tile, and stores or spills it.

        accumulate_rows: emits the accumulation for a fixed number of rows, as in `dispatch_row_count`.
        """
        stores_registers = self.stores_registers(rows_left, tile_store)
        spill = tile_store.spill or "%kept"

        def body(rows: int) -> None:
            accumulate_rows(rows)
            if rows < self.tile.rows:
                self.spill_accumulators(rows, spill)
                return
            is_full_width = self.is_full_width(tile_store)
            self.if_then_call(
                stores_registers & is_full_width, lambda: self.store_tile(tile_store, masked=False)
            )
            if self.tile.lanes > 1:
                self.if_then_call(
                    stores_registers & is_full_width.eq(0), lambda: self.store_tile(tile_store, masked=True)
                )
            self.if_then_call(stores_registers.eq(0), lambda: self.spill_accumulators(rows, spill))

        self.dispatch_row_count(rows_left, body)
        is_spilled = stores_registers.eq(0)
        if tile_store.is_last is not None:
            is_spilled = is_spilled & tile_store.is_last
        self.if_then_call(is_spilled, lambda: self.store_spilled_tile(rows_left, spill, tile_store))

    def dispatch_row_count(self, rows_left: LLVMValue, body: Callable[[int], None]) -> None:
        """Emits the body for each of the tile's row counts, and branches to the least one that covers the rows left.

        It may cover more rows than are left: for those, any readable rows of A will do (see `clamp_row`), and the spill
        area must have room for their sums.
        """
        covered = 0
        for rows in self.tile.row_counts:
            fits = rows_left > covered
            if rows < self.tile.rows:
                fits = fits & (rows_left <= rows)
            self.if_then_call(fits, partial(body, rows))
            covered = rows

    def stores_registers(self, rows_left: LLVMValue, tile_store: TileStore) -> LLVMValue:
        """Whether a tile is stored from registers, without a spill: a full, complete one with a cheap epilogue."""
        if not is_cheap(self.epilogue):
            return self.constant(0, LLVMType("i1"))
        is_complete = rows_left >= self.tile.rows
        if self.tile.lanes == 1:  # no masks
            is_complete &= self.is_full_width(tile_store)
        return is_complete if tile_store.is_last is None else is_complete & tile_store.is_last

    def is_full_width(self, tile_store: TileStore) -> LLVMValue:
        """Whether all columns of the tile are columns of the output."""
        return tile_store.column + self.tile.width <= tile_store.end_column

    def clamp_row(self, row: int, num_rows: LLVMValue) -> LLVMValue:
        """A row of the tile, clamped to the last one of the `num_rows` rows that exist."""
        last = num_rows - 1
        return self.select(last < row, last, self.constant(row, I64))

    # --- store -------------------------------------------------------------------------------

    def store_tile(self, tile_store: TileStore, *, masked: bool) -> None:
        """Applies the epilogue to a full tile and stores it; masked if it reaches beyond the last column."""
        columns = [tile_store.column + v * self.tile.lanes for v in range(self.tile.vectors)]
        masks = [self.column_mask(column, tile_store.end_column) if masked else None for column in columns]
        for r, accumulators in enumerate(self.accumulators):
            for slot, column, mask in zip(accumulators, columns, masks, strict=True):
                self.store_vector(self.load(slot), tile_store.row + r, column, tile_store, mask)

    def store_spilled_tile(self, rows_left: LLVMValue, spill: str, tile_store: TileStore) -> None:
        """Applies the epilogue to spilled sums and stores them, by a loop over rows, which is less code than `store_tile`."""
        zero, width = self.constant(0, I64), self.tile.width
        count = self.select(rows_left < self.tile.rows, rows_left, self.constant(self.tile.rows, I64))

        def store_row(r: LLVMValue) -> None:
            def store_part(v: LLVMValue) -> None:
                column = tile_store.column + v
                value = self.load(self.vector_slot(spill, r * width + v))
                is_full = column + self.tile.lanes <= tile_store.end_column
                self.if_then_call(
                    is_full, lambda: self.store_vector(value, tile_store.row + r, column, tile_store, None)
                )
                is_partial = is_full.eq(0) & (column < tile_store.end_column)
                mask = self.column_mask(column, tile_store.end_column)
                self.if_then_call(
                    is_partial, lambda: self.store_vector(value, tile_store.row + r, column, tile_store, mask)
                )

            is_full = self.is_full_width(tile_store)
            self.if_then_call(is_full, lambda: self.store_spilled_row(r, spill, tile_store))
            end = self.select(is_full, zero, self.constant(width, I64))
            self.loop_call(zero, end, self.tile.lanes, store_part, "v")

        self.loop_call(zero, count, 1, store_row, "r")

    def store_spilled_row(self, r: LLVMValue, spill: str, tile_store: TileStore) -> None:
        """Stores a full row of a spilled tile; the epilogues of its vectors are interleaved to hide latencies."""
        lanes, row = self.tile.lanes, self.result_row(tile_store.row + r)
        starts = [self.constant(v * lanes, I64) for v in range(self.tile.vectors)]
        sums = [self.load(self.vector_slot(spill, r * self.tile.width + start)) for start in starts]
        loads = [
            partial(self.load_epilogue_local, value, row, tile_store.column + start, None, tile_store.output)
            for value, start in zip(sums, starts, strict=True)
        ]
        stored = self.emit_interleaved([self.epilogue.expression], [self.result_type], loads)
        for start, (value,) in zip(starts, stored, strict=True):
            self.store(self.result_slot(tile_store.output, row, tile_store.column + start), value)

    def store_vector(
        self,
        value: LLVMValue,
        row: LLVMValue,
        column: LLVMValue,
        tile_store: TileStore,
        mask: LLVMValue | None,
    ) -> None:
        """Applies the epilogue to a vector and stores the lanes in the mask."""
        output, row = tile_store.output, self.result_row(row)
        load_local = partial(self.load_epilogue_local, value, row, column, mask, output)
        stored = self.emit_expression(self.epilogue.expression, self.result_type, load_local)
        slot = self.result_slot(output, row, column)
        if mask is None or self.tile.lanes == 1:  # masks of one lane are true here
            self.store(slot, stored)
        else:
            self.masked_store(mask, slot, stored)

    @property
    def result_type(self) -> LLVMType:
        """The type of a vector of the output."""
        return self.vector_type

    def result_slot(self, output: OutputMatrix, row: LLVMValue, column: LLVMValue) -> StackSlot:
        return self.vector_slot(output.address, row * output.row_stride + column)

    def load_epilogue_local(
        self,
        value: LLVMValue,
        row: LLVMValue,
        column: LLVMValue,
        mask: LLVMValue | None,
        output: OutputMatrix,
        local: Local,
    ) -> LLVMValue:
        """The value of a name in the epilogue for the vector of sums at (row, column)."""
        assert isinstance(local, Local), f"a name in an epilogue must be Local; got {local}"
        if local.name == "x":
            return value
        return self.load_operand(output.operands[int(local.name[1:])], row, column, mask)

    def result_row(self, row: LLVMValue) -> LLVMValue:
        """The row of the output that holds a row of the sums; subclasses may scatter rows."""
        return row

    def load_operand(
        self, operand: EpilogueOperand, row: LLVMValue, column: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """The vector of an epilogue's operand for the vector of the output at (row, column)."""
        if operand.layout == "scalar":
            return self.splat(self.load(StackSlot(operand.address, F32)), self.tile.lanes)
        index = column if operand.row_stride is None else row * operand.row_stride + column
        slot = self.vector_slot(operand.address, index)
        return self.load(slot) if mask is None or self.tile.lanes == 1 else self.masked_load(mask, slot)

    def column_mask(self, column: LLVMValue, end: LLVMValue) -> LLVMValue:
        """The mask of the lanes of a vector at `column` that lie before `end`."""
        if self.tile.lanes == 1:
            return column < end
        return self.lane_mask(end - column, self.tile.lanes)


def is_cheap(epilogue: Epilogue) -> bool:
    """Whether an epilogue is few enough instructions to be emitted for every vector of a tile."""
    operations = [node for node in topological_order(epilogue.expression) if isinstance(node, Apply | Select)]
    return len(operations) <= MAX_INLINE_OPERATIONS and all(
        isinstance(node, Select) or node.op not in VECTOR_FUNCTIONS for node in operations
    )
