"""Steps of a batched float32 GEMM, y = epilogue(a @ b + bias), with a packed right operand.

Chooses the kernel's specialization, collapses the batch and the rows of A into at most three loop axes, and divides the
rows into units of work: a unit is a group of rows by one panel of B.  If threads should divide the rows and not the panels
(`executor.scheduling`), a group is half a register tile.  The loop nest is in `loop_nest.py`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen.element_types import HALF_TYPES, LLVM_ELEMENTS
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.loop_nest import matmul_module, matmul_parameters, matrix_names
from sardonyx._src.compile.kernels.gemm.floats.low_rank import LOW_RANK, LowRankUpdate
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.packing.promoted_panels import scratch_bytes
from sardonyx._src.compile.kernels.gemm.tile.accumulators import FLOAT32_ARITHMETIC
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import rows_per_unit
from sardonyx._src.compile.kernels.loops.batch_space import (
    batch_space,
    broadcast_stride,
    shift_view,
    unroll_leading_dims,
)
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, coalesce, drop_unit_dims
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.step import RowGroups
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min


def matmul_steps(
    a: TensorView,
    b: Panels,
    y: TensorView,
    *,
    bias: TensorView | None = None,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    update: LowRankUpdate | None = None,
    k_block: int | None = None,
) -> list[Step]:
    """y [..., M, N] = epilogue(a [..., M, K] @ b [..., K, N] + bias), with batches broadcast to the batch of y.

    a has any strides; rows of y and of the epilogue's matrices are contiguous.
    bias: [panels, width], from `packing.pack_bias`.
    operands: the operands of the epilogue; a matrix is broadcast to y in all dims but the last.
    update: a low-rank product that is added; there must be no bias then, and b must have no batch.
    k_block: the most terms of a block that is summed from zero, at most `GemmTuning.k_block`, the default.
    One step if two dims describe the batch; otherwise a step for each index of the dims before the last two.
    """
    epilogue = epilogue or Epilogue()
    assert update is None or (bias is None and b.tensor.rank == 3), (
        "with an update, bias and batch of b must be none"
    )
    matrices = epilogue_matrices(y, epilogue, operands)
    matrices += [] if update is None else [update.a]
    return [
        matmul_step([a, b.tensor, y, *matrices], offsets, space, b, bias, epilogue, operands, update, k_block)
        for offsets, space in unroll_leading_dims(product_space(a, (b.tensor, 3), y, matrices), 3)
    ]


def epilogue_matrices(
    y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> list[TensorView]:
    """The matrix operands of an epilogue, after a check that their rows, and those of y, are contiguous."""
    matrices = [o for layout, o in zip(epilogue.operand_layouts, operands, strict=True) if layout == "matrix"]
    for matrix in (y, *matrices):
        is_dense = matrix.strides[-1] == 1 or matrix.shape[-1] == 1
        assert matrix.shape[-1] == y.shape[-1] and is_dense, (
            f"rows of {matrix} must be contiguous, as long as those of {y}"
        )
    return matrices


def product_space(
    a: TensorView, b: tuple[TensorView, int], y: TensorView, matrices: list[TensorView]
) -> IterationSpace:
    """The coalesced dims of the batch and, last, the dim of the rows, along which the stride of B is 0.

    The operands are a, b, y and the matrices.  b: the operand, and the number of its dims after the batch.
    """
    batch = batch_space(y.shape[:-2], ((a, 2), b, (y, 2), *((m, 2) for m in matrices)))
    row_strides = [broadcast_stride(tensor, 2) for tensor in (a, y, *matrices)]
    row_strides.insert(1, 0)
    space = coalesce(drop_unit_dims(batch.append_dim(y.shape[-2], row_strides)))
    return space if space.rank and space.stride(1, -1) == 0 else space.append_dim(1, [0] * len(row_strides))


def matmul_step(
    tensors: list[TensorView],
    offsets: tuple[Known, ...],
    space: IterationSpace,
    b: Panels,
    bias: TensorView | None,
    epilogue: Epilogue,
    operands: tuple[TensorView, ...],
    update: LowRankUpdate | None = None,
    k_block: int | None = None,
) -> Step:
    """The step for two batch dims and one of rows; offsets: those of the tensors' first elements from their views."""
    a, panels, y, *matrices = (shift_view(t, c) for t, c in zip(tensors, offsets, strict=True))
    outer, inner, rows = space.shape
    k, columns, items = b.k, b.columns, outer * inner
    divides_rows = prefers_rows(b, rows) if items == 1 else 0
    half_tile, coarse = (b.tile.rows + 1) // 2, rows_per_unit(rows, b.tile.rows, GemmTuning.unit_rows)
    unit_rows = coarse + divides_rows * (half_tile - coarse)
    units_per_panel = ceil_div(rows, unit_rows)
    biases = {} if bias is None else {"bias": bias}
    a_step = a.strides[-1] if a.shape[-1] != 1 else 1
    names = matrix_names(epilogue) + ([] if update is None else [LOW_RANK])
    updates = {} if update is None else update.arguments()
    matrix_args = dict(zip(names, matrices, strict=True))
    row_strides = {f"{name}_row_stride": s[2] for name, s in zip(names, space.strides[3:], strict=True)}
    args: tuple[KernelArgument, ...] = matmul_parameters(
        epilogue, has_bias=bias is not None, has_update=update is not None
    ).pack(
        a=a,
        b=panels,
        **biases,
        rows=rows,
        columns=columns,
        k=k,
        panels=b.num_panels,
        group_rows=unit_rows,
        groups=units_per_panel,
        k_block=dim_max(k, 1) if b.tile.amx_words or b.tile.has_pairs else k_block or GemmTuning.k_block,
        inner=inner,
        chunk_rows=rows_in_cache(b, rows, unit=1),
        a_row=space.stride(0, 2),
        a_step=a_step,
        y=y,
        y_row_stride=space.stride(2, 2),
        **({f"o{i}": operand for i, operand in enumerate(operands)} | updates | matrix_args | row_strides),
        **batch_strides(["a", "b", "y", *names], space),
    )
    return Step(
        kernel=matmul_kernel(
            b.tile.vectors,
            epilogue,
            panels.dtype,
            has_bias=bias is not None,
            has_strided_a=a_step != 1,
            is_large=is_large(b),
            has_update=update is not None,
        ),
        args=args,
        units=items * b.num_panels * units_per_panel,
        reads=(
            a,
            panels,
            *biases.values(),
            *operands,
            *(() if update is None else (update.a, update.b.tensor)),
        ),
        writes=(y,),
        flops=items * rows * columns * k * 2,
        bytes_accessed=((rows * k + rows * columns) * 4 + k * columns * element_bytes(panels.dtype)) * items,
        scratch=scratch_bytes(b.tile.width, is_half=panels.dtype in HALF_TYPES),
        row_groups=None
        if divides_rows == 0
        else RowGroups(units_per_panel * divides_rows, rows_in_cache(b, rows, unit=half_tile)),
    )


