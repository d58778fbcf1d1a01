"""EyeLike kernel: zeros, with ones on a diagonal."""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import LLVMType, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, emit_fill
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import ceil_div, dim_max

PARAMETERS = Parameters("y", "rows", "columns", "diagonal", "unit_rows")


def identity_matrix_step(y: TensorView, diagonal: int) -> Step:
    """The step that sets y[i, i + diagonal] to 1 and all other elements to 0; y: [rows, columns], dense.

    Elements have whole bytes.  The bits of the number 1 are part of the kernel: they distinguish types of one width.
    """
    rows, columns = y.shape
    width = element_bytes(y.dtype)
    one_bits = int(np.ones(1, y.dtype.numpy).view(f"u{width}")[0])
    unit_rows = dim_max(1, ReductionTuning.row_unit_elements // dim_max(columns, 1))
    element = LLVMType(INTEGERS_BY_WIDTH[width])
    return Step(
        Kernel(
            f"identity_matrix_{element}_{one_bits:x}",
            partial(identity_matrix_module, element=element, one_bits=one_bits),
            PARAMETERS,
        ),
        PARAMETERS.pack(y=y, rows=rows, columns=columns, diagonal=diagonal, unit_rows=unit_rows),
        ceil_div(rows, unit_rows),
        (),
        (y,),
        bytes_accessed=y.nbytes,
    )


def identity_matrix_module(name: str, target: Target, element: LLVMType, one_bits: int) -> str:
    b = KernelBuilder(target, PARAMETERS)
    y = b.pointer("y")
    rows, columns, diagonal, unit_rows = b.integers("rows", "columns", "diagonal", "unit_rows")
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * unit_rows
        with b.loop(first, b.min(first + unit_rows, rows), name="row") as row:
            base, column = b.gep(y, row * columns, element.element), row + diagonal
            emit_fill(b, b.constant(0, element), base, columns)
            with b.if_then((column >= 0) & (column < columns)):
                store_at(b, base, column, b.constant(one_bits, element))
    return b.build_module(name)
