"""Products of few rows by a matrix that a run computes: y [M, N] = epilogue(a [M, K] @ b [K, N]), with B read in place.

    for columns of B, as many as the tile is wide:             # a unit of work
        for row_block in rows by MR:
            for k_block in K by KC: microkernel over k_block, from zero; add the sums of the blocks before
            apply the epilogue and store

Packing pays off when many rows use a panel.  Here only one or two tiles of rows use it, as in the gradients of low-rank
weights, so the microkernel reads rows of B in memory as they are.  Rows of B are far apart, and hardware prefetchers do not
follow strides across pages, so later rows are prefetched by instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    Microkernel,
    accumulate,
    add_partial_sums,
    init_accumulators,
    make_microkernel,
    spill_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamp_row, dispatch_tile
from sardonyx._src.compile.kernels.gemm.tile.output import (
    TileStore,
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import divide_evenly, loop_row_blocks
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

PAGE_FLOATS = 1024  # of 4 KB, a way of most level-1 caches
SIZES = ("rows", "columns", "k", "a_row", "a_step", "b_row")


def reads_in_place(a: TensorView, b: TensorView, target: Target) -> bool:
    """Whether `few_rows_step` supports a product, and is faster than one with a packed B: few rows, and whole tiles of columns."""
    if a.rank != 2 or b.rank != 2 or b.strides[1] != 1 or b.dtype is not DataType.FLOAT:
        return False
    (rows, _), (_, columns) = a.shape, b.shape
    if not isinstance(rows, int) or not isinstance(columns, int):
        return False
    is_few = rows <= tuning_for(target).gemm.max_rows_in_place
    tile = (
        choose_tile(rows, columns, target) if is_few and columns >= GemmTuning.min_columns_in_place else None
    )
    return tile is not None and not evicts_lines(b, rows, tile)


def evicts_lines(b: TensorView, rows: int, tile: RegisterTile) -> bool:
    """Whether the columns of a tile evict each other before the next block of rows reads them.

    So do those of one cache line if rows of B are whole pages apart: all their lines are in one set of the level-1 cache.
    """
    stride = b.strides[0]
    is_narrow = tile.width <= CACHE_LINE_FLOATS
    return is_narrow and rows > tile.rows and isinstance(stride, int) and stride % PAGE_FLOATS == 0


def choose_tile(rows: int, columns: int, target: Target) -> RegisterTile | None:
    """The tile for `rows` rows, among those with a width that divides the columns; None if there is none.

    It is the tile with the fewest blocks of rows, and the widest one among equals.
    """
    tiles = [make_tile(vectors, target) for vectors in tuning_for(target).gemm.tile_rows]
    fitting = [tile for tile in tiles if tile.vectors > 1 and columns % tile.width == 0]
    return min(fitting, key=lambda tile: (-(-rows // tile.rows), -tile.width), default=None)


def few_rows_step(
    a: TensorView,
    b: TensorView,
    y: TensorView,
    target: Target,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y = epilogue(a @ b), for operands that `reads_in_place` accepts; a has any strides, rows of y are contiguous."""
    epilogue = epilogue or Epilogue()
    (rows, k), columns = a.shape, b.shape[1]
    assert isinstance(rows, int) and isinstance(columns, int), "the sizes must be known"
    tile = choose_tile(rows, columns, target)
    assert tile is not None, f"no tile divides {columns} columns"
    has_strided_a = a.strides[1] != 1
    parameters = few_rows_parameters(epilogue)
    args: tuple[KernelArgument, ...] = parameters.pack(
        a=a,
        b=b,
        rows=rows,
        columns=columns,
        k=k,
        a_row=a.strides[0],
        a_step=a.strides[1],
        b_row=b.strides[0],
        **output_arguments(y, epilogue, operands),
    )
    module = partial(few_rows_module, vectors=tile.vectors, epilogue=epilogue, has_strided_a=has_strided_a)
    key = f"few_rows_f32_{tile.vectors}{'_strided' * has_strided_a}:{epilogue.key}"
    return Step(
        Kernel(key, module, parameters),
        args,
        ceil_div(columns, tile.width),
        (a, b, *operands),
        (y,),
        flops=2 * rows * columns * k,
        bytes_accessed=a.nbytes + b.nbytes + y.nbytes,
    )


def few_rows_parameters(epilogue: Epilogue) -> Parameters:
    return Parameters("a", "b", *SIZES) + output_parameters(epilogue)


def few_rows_module(
    name: str, target: Target, vectors: int, epilogue: Epilogue, *, has_strided_a: bool
) -> str:
    """The LLVM module of the kernel; a unit of work is as many columns as the tile is wide."""
    b = KernelBuilder(target, few_rows_parameters(epilogue))
    m = make_microkernel(b, make_tile(vectors, target), epilogue, FLOAT32_ARITHMETIC)
    a, matrix = b.pointers("a", "b")
    size = {name: b.integer(name) for name in SIZES}
    output = load_output_matrix(b, epilogue)
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        column = unit * m.tile.width
        columns = b.gep(matrix, column)
        with loop_row_blocks(m, size["rows"]) as block:
            store = TileStore(output, block.first_row, column, size["columns"])
            for rows in dispatch_tile(m, block.num_rows, store):
                numbers = [block.first_row + clamp_row(b, r, block.num_rows) for r in range(rows)]
                addresses = [b.gep(a, number * size["a_row"]) for number in numbers]
                accumulate_blocks(m, addresses, columns, size, has_strided_a=has_strided_a)
    return b.build_module(name)


def accumulate_blocks(
    m: Microkernel, rows: Sequence[str], columns: str, size: Mapping[str, LLVMValue], *, has_strided_a: bool
) -> None:
    """The sums of some rows, in the same blocks of k as in `panel_rows.py`, so that both yield the same bits."""
    b, stride = m.b, size["a_step"] if has_strided_a else None
    k_block, num_blocks = divide_evenly(b, size["k"], b.constant(GemmTuning.k_block, I64))
    with b.loop(b.constant(0, I64), num_blocks, 1, "k_block") as i:
        first = i * k_block
        starts = [b.gep(row, first if stride is None else first * stride) for row in rows]
        init_accumulators(m, len(rows))
        panel, count = b.gep(columns, first * size["b_row"]), b.min(k_block, size["k"] - first)
        accumulate(m, starts, panel, count, stride, row_stride=size["b_row"])
        with b.if_then(first.ne(0)):
            add_partial_sums(m, len(rows), m.spill)
        with b.if_then(i + 1 < num_blocks):
            spill_accumulators(m, len(rows), m.spill)
