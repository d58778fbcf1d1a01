"""Products of float64 matrices of any strides and batches: y = alpha * a @ b + beta * c.

for panel of columns of an item of the batch, for group of rows:        # a unit of work
    for block of k:
        copy the panel of B to scratch                                  # [k block, width]
        for tile of rows, then for each row left: y += a @ panel, in registers
        after the last block: alpha * y + beta * c
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import (
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
    float32_bits,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.floats.double_panels import copy_double_panel
from sardonyx._src.compile.kernels.gemm.floats.matmul import batch_strides, product_space
from sardonyx._src.compile.kernels.loops.batch_space import shift_view, unroll_leading_dims
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, i64, load_typed, store_vector
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div

DOUBLE = LLVMType("double")
MATRICES = ("a", "b", "y")
SIZES = (
    "rows",
    "columns",
    "k",
    "k_block",
    "groups",
    "panels",
    "inner",
    "a_row",
    "a_step",
    "b_row",
    "b_step",
    "y_row",
)
STRIDES = tuple(f"{name}_{axis}" for name in MATRICES for axis in ("outer", "inner"))
PARAMETERS = Parameters(*MATRICES, *SIZES, *STRIDES, "alpha")
ADDEND = Parameters("c", "c_row", "c_step", "beta")


@dataclass(frozen=True, slots=True)
class Addend:
    """beta * c: added to each matrix of the product; c: broadcast to [M, N]."""

    c: TensorView
    beta: float = 1.0


def double_gemm_steps(
    a: TensorView,
    b: TensorView,
    y: TensorView,
    target: Target,
    alpha: float = 1.0,
    addend: Addend | None = None,
) -> list[Step]:
    """y [..., M, N] = alpha * a [..., M, K] @ b [..., K, N] + addend, batches broadcast to the batch of y; rows of y are contiguous.

    One step if two dims describe the batch; otherwise a step for each index of the dims before the last two.
    """
    assert addend is None or y.rank == 2, f"y must be one matrix if there is an addend; got {y}"
    return [
        double_gemm_step(
            [shift_view(t, c) for t, c in zip((a, b, y), offsets, strict=True)], space, target, alpha, addend
        )
        for offsets, space in unroll_leading_dims(product_space(a, (b, 2), y, []), 3)
    ]


def double_gemm_step(
    tensors: list[TensorView], space: IterationSpace, target: Target, alpha: float, addend: Addend | None
) -> Step:
    """The step for two batch dims and one of rows."""
    (a, b, y), (outer, inner, rows) = tensors, space.shape
    (k, columns), items = b.shape[-2:], outer * inner
    groups, panels = ceil_div(rows, GemmTuning.double_panel_rows), ceil_div(columns, target.lanes)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        a=a, b=b, y=y,
        rows=rows, columns=columns, k=k, k_block=GemmTuning.double_k_block, groups=groups, panels=panels, inner=inner,
        a_row=space.stride(0, 2), a_step=a.strides[-1],
        b_row=b.strides[-2], b_step=b.strides[-1],
        y_row=space.stride(2, 2),
        alpha=float32_bits(alpha),
        **batch_strides([*MATRICES], space),
    )  # fmt: skip
    if addend is not None:
        c_row, c_step = (
            0 if dim == 1 else stride for dim, stride in zip(addend.c.shape, addend.c.strides, strict=True)
        )
        args += ADDEND.pack(c=addend.c, c_row=c_row, c_step=c_step, beta=float32_bits(addend.beta))
    module = partial(double_gemm_module, has_addend=addend is not None)
    return Step(
        Kernel(f"double_gemm{'_c' * (addend is not None)}", module, parameters(addend is not None)),
        args,
        items * groups * panels,
        (a, b, *(() if addend is None else (addend.c,))),
        (y,),
        flops=2 * items * rows * columns * k,
        scratch=GemmTuning.double_k_block * target.lanes * 8,
    )


def parameters(has_addend: bool) -> Parameters:
    return PARAMETERS + ADDEND if has_addend else PARAMETERS


# --- the kernel ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DoublePanel:
    """A panel of columns of a unit of work, during one block of k.

    size: the integer arguments by name.
    a, y: addresses of the matrices of the batch item.
    column, mask: the first column, and the mask of the columns that exist.
    first, count: the first term of the block of k, and the number of its terms.
    """

    b: KernelBuilder
    size: dict[str, LLVMValue]
    a: str
    y: str
    column: LLVMValue
    mask: LLVMValue
    first: LLVMValue
    count: LLVMValue
    has_addend: bool

    @property
    def vector(self) -> LLVMType:
        return LLVMType("double", self.b.target.lanes)


def double_gemm_module(name: str, target: Target, has_addend: bool) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, parameters(has_addend))
    a, matrix, y = b.pointers(*MATRICES)
    size = {name: b.integer(name) for name in (*SIZES, *STRIDES)}
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        column_unit, group = b.udivmod(unit, size["groups"])
        item, panel = b.udivmod(column_unit, size["panels"])
        outer, inner = b.udivmod(item, size["inner"])
        offsets = [outer * size[f"{n}_outer"] + inner * size[f"{n}_inner"] for n in MATRICES]
        item_a, item_b, item_y = (b.gep(p, o, "double") for p, o in zip((a, matrix, y), offsets, strict=True))
        column, first_row = panel * target.lanes, group * GemmTuning.double_panel_rows
        columns = size["columns"] - column
        end_row = b.min(first_row + GemmTuning.double_panel_rows, size["rows"])
        block = size["k_block"]
        last = b.select(size["k"] > 0, size["k"], i64(b, 1))  # a block of no terms stores zeros
        with b.loop(i64(b, 0), last + block - 1, block, name="term") as first:
            count = b.min(size["k"] - first, block)
            source = b.gep(item_b, first * size["b_row"] + column * size["b_step"], "double")
            copy_double_panel(b, source, (size["b_row"], size["b_step"]), count, columns)
            mask = first_lanes(b, columns, target.lanes)
            tile = DoublePanel(b, size, item_a, item_y, column, mask, first, count, has_addend)
            with b.loop(first_row, end_row, GemmTuning.double_group_rows, name="row") as row:
                multiply_rows(tile, row, GemmTuning.double_group_rows)
            with b.loop(row, end_row, name="row") as single:
                multiply_rows(tile, single, 1)
    return b.build_module(name)


def multiply_rows(tile: DoublePanel, row: LLVMValue, rows: int) -> None:
    """Adds the terms of the block to some rows of y, from zero in the first block, and finishes them after the last."""
    b, size, vector = tile.b, tile.size, tile.vector
    sums = [b.new_slot("sum", vector) for _ in range(rows)]
    results = [b.gep(tile.y, (row + i) * size["y_row"] + tile.column, "double") for i in range(rows)]
    for total in sums:
        b.store(total, b.constant(0.0, vector))
    starts = [
        b.gep(tile.a, (row + i) * size["a_row"] + tile.first * size["a_step"], "double") for i in range(rows)
    ]
    with b.loop(i64(b, 0), tile.count, name="term") as term:
        weights = b.load(MemoryLocation(b.gep(b.scratch, term * vector.lanes, "double"), vector))
        for start, total in zip(starts, sums, strict=True):
            factor = b.load(MemoryLocation(b.gep(start, term * size["a_step"], "double"), DOUBLE))
            b.store(total, b.fma(b.splat(factor, vector.lanes), weights, b.load(total)))
    with b.if_then(tile.first > 0):
        for result, total in zip(results, sums, strict=True):
            b.store(total, load_typed(b, vector, result, tile.mask) + b.load(total))
    with b.if_then(tile.first + tile.count >= size["k"]):
        for i, total in enumerate(sums):
            b.store(total, finish(tile, row + i, b.load(total)))
    for result, total in zip(results, sums, strict=True):
        store_vector(b, b.load(total), result, tile.mask)


def finish(tile: DoublePanel, row: LLVMValue, total: LLVMValue) -> LLVMValue:
    """alpha * total + beta * c, each product rounded as the reference kernel does."""
    b, vector = tile.b, tile.vector
    scaled = total * load_factor(b, "alpha")
    if not tile.has_addend:
        return scaled
    c, c_row, c_step = b.pointer("c"), b.integer("c_row"), b.integer("c_step")
    line = b.gep(c, row * c_row + tile.column * c_step, "double")
    addend, is_row = b.new_slot("addend", vector), c_step.ne(0)
    with b.if_then(is_row):
        b.store(addend, load_typed(b, vector, line, tile.mask))
    with b.if_then(is_row.eq(0)):
        b.store(addend, b.splat(b.load(MemoryLocation(line, DOUBLE)), vector.lanes))
    return scaled + load_factor(b, "beta") * b.load(addend)


def load_factor(b: KernelBuilder, name: str) -> LLVMValue:
    """A float32 argument in every lane."""
    return b.splat(b.float32(name).convert("fpext", "double"), b.target.lanes)
