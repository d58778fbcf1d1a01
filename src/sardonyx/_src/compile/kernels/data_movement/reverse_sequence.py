"""ReverseSequence kernel: reverses the first elements of each sequence of a batch, and copies the others unchanged.

Loop nest: units of work (rows, one for each position of each sequence) -> copy of a row.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import byte_pointer, emit_memcpy
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import ceil_div, dim_max, dim_product

PARAMETERS = Parameters("x", "y", "lengths", "status", "rows", "unit_rows", "row_bytes", "length", "batch")


def reverse_sequence_step(
    x: TensorView, lengths: TensorView, y: TensorView, status: TensorView, time_axis: int
) -> Step:
    """The step for x, y [time, batch, ...], or [batch, time, ...] for time axis 1, dense, and lengths [batch] int64.

    A length that is out of range is reported in `status`, and its sequence is copied unchanged.
    """
    length, batch = x.shape[time_axis], x.shape[1 - time_axis]
    row_bytes = dim_product(x.shape[2:]) * element_bytes(x.dtype)
    unit_rows = dim_max(1, DataMovementTuning.indexed_unit_bytes // dim_max(row_bytes, 1))
    module = partial(reverse_sequence_module, time_axis=time_axis)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        lengths=lengths,
        status=status,
        rows=length * batch,
        unit_rows=unit_rows,
        row_bytes=row_bytes,
        length=length,
        batch=batch,
    )
    return Step(
        Kernel(f"reverse_sequence_{time_axis}", module, PARAMETERS),
        args,
        ceil_div(length * batch, unit_rows),
        (x, lengths),
        (y, status),
        bytes_accessed=2 * x.nbytes,
    )


def reverse_sequence_module(name: str, target: Target, time_axis: int) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, y, lengths, status = b.pointers("x", "y", "lengths", "status")
    rows, unit_rows, row_bytes, length, batch = b.integers(
        "rows", "unit_rows", "row_bytes", "length", "batch"
    )
    with b.loop(*unit_row_range(b, rows, unit_rows), name="row") as row:
        outer, inner = b.udivmod(row, length if time_axis else batch)
        time, sequence = (inner, outer) if time_axis else (outer, inner)
        count = b.load(MemoryLocation(b.gep(lengths, sequence, "i64"), I64))
        with b.if_then((count < 0) | (count > length)):
            b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
        is_reversed = (time < count) & (count <= length)
        source = b.select(is_reversed, count - 1 - time, time)
        source_row = sequence * length + source if time_axis else source * batch + sequence
        emit_memcpy(
            b, byte_pointer(b, x, source_row * row_bytes), byte_pointer(b, y, row * row_bytes), row_bytes
        )
    return b.build_module(name)
