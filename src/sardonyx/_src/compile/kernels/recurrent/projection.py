"""Projection kernel: the input projections of recurrent layers in float64, y = x @ weights + bias.

Loop nest: units of work (rows) -> tiles of rows and blocks of columns -> k.  Layers of float32 use a GEMM instead.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, Element, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import full_vector_type
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.kernels.recurrent.packed_weights import Factors, PackedProduct, strided_rows
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import ceil_div

PARAMETERS = Parameters("x", "weights", "bias", "y", "rows", "columns", "k")
ELEMENT: Element = "double"


def projection_step(x: TensorView, weights: TensorView, bias: TensorView, y: TensorView) -> Step:
    """x: [rows, k].  weights: packed, of one gate.  bias: [columns].  y: [rows, columns].  All float64 and dense."""
    (rows, k), columns = x.shape, y.shape[1]
    kernel = Kernel("recurrent_projection_double", projection_module, PARAMETERS)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, weights=weights, bias=bias, y=y, rows=rows, columns=columns, k=k
    )
    return Step(
        kernel,
        args,
        ceil_div(rows, RecurrenceTuning.projected_rows),
        (x, weights, bias),
        (y,),
        flops=rows * columns * k * 4,  # half as many lanes as float32
        bytes_accessed=x.nbytes + y.nbytes + weights.nbytes,
        scratch=RecurrenceTuning.projected_rows * (columns + RecurrenceTuning.max_lanes) * 8,
    )


def projection_module(name: str, target: Target) -> str:
    b, unit_rows = KernelBuilder(target, PARAMETERS), RecurrenceTuning.projected_rows
    x, weights, bias, y = b.pointers("x", "weights", "bias", "y")
    rows, columns, k = b.integers("rows", "columns", "k")
    vector_type = full_vector_type(target, ELEMENT)
    blocks = b.udiv(columns + (vector_type.lanes - 1), vector_type.lanes)
    padded = blocks * vector_type.lanes
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * unit_rows
        count = b.min(rows - first, unit_rows)
        source = b.gep(x, first * k, ELEMENT)
        factors = Factors(weights, k, strided_rows(b, vector_type, source, k))
        zero = b.constant(0, I64)
        PackedProduct(b, vector_type, (factors,), 1, blocks, b.scratch, padded, zero).emit_rows(count)
        with b.loop(b.constant(0, I64), count, name="row") as row:
            sums, target_row = (
                b.gep(b.scratch, row * padded, ELEMENT),
                b.gep(y, (first + row) * columns, ELEMENT),
            )
            for index, mask in loop_vectors(b, 0, columns, vector_type.lanes):
                value = load_vector_at(b, sums, index, vector_type)
                value = value + load_vector_at(b, bias, index, vector_type, mask)
                store_at(b, target_row, index, value, mask)
    return b.build_module(name)
