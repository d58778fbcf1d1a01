"""Loop nest of a batched GEMM around the microkernel: y [M, N] = epilogue(a [M, K] @ b [K, N] + bias).

    for chunk of rows of a large B:                        # it stays in L2 while the panels stream through
        for panel of B, of any batch item:
            for rows in the panel's units of this call:    # a unit of work is a panel and a group of rows
                for k_block in K by KC:                    # the block of the panel stays in the cache
                    for row_block in rows by MR:           # one register tile
                        microkernel over k_block, from zero; add the sums of the blocks before
                        spill the sums to scratch, or apply the epilogue and store

A has any strides; B is packed in panels [batch, panels, K, NR]; rows of y are contiguous.  If a call has several units of
one panel, their rows are computed together: all of them use a block of the panel while it is in the cache, and the next
block is prefetched meanwhile.  Unlike the five loops of BLIS there is no packing of A and no loop over blocks of columns:
a unit has one panel.  Source: Goto and van de Geijn (2008); BLIS.

Blocks of k are summed from zero and then added, so that the rounding error of a sum grows with the terms of a block and the number
of blocks, not with k (Higham, "The Accuracy of Floating Point Summation", 1993).  Blocks depend only on k: a row has the
same bits whatever the other rows, the tiles and the threads are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm import low_rank
from sardonyx._src.compile.kernels.gemm.accumulators import (
    CACHE_LINE_BYTES,
    FLOAT32_ARITHMETIC,
    Microkernel,
    Prefetch,
    TileArithmetic,
    accumulate,
    add_partial_sums,
    cache_line_elements,
    init_accumulators,
    load_accumulators,
    make_microkernel,
    panel_address,
    release_microkernel,
)
from sardonyx._src.compile.kernels.gemm.amx_tiles import AmxOperands, share_panel
from sardonyx._src.compile.kernels.gemm.integer_epilogue import operand_type, result_type
from sardonyx._src.compile.kernels.gemm.low_rank import UpdateRows, accumulate_update, load_update
from sardonyx._src.compile.kernels.gemm.microkernel import clamp_row, compute_amx_tile, dispatch_tile
from sardonyx._src.compile.kernels.gemm.output import (
    OutputMatrix,
    TileStore,
    load_output_matrix,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.promoted_panels import MAX_DIRECT_TILES, promote_panel
from sardonyx._src.compile.kernels.gemm.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.row_blocks import (
    RowBlock,
    divide_evenly,
    loop_chunks,
    loop_row_blocks,
)
from sardonyx._src.compile.kernels.tuning.tuning import GemmTuning

MATMUL_SIZES = (
    "rows", "columns", "k", "panels", "group_rows", "groups", "k_block", "inner", "a_row", "a_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner",
)  # fmt: skip


def matmul_parameters(epilogue: Epilogue, *, has_bias: bool, has_update: bool = False) -> Parameters:
    """A; panels of B; their bias [panels, width]; sizes; the output; strides of the epilogue's matrices along the batch axes.

    The batch has two axes, `outer` and `inner`; `a_step` is the stride of A along k, `group_rows` the rows of a unit.
    Scratch: partial sums [`max_rows` + `spare_rows`, width].
    """
    batch_strides = (f"{name}_{axis}" for name in matrix_names(epilogue) for axis in ("outer", "inner"))
    inputs = Parameters("a", "b", "bias") if has_bias else Parameters("a", "b")
    update = low_rank.PARAMETERS if has_update else Parameters()
    outputs = output_parameters(epilogue) + Parameters(*batch_strides)
    return inputs + Parameters(*MATMUL_SIZES) + outputs + update


def matrix_names(epilogue: Epilogue) -> list[str]:
    """The parameters of the matrix operands of an epilogue."""
    return [f"o{i}" for i, layout in enumerate(epilogue.operand_layouts) if layout == "matrix"]


def matmul_module(
    name: str,
    target: Target,
    *,
    vectors: int,
    amx_words: int = 0,
    epilogue: Epilogue,
    arithmetic: TileArithmetic,
    has_bias: bool,
    has_strided_a: bool,
    is_large: bool = False,
    has_update: bool = False,
) -> str:
    """The LLVM module of the kernel, specialized on the panel's width, the arithmetic, the epilogue, a bias, a strided A and a low-rank update.

    is_large: whether B is assumed to be in memory, not in the level-2 cache.
    amx_words: the words along k of an AMX tile (`RegisterTile`); 0 without AMX.
    """
    b = KernelBuilder(target, matmul_parameters(epilogue, has_bias=has_bias, has_update=has_update))
    tile = make_tile(vectors, target, amx_words)
    m = make_microkernel(b, tile, epilogue, arithmetic)
    emit_matmul(m, has_bias=has_bias, has_strided_a=has_strided_a, is_large=is_large, has_update=has_update)
    release_microkernel(m)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class PanelRows:
    """The product of some rows of A and one panel of B.

    a, panel, bias: addresses of A, of the panel and of its bias.
    a_step: the stride of A along k; None if it is 1.
    first_row, num_rows, column: the rows of the output, and the first column, that the product is stored to.
    update: the low-rank update, if there is one.
    map_row: emits the row of A for a row of the product; None if they are the same.
    """

    a: str
    a_step: LLVMValue | None
    panel: str
    bias: str | None
    output: OutputMatrix
    first_row: LLVMValue
    num_rows: LLVMValue
    column: LLVMValue
    update: UpdateRows | None = None
    map_row: Callable[[LLVMValue], LLVMValue] | None = None

    def row_of_a(self, row: LLVMValue) -> LLVMValue:
        return row if self.map_row is None else self.map_row(row)


def emit_matmul(
    m: Microkernel, *, has_bias: bool, has_strided_a: bool, is_large: bool, has_update: bool
) -> None:
    """The loops over units of work, blocks of k and row blocks."""
    b, width = m.b, m.tile.width
    a, panels = b.pointers("a", "b")
    bias = b.pointer("bias") if has_bias else None
    update_sizes = low_rank.SIZES if has_update else ()
    size = {p: b.integer(p) for p in (*MATMUL_SIZES, *update_sizes)}
    y = load_output_matrix(b, m.epilogue)
    groups = b.select(size["groups"] < 1, b.constant(1, I64), size["groups"])
    k_blocks = divide_evenly(b, size["k"], size["k_block"])
    end_panel = b.udiv(b.end_unit + groups - 1, groups)
    is_one_item = end_panel <= size["panels"]
    chunks = loop_chunks(b, size["rows"], is_one_item) if is_large else nullcontext()
    with chunks as chunk, b.loop(b.udiv(b.first_unit, groups), end_panel, 1, "panel") as item_panel:
        item, panel = b.udivmod(item_panel, size["panels"])
        outer, inner = b.udivmod(item, size["inner"])
        a_item = b.gep(a, outer * size["a_outer"] + inner * size["a_inner"])
        b_item = panel_address(m, panels, outer * size["b_outer"] + inner * size["b_inner"])
        first, end = unit_rows(b, size, item_panel * groups)
        if chunk is not None:
            first, end = b.select(first < chunk.first, chunk.first, first), b.min(end, chunk.end)
        update = load_update(m, panel, outer, inner, size) if has_update else None
        with b.loop(first, end + (GemmTuning.max_rows - 1), GemmTuning.max_rows, "rows") as row:
            rows = PanelRows(
                a=a_item,
                a_step=size["a_step"] if has_strided_a else None,
                panel=panel_address(m, b_item, panel * size["k"] * width),
                bias=None if bias is None else b.gep(bias, panel * width),
                output=batch_output(m, y, size, outer, inner),
                first_row=row,
                num_rows=b.min(end - row, GemmTuning.max_rows),
                column=panel * width,
                update=update,
            )
            emit_rows(m, size, rows, k_blocks, is_large=is_large)


def unit_rows(
    b: KernelBuilder, size: Mapping[str, LLVMValue], unit: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """The rows [first, end) of the call's units of one panel; unit: the number of the panel's first unit."""
    first = b.select(b.first_unit < unit, b.constant(0, I64), b.first_unit - unit)
    end = b.min(b.end_unit - unit, size["groups"])
    return first * size["group_rows"], b.min(end * size["group_rows"], size["rows"])


def emit_rows(
    m: Microkernel,
    size: Mapping[str, LLVMValue],
    rows: PanelRows,
    k_blocks: tuple[LLVMValue, LLVMValue],
    *,
    is_large: bool,
) -> None:
    """The loops over blocks of k, of about equal length, and row blocks; k_blocks: the length and the number of the blocks.

    If B is large, each row block prefetches an equal share of the next terms of the panel.  A small share means that memory
    is fast enough; prefetches are then sparse, since they occupy the line fill buffers through which the microkernel loads
    the panel.  A large share means that memory limits the product; blocks are then divided into short parts, so that
    prefetched lines are used soon.
    """
    b, (k_block, num_blocks) = m.b, k_blocks
    prefetches, part_length = None, k_block
    if is_large:
        share = b.udiv(rows.num_rows + (m.tile.rows - 1), m.tile.rows)
        share = b.udiv(share + (panel_row_bytes(m) - 1), share)
        is_sparse = share <= GemmTuning.sparse_prefetch_bytes
        prefetches = PrefetchShare(share, is_sparse)
        short, _ = divide_evenly(b, k_block, b.min(k_block, GemmTuning.short_k_block))
        part_length = b.select(is_sparse, k_block, short)
    with b.loop(b.constant(0, I64), num_blocks, 1, "k_block") as i:
        block = i * k_block
        count = b.min(k_block, size["k"] - block)
        if prefetches is None:
            emit_k_block(m, size, rows, TermRange(block, count, None, block=block))
        else:
            with b.loop(b.constant(0, I64), count + (part_length - 1), part_length, "part") as part:
                ends_block, length = part + part_length >= count, b.min(part_length, count - part)
                terms = TermRange(block + part, length, prefetches, block=block, ends_block=ends_block)
                emit_k_block(m, size, rows, terms)


def emit_k_block(m: Microkernel, size: Mapping[str, LLVMValue], rows: PanelRows, terms: TermRange) -> None:
    """All rows over a block of k; a half-precision block that many tiles read is promoted to float32 once, in scratch."""
    b = m.b
    # Panels of a low-rank update have the element type of B: a microkernel for promoted panels could not read them.
    if m.arithmetic.half_type is None or rows.update is not None:
        emit_row_blocks(m, size, rows, terms)
    else:
        is_many = rows.num_rows > MAX_DIRECT_TILES * m.tile.rows
        with b.if_then(is_many):
            promoted = promote_panel(m, rows.panel, terms.first, terms.count)
            next_block = panel_address(m, rows.panel, (terms.first + terms.count) * m.tile.width)
            emit_row_blocks(
                replace(m, arithmetic=FLOAT32_ARITHMETIC),
                size,
                replace(rows, panel=promoted),
                replace(terms, next_block=next_block),
            )
        with b.if_then(is_many.eq(0)):
            emit_row_blocks(m, size, rows, terms)


def emit_row_blocks(m: Microkernel, size: Mapping[str, LLVMValue], rows: PanelRows, terms: TermRange) -> None:
    """The register tiles of all rows over a block of k."""
    with loop_row_blocks(m, rows.num_rows) as block:
        emit_tile(m, size, rows, block, terms)


def panel_row_bytes(m: Microkernel) -> int:
    """The bytes of a row of a panel of B."""
    return m.tile.width * CACHE_LINE_BYTES // cache_line_elements(m)


@dataclass(frozen=True, slots=True)
class PrefetchShare:
    """The bytes of B that a row block prefetches for each term, and whether they are at most `sparse_prefetch_bytes`."""

    bytes_per_term: LLVMValue
    is_sparse: LLVMValue


@dataclass(frozen=True, slots=True)
class TermRange:
    """A range of terms (indices along k) that one pass over the rows adds.

    prefetches: the prefetches of a row block if B is large; else None.
    has_next: whether the panel has more terms after these in memory, which can be prefetched.
    next_block: the address of the next terms, if the panel of this range is a copy; empty otherwise.
    block: the first term of the block of k to which the range belongs; a block is summed from zero.  None: k is not
        divided into blocks.
    ends_block: whether the range contains the last term of its block; None if it always does.
    """

    first: LLVMValue
    count: LLVMValue
    prefetches: PrefetchShare | None
    has_next: bool = True
    next_block: str = ""
    block: LLVMValue | None = None
    ends_block: LLVMValue | None = None


def emit_tile(
    m: Microkernel, size: Mapping[str, LLVMValue], unit: PanelRows, block: RowBlock, terms: TermRange
) -> None:
    """One register tile: initializes or reloads its sums, adds the terms, then stores or spills them."""
    b, tile, k = m.b, m.tile, terms.first
    spill, unfinished = spill_areas(m, block, terms)
    first = unit.first_row + block.first_row
    panel = panel_address(m, unit.panel, k * tile.width)
    is_first, is_last = k.eq(0), k + terms.count >= size["k"]
    tile_store = TileStore(unit.output, first, unit.column, size["columns"], spill, is_last)
    if m.amx is not None:  # k has one block
        left = b.gep(unit.a, first * size["a_row"])
        no_stride = b.constant(0, I64)
        num_blocks = b.udiv(unit.num_rows + (tile.rows - 1), tile.rows)
        next_panel = panel_address(m, panel, terms.count * tile.width)
        share = share_panel(b, m.amx, next_panel, block.index, num_blocks)
        operands = AmxOperands(left, size["a_row"], panel, terms.count, unit.bias, no_stride, share)
        compute_amx_tile(m, operands, block.num_rows, replace(tile_store, spill=""))
        return
    for rows in dispatch_tile(m, block.num_rows, tile_store):
        init_accumulators(m, rows)
        if unit.bias is not None or unit.update is not None:
            with b.if_then(is_first):
                init_accumulators(m, rows, unit.bias)
                if unit.update is not None:
                    accumulate_update(m, unit.update, first, block, rows)
        if unfinished:
            with b.if_then(k.ne(0 if terms.block is None else terms.block)):
                load_accumulators(m, rows, unfinished)
        starts = [unit.row_of_a(first + clamp_row(b, r, block.num_rows)) * size["a_row"] for r in range(rows)]
        offset = k if unit.a_step is None else k * unit.a_step
        addresses = [b.gep(unit.a, start + offset) for start in starts]
        accumulate_terms(m, addresses, panel, block, terms, unit.a_step)
        if terms.block is not None:
            is_added = terms.block.ne(0)
            with b.if_then(is_added if terms.ends_block is None else is_added & terms.ends_block):
                add_partial_sums(m, rows, spill)


def spill_areas(m: Microkernel, block: RowBlock, terms: TermRange) -> tuple[str, str]:
    """The address to which a tile spills its sums, and the address of sums of an unfinished block of k; empty if there are none.

    Blocks are divided into parts only for few rows.  The sums of an unfinished block are then in the second half of the
    scratch, after the sums of the finished blocks.
    """
    b, tile = m.b, m.tile
    sums = b.gep(b.scratch, block.index * (tile.rows * tile.width))
    if terms.block is None:
        return sums, sums
    if terms.ends_block is None:
        return sums, ""
    half = GemmTuning.max_rows // 2
    assert panel_row_bytes(m) // GemmTuning.sparse_prefetch_bytes * tile.rows <= half, "partial sums must fit"
    unfinished = b.gep(sums, b.constant(half * tile.width, I64))
    return b.select_pointer(terms.ends_block, sums, unfinished), unfinished


def accumulate_terms(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    block: RowBlock,
    terms: TermRange,
    stride: LLVMValue | None,
) -> None:
    """`accumulate` with prefetches: each row block prefetches a share of the panel's next block."""
    b, count = m.b, terms.count
    if not terms.has_next:
        accumulate(m, rows, panel, count, stride, None)
        return
    next_block = terms.next_block or panel_address(m, panel, count * m.tile.width)
    if terms.prefetches is None:
        line = b.min(block.index, -(-panel_row_bytes(m) // CACHE_LINE_BYTES) - 1)
        address = b.gep(next_block, line * count * CACHE_LINE_BYTES, "i8")
        accumulate(m, rows, panel, count, stride, None if len(rows) == 1 else Prefetch(address))
        return
    share, is_sparse = terms.prefetches.bytes_per_term, terms.prefetches.is_sparse
    address = b.gep(next_block, block.index * count * share, "i8")
    dense = Prefetch(address, share, 1 << (panel_row_bytes(m) - 1).bit_length())
    if len(rows) == 1:
        accumulate(m, rows, panel, count, stride, split_into_streams(m, dense, share, count))
        return
    is_dense = is_sparse.eq(0)
    with b.if_then(is_dense):
        accumulate(m, rows, panel, count, stride, dense)
    with b.if_then(is_sparse):
        sparse = Prefetch(address, share, GemmTuning.sparse_prefetch_bytes)
        accumulate(m, rows, panel, count, stride, sparse)


def split_into_streams(m: Microkernel, prefetch: Prefetch, share: LLVMValue, count: LLVMValue) -> Prefetch:
    """The prefetches of a row block, divided into one stream for each vector of the tile if there is only one row block.

    Memory serves several streams, each in pages of its own, faster than one.
    """
    b, line = m.b, m.b.constant(CACHE_LINE_BYTES, I64)
    is_only = share.eq(panel_row_bytes(m))
    bytes_per_term, line_stride = b.select(is_only, line, share), b.select(is_only, count * line, line)
    return replace(prefetch, bytes_per_term=bytes_per_term, line_stride=line_stride)


def batch_output(
    m: Microkernel, y: OutputMatrix, size: Mapping[str, LLVMValue], outer: LLVMValue, inner: LLVMValue
) -> OutputMatrix:
    """The output of a batch item, with the epilogue's operands of that item; strides count elements of each tensor's type."""
    b, operands = m.b, list(y.operands)
    for i, operand in enumerate(y.operands):
        if operand.layout == "matrix":
            offset = outer * b.integer(f"o{i}_outer") + inner * b.integer(f"o{i}_inner")
            element = operand_type(m.epilogue, i).llvm_element
            operands[i] = replace(operand, address=b.gep(operand.address, offset, element))
    offset = outer * size["y_outer"] + inner * size["y_inner"]
    address = b.gep(y.address, offset, result_type(m.epilogue).llvm_element)
    return replace(y, address=address, operands=tuple(operands))