def batch_strides(names: list[str], space: IterationSpace) -> dict[str, Known]:
    """The arguments for the strides of tensors along the batch dims."""
    outer_strides = {f"{name}_outer": strides[0] for name, strides in zip(names, space.strides, strict=True)}
    inner_strides = {f"{name}_inner": strides[1] for name, strides in zip(names, space.strides, strict=True)}
    return outer_strides | inner_strides


def prefers_rows(b: Panels, rows: Known) -> Known:
    """1 if threads should divide the rows of a product, 0 if its columns.

    If threads divide the rows, each reads all of B.  If they divide the columns, each reads all of A, most of which other
    threads have written.  The former is cheaper for a constant B that stays in a level-2 cache, and for a large A.
    """
    if b.tensor.buffer.role == "constant" and not is_large(b):
        return 1
    return dim_min(1, rows * GemmTuning.shared_row_cost // dim_max(b.columns, 1))


def rows_in_cache(b: Panels, rows: Known, *, unit: int) -> int | CachedCount:
    """The most rows, counted in units of some, by which all panels are multiplied before the next rows.

    After each chunk a large B is read again, from memory.  So a chunk has as many rows as stay in a thread's share of the last
    cache.  A panel has `width` columns: with fewer than `width` rows, reading B again would take more bytes than reading
    other rows of A for each panel; with twice as many, it takes half of them.
    """
    most, k = GemmTuning.max_rows // unit, b.k
    least = -(-2 * b.tile.width // unit)
    is_single = isinstance(rows, int) and rows <= least * unit
    if not is_large(b) or not isinstance(k, int) or k == 0 or is_single:
        return most
    panel = min(k, GemmTuning.k_block) * b.tile.width * 4
    return CachedCount("last", unit * k * 4, panel, least, most, most)


def is_large(b: Panels) -> bool:
    """Whether B is assumed to be in memory: a large constant.  A computed B is in a cache, since it was just written."""
    size = b.tensor.nbytes
    return b.tensor.buffer.role == "constant" and isinstance(size, int) and size >= GemmTuning.large_bytes


def matmul_kernel(
    vectors: int,
    epilogue: Epilogue,
    dtype: DataType,
    *,
    has_bias: bool,
    has_strided_a: bool,
    is_large: bool,
    has_update: bool = False,
) -> Kernel:
    """The kernel specialized on the panel's width and element type `dtype`, the epilogue, a bias, a strided A, a large B and an update."""
    half = LLVM_ELEMENTS[dtype] if dtype in HALF_TYPES else None
    key_parts = [
        "matmul_f32",
        str(vectors),
        *(["bias"] if has_bias else []),
        *(["strided"] if has_strided_a else []),
        *(["large"] if is_large else []),
        *(["update"] if has_update else []),
        *([] if half is None else [half]),
    ]
    source = partial(
        matmul_module,
        vectors=vectors,
        epilogue=epilogue,
        arithmetic=replace(FLOAT32_ARITHMETIC, half_type=half),
        has_bias=has_bias,
        has_strided_a=has_strided_a,
        is_large=is_large,
        has_update=has_update,
    )
    parameters = matmul_parameters(epilogue, has_bias=has_bias, has_update=has_update)
    return Kernel(f"{'_'.join(key_parts)}:{epilogue.key}", source, parameters)
