"""Loop nest of a batched GEMM around the microkernel: y [M, N] = epilogue(a [M, K] @ b [K, N] + bias).

    for unit (batch item, panel of B, group of rows):      # units of work, which threads share
        for k_block in K by KC:                            # the block of the panel stays in the cache
            for row_block in group by MR:                  # one register tile
                microkernel over k_block; spill partial sums to scratch, or apply the epilogue and store

A has any strides; B is packed in panels [batch, panels, K, NR]; rows of y are contiguous.  Groups of rows vary fastest,
so that consecutive units reuse a panel that is in the cache.  Unlike the five loops of BLIS there is no packing of A and
no loop over blocks of columns: a unit has one panel.  Source: Goto and van de Geijn (2008); BLIS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import Element, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.output import EpilogueOperand, OutputMatrix, TileStore
from sardonyx._src.compile.kernels.gemm.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock, RowBlockEmitter

MATMUL_SIZES = (
    "rows", "columns", "k", "panels", "group_rows", "groups", "k_block", "inner", "a_row", "a_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatmulUnit:
    """One unit of work: the addresses of A, of the panel and of its bias; the output, its rows and its first column."""

    a: str
    panel: str
    bias: str | None
    output: OutputMatrix
    first_row: LLVMValue
    num_rows: LLVMValue
    column: LLVMValue


class MatmulEmitter(RowBlockEmitter):
    """Emits the kernel of a batch of matrix products.

    Arguments: A; panels of B; their bias [panels, width], if `has_bias`; `MATMUL_SIZES`; those of
    `output.output_arguments`; then, for each matrix operand of the epilogue, its strides along the outer and the inner
    batch axis.  Scratch: partial sums [rows of a group + SPARE_ROWS, width].
    """

    def __init__(
        self,
        vectors: int,
        epilogue: Epilogue,
        target: Target,
        *,
        has_bias: bool,
        has_strided_a: bool,
        half_type: Element | None = None,
    ) -> None:
        """half_type: the element type of B if it is of half precision; None for float32."""
        super().__init__(make_tile(vectors, target.lanes, target.registers), epilogue, target)
        self.half_type = half_type
        self.has_strided_a = has_strided_a
        self.a, self.b = self.pointer_argument(0), self.pointer_argument(1)
        self.bias = self.pointer_argument(2) if has_bias else None
        first = 3 if has_bias else 2
        self.sizes = {name: self.size_argument(i) for i, name in enumerate(MATMUL_SIZES, first)}
        output_index = first + len(MATMUL_SIZES)
        self.output = self.output_matrix(output_index)
        self.matrix_strides_index = (
            output_index + 2 + sum(2 if layout == "matrix" else 1 for layout in epilogue.operand_layouts)
        )

    def emit_units(self) -> None:
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def emit_unit(self, unit: LLVMValue) -> None:
        size, zero = self.sizes, self.constant(0, I64)
        item_panel, group = self.udivmod(unit, size["groups"])
        item, panel = self.udivmod(item_panel, size["panels"])
        outer, inner = self.udivmod(item, size["inner"])
        first = group * size["group_rows"]
        unit_operands = MatmulUnit(
            self.batch_address(self.a, "a", outer, inner),
            self.panel_address(
                self.batch_address(self.b, "b", outer, inner), panel * size["k"] * self.tile.width
            ),
            None if self.bias is None else self.gep(self.bias, panel * self.tile.width),
            self.batch_output(outer, inner),
            first,
            self.min(size["rows"] - first, size["group_rows"]),
            panel * self.tile.width,
        )
        k_blocks = self.udiv(size["k"] + size["k_block"] - 1, size["k_block"])
        k_blocks = self.select(k_blocks < 1, self.constant(1, I64), k_blocks)
        self.loop_call(
            zero, k_blocks, 1, lambda i: self.emit_k_block(unit_operands, i * size["k_block"]), "part"
        )

    def emit_k_block(self, unit_operands: MatmulUnit, k: LLVMValue) -> None:
        """Adds the products of one block of k to the sums of all rows of the unit."""
        count = self.min(self.sizes["k_block"], self.sizes["k"] - k)
        self.loop_row_blocks(
            unit_operands.num_rows, lambda block: self.emit_tile(unit_operands, block, k, count)
        )

    def emit_tile(self, unit_operands: MatmulUnit, block: RowBlock, k: LLVMValue, count: LLVMValue) -> None:
        """One register tile: initializes or reloads its sums, adds `count` terms from `k` on, then stores or spills them.

        Each block prefetches a share of the next k block of B, except for a single row, whose speed memory limits anyway.
        """
        size = self.sizes
        spill = self.gep(self.scratch, block.index * (self.tile.rows * self.tile.width))
        first = unit_operands.first_row + block.first_row
        panel = self.panel_address(unit_operands.panel, k * self.tile.width)
        prefetch = self.panel_address(
            panel, count * (self.prefetched_line(block) * self.cache_line_elements + self.tile.width)
        )
        is_first, is_last = k.eq(0), k + count >= size["k"]

        def accumulate_rows(rows: int) -> None:
            self.init_accumulators(rows, unit_operands.bias)
            self.if_then_call(is_first.eq(0), lambda: self.load_accumulators(rows, spill))
            starts = [(first + self.clamp_row(r, block.num_rows)) * size["a_row"] for r in range(rows)]
            offset = k * size["a_step"] if self.has_strided_a else k
            addresses = [self.gep(unit_operands.a, start + offset) for start in starts]
            step = size["a_step"] if self.has_strided_a else None
            self.accumulate(addresses, panel, count, step, None if rows == 1 else prefetch)

        tile_store = TileStore(
            unit_operands.output, first, unit_operands.column, size["columns"], spill, is_last
        )
        self.emit_block(block.num_rows, accumulate_rows, tile_store)

    def prefetched_line(self, block: RowBlock) -> LLVMValue:
        """The cache line of each row of the next panel block that this row block prefetches."""
        return self.min(block.index, self.constant(-(-self.tile.width // self.cache_line_elements) - 1, I64))

    # --- batch items -------------------------------------------------------------------------

    def batch_address(self, base: str, name: str, outer: LLVMValue, inner: LLVMValue) -> str:
        """The address of operand `name` ("a", "b" or "y") in a batch item."""
        offset = outer * self.sizes[f"{name}_outer"] + inner * self.sizes[f"{name}_inner"]
        return self.panel_address(base, offset) if name == "b" else self.gep(base, offset)

    def batch_output(self, outer: LLVMValue, inner: LLVMValue) -> OutputMatrix:
        operands, index = [], self.matrix_strides_index
        for operand in self.output.operands:
            if operand.layout == "matrix":
                operand = self.batch_operand(operand, index, outer, inner)
                index += 2
            operands.append(operand)
        address = self.batch_address(self.output.address, "y", outer, inner)
        return replace(self.output, address=address, operands=tuple(operands))

    def batch_operand(
        self, operand: EpilogueOperand, index: int, outer: LLVMValue, inner: LLVMValue
    ) -> EpilogueOperand:
        offset = outer * self.size_argument(index) + inner * self.size_argument(index + 1)
        return replace(operand, address=self.gep(operand.address, offset))
