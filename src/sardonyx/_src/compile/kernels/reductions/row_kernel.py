"""Kernels of passes over rows of any strides: units of work (a range of rows) -> rows -> passes (`row_passes`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sardonyx._src.compile.codegen import Element, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
    load_operands,
)
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.loops.rows import num_units, row_arguments, summed_vector_type
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.reductions.row_passes import Emit, Row, Stages, reduce_row, write_row
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class RowKernel:
    """The passes of a kernel, and its operands by name.

    key: of the passes and operands, for the cache.  rows: tensors of rows of contiguous elements, y among them.
    columns: tensors of one such row.  statistics: results of stages, stored in tensors of one element for each row.
    numbers: float32 parameters, as bits.  operations: for each element, about.
    """

    key: str
    stages: Stages
    result: Emit
    operations: int
    rows: tuple[str, ...] = ("x", "y")
    columns: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    epilogue: Epilogue = NO_EPILOGUE
    element: Element = "float"
    padding: float = 0

    @property
    def tensors(self) -> tuple[str, ...]:
        return (*self.rows, *self.columns, *self.statistics)

    @property
    def parameters(self) -> Parameters:
        operands = Parameters(*self.tensors) + epilogue_parameters(self.epilogue)
        return operands + Parameters(*self.numbers, "rows", "unit_rows", "n", "dims*")


def row_kernel_step(
    kernel: RowKernel,
    tensors: Mapping[str, TensorView],
    rows: IterationSpace,
    n: Known,
    *,
    numbers: Mapping[str, Known] | None = None,
    epilogue_operands: tuple[TensorView, ...] = (),
    in_place: bool = False,
) -> Step:
    """rows: the space of the rows, of n elements each, with the kernel's tensors of rows as operands."""
    rows, parameters = row_space(rows, by=1), kernel.parameters
    args: tuple[KernelArgument, ...] = parameters.pack(
        **tensors,
        **epilogue_arguments(kernel.epilogue, epilogue_operands),
        **(numbers or {}),
        **row_arguments(rows, n),
    )
    stored = {reduction.stored for stage in kernel.stages for reduction in stage}
    written = [name for name in kernel.tensors if name == "y" or name in {*stored, *kernel.statistics}]
    return Step(
        Kernel(
            f"{kernel.key}_{rows.rank}",
            partial(row_kernel_module, kernel=kernel, rank=rows.rank),
            parameters,
        ),
        args,
        num_units(rows.size, n),
        (*(tensors[name] for name in kernel.tensors if name not in written), *epilogue_operands),
        tuple(tensors[name] for name in written),
        flops=tensors["x"].num_elements * kernel.operations,
        bytes_accessed=sum(tensors[name].nbytes for name in kernel.rows),
        in_place=in_place,
    )


def row_kernel_module(name: str, target: Target, kernel: RowKernel, rank: int) -> str:
    b, vector_type = KernelBuilder(target, kernel.parameters), summed_vector_type(target, kernel.element)
    bases = {tensor: b.pointer(tensor) for tensor in kernel.tensors}
    operands = load_operands(b, kernel.epilogue)
    numbers = {number: b.float32(number) for number in kernel.numbers}
    rows, unit_rows, n = b.integers("rows", "unit_rows", "n")
    dims = load_dims(b, "dims", rank, len(kernel.rows))
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (number, offsets):
        pairs = zip(kernel.rows, offsets, strict=True)
        addresses = bases | {tensor: b.gep(bases[tensor], offset, kernel.element) for tensor, offset in pairs}
        row = Row(b, vector_type, n, number, addresses, operands, kernel.padding, numbers.copy())
        for stage in kernel.stages:
            reduce_row(row, stage)
        for statistic in kernel.statistics:
            value = row.scalars[statistic]
            b.store(MemoryLocation(b.gep(bases[statistic], number), value.type), value)
        write_row(row, kernel.result, kernel.epilogue)
    return b.build_module(name)
