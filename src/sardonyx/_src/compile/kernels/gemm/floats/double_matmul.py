"""Products of float64 rows and a small constant matrix: y[r, n] = bias[n] + sum over k of x[r, k] * w[k, n].

Loop nest: units of work (blocks of rows) -> panels of columns -> groups of rows -> k, with a vector accumulator for each
row of a group.  A group at the end of a block repeats the block's last row.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div

DOUBLE = LLVMType("double")
MAX_LANES = 8  # lanes of a panel, a vector of doubles with AVX-512; narrower targets use several registers
PARAMETERS = Parameters("x", "y", "panels", "rows", "terms", "columns")


@dataclass(frozen=True, slots=True)
class DoubleProduct:
    """The constants of a product.  matrix: [K, N] float64; bias: [N] float64."""

    matrix: Array
    bias: Array


def double_matmul_step(x: TensorView, product: DoubleProduct, y: TensorView) -> Step:
    """The step of y [rows, N] = x [rows, K] @ matrix + bias, all float64 and dense."""
    terms, columns = product.matrix.shape
    lanes = MAX_LANES if columns > MAX_LANES // 2 else MAX_LANES // 2
    panels = make_constant(pack_panels(product, lanes), "panels")
    kernel = Kernel(f"double_matmul_{lanes}", partial(double_matmul_module, lanes=lanes), PARAMETERS)
    rows = x.shape[0]
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, y=y, panels=panels, rows=rows, terms=terms, columns=columns
    )
    return Step(
        kernel,
        args,
        ceil_div(rows, GemmTuning.double_unit_rows),
        (x, panels),
        (y,),
        flops=2 * rows * terms * columns,
    )


def pack_panels(product: DoubleProduct, lanes: int) -> Array:
    """The bias and the rows of the matrix in panels of `lanes` columns, the last one padded: [panels, K + 1, lanes]."""
    stacked = np.vstack([product.bias[np.newaxis], product.matrix])
    padded = np.pad(stacked, ((0, 0), (0, -stacked.shape[1] % lanes)))
    return padded.reshape(len(stacked), -1, lanes).transpose(1, 0, 2)


def double_matmul_module(name: str, target: Target, lanes: int) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, y, panels = b.pointers("x", "y", "panels")
    rows, terms, columns = b.integers("rows", "terms", "columns")
    zero = b.constant(0, I64)
    with b.loop(b.first_unit, b.end_unit, name="block") as block:
        end = b.min(block * GemmTuning.double_unit_rows + GemmTuning.double_unit_rows, rows)
        with (
            b.loop(zero, columns + (lanes - 1), lanes, name="column") as column,
            b.loop(
                block * GemmTuning.double_unit_rows,
                end + (GemmTuning.double_group_rows - 1),
                GemmTuning.double_group_rows,
                name="row",
            ) as row,
        ):
            group = [b.min(row + i, end - 1) for i in range(GemmTuning.double_group_rows)]
            panel = column * (terms + 1)
            sums = accumulate(b, x, panels, group, panel, terms, lanes)
            mask = b.lane_mask(columns - column, lanes)
            for each, total in zip(group, sums, strict=True):
                slot = MemoryLocation(b.gep(y, each * columns + column, "double"), total.type)
                b.masked_store(mask, slot, b.load(total))
    return b.build_module(name)


def accumulate(
    b: KernelBuilder,
    x: str,
    panels: str,
    group: list[LLVMValue],
    panel: LLVMValue,
    terms: LLVMValue,
    lanes: int,
) -> list[MemoryLocation]:
    """The sums of a group of rows for one panel, which begins with the bias."""
    vector = LLVMType("double", lanes)
    sums = [b.new_slot("sum", vector) for _ in group]
    start = b.load(MemoryLocation(b.gep(panels, panel, "double"), vector))
    for total in sums:
        b.store(total, start)
    with b.loop(b.constant(0, I64), terms, name="term") as term:
        weights = b.load(MemoryLocation(b.gep(panels, panel + (term + 1) * lanes, "double"), vector))
        for row, total in zip(group, sums, strict=True):
            factor = b.load(MemoryLocation(b.gep(x, row * terms + term, "double"), DOUBLE))
            b.store(total, b.fma(b.splat(factor, lanes), weights, b.load(total)))
    return sums
