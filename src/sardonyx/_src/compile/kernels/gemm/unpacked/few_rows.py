"""Products of few rows by a matrix that a run computes: y [M, N] = epilogue(a [M, K] @ b [K, N]), with B read in place.

    for columns of B, as many as the tile is wide:             # a unit of work
        the rows times the columns                             # `panel_rows.py`

Packing pays off when many rows use a panel.  Here only one or two tiles of rows use it, as in the gradients of low-rank
weights, so the microkernel reads rows of B in memory as they are.  Rows of B are far apart, and hardware prefetchers do not
follow strides across pages, so later rows are prefetched by instructions.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import PanelRows, emit_rows
from sardonyx._src.compile.kernels.gemm.packing.promoted_panels import scratch_bytes
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    make_microkernel,
)
from sardonyx._src.compile.kernels.gemm.tile.output import (
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import divide_evenly
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

SIZES = ("rows", "columns", "k", "a_row", "a_step", "b_row")


def reads_in_place(a: TensorView, b: TensorView, target: Target) -> bool:
    """Whether `few_rows_step` supports a product, and is faster than one with a packed B: few rows, and whole tiles of columns."""
    if a.rank != 2 or b.rank != 2 or b.strides[1] != 1 or b.dtype is not DataType.FLOAT:
        return False
    (rows, _), (_, columns) = a.shape, b.shape
    if not isinstance(rows, int) or not isinstance(columns, int):
        return False
    is_wide = columns >= GemmTuning.min_columns_in_place
    return rows <= GemmTuning.max_rows_in_place and is_wide and choose_tile(rows, columns, target) is not None


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
        scratch=scratch_bytes(tile.width, is_half=False),
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
    k_blocks = divide_evenly(b, size["k"], b.constant(GemmTuning.k_block, I64))
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        column = unit * m.tile.width
        rows = PanelRows(
            a=a,
            a_row=size["a_row"],
            a_step=size["a_step"] if has_strided_a else None,
            panel=b.gep(matrix, column),
            panel_step=size["b_row"],
            k=size["k"],
            output=output,
            first_row=b.constant(0, I64),
            num_rows=size["rows"],
            column=column,
            end_column=size["columns"],
        )
        emit_rows(m, rows, k_blocks, is_large=False)
    return b.build_module(name)
