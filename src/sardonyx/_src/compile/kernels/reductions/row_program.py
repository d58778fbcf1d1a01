"""Row programs: sums of rows, and elementwise expressions of the elements and of these sums, in one kernel, as gradients of norms need.

    for row in the rows of a unit:
        for stage: for vectors of the row: its sums += expressions          # all passes after the first one find the row in L1
        for vectors of the row: y = epilogue(expression); column sums += expressions

Column sums, over the rows, are of a unit each: a reduction adds those of all units afterwards.  Rows are divided into units by sizes
alone, so that the bits of the sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
    load_operands,
)
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import loop_unrolled_vectors, rows_per_unit, summed_vector_type
from sardonyx._src.compile.kernels.reductions.row_passes import (
    Emit,
    Get,
    Row,
    RowReduction,
    Stages,
    reduce_row,
    write_row,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div, dim_max, dim_product

TOTAL, MEAN = Local("total"), Local("mean")
Y = Local("y")


@dataclass(frozen=True, slots=True)
class RowSum:
    """The sum of an expression over a row; finish: the value that later expressions read, of `TOTAL` or `MEAN`."""

    value: Scalar
    finish: Scalar = TOTAL


@dataclass(frozen=True, slots=True)
class RowProgram:
    """Expressions of row operands, `Local("x0")`, ..., of vectors over columns, `Local("c0")`, ..., and of the sums of earlier stages.

    stages: the sums of each pass over a row, called `Local("r0")`, ... in their order.  result: of each element.
    column_sums: of the elements of each column; they may also read `Y`, the result after the epilogue.
    """

    rows: int
    columns: int
    stages: tuple[tuple[RowSum, ...], ...]
    result: Scalar
    column_sums: tuple[Scalar, ...] = ()

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(f"x{i}" for i in range(self.rows)) + tuple(f"c{i}" for i in range(self.columns))

    @property
    def key(self) -> str:
        """The cache key: kernels are specialized on it."""
        stages = (canonical_text([e for s in stage for e in (s.value, s.finish)]) for stage in self.stages)
        return "|".join((*stages, canonical_text([self.result, *self.column_sums])))


@dataclass(frozen=True, slots=True)
class RowProgramVariant:
    """Specialization of the kernel."""

    program: RowProgram
    epilogue: Epilogue

    @property
    def parameters(self) -> Parameters:
        sums = ("sums",) if self.program.column_sums else ()
        tensors = Parameters("y", *self.program.tensors, *sums) + epilogue_parameters(self.epilogue)
        return tensors + Parameters("rows", "unit_rows", "units", "n")


def row_program_steps(
    program: RowProgram,
    operands: Sequence[TensorView],
    y: TensorView,
    axis: int,
    sums: Sequence[TensorView] = (),
    epilogue: Epilogue = NO_EPILOGUE,
    epilogue_operands: tuple[TensorView, ...] = (),
) -> list[Step]:
    """The steps of a program over rows of all dims from `axis` on; all tensors are float32 and dense.

    operands: those of the program, rows of the shape of y, then columns.  sums: receive the column sums, in the shape of a row.
    """
    from sardonyx._src.compile.kernels.reductions.reduce import reduce_step  # lazy: few models need it

    assert len(sums) == len(program.column_sums), "every column sum must have a tensor"
    assert all(tensor.is_dense for tensor in (*operands, y, *sums)), "row programs must have dense operands"
    rows, n = dim_product(y.shape[:axis]), dim_product(y.shape[axis:])
    unit_rows = dim_max(rows_per_unit(n), ReductionTuning.summed_rows) if sums else rows_per_unit(n)
    units, variant = ceil_div(rows, unit_rows), RowProgramVariant(program, epilogue)
    partial_sums = [dense_temporary(y.dtype, (len(sums), units, n), f"{y.buffer.name} sums")] if sums else []
    args: tuple[KernelArgument, ...] = variant.parameters.pack(
        y=y,
        **dict(zip(program.tensors, operands, strict=True)),
        **dict(zip(("sums",), partial_sums, strict=False)),
        **epilogue_arguments(epilogue, epilogue_operands),
        rows=rows,
        unit_rows=unit_rows,
        units=units,
        n=n,
    )
    step = Step(
        Kernel(
            f"row_program:{program.key}:{epilogue.key}",
            partial(row_program_module, variant=variant),
            variant.parameters,
        ),
        args,
        units,
        (*operands, *epilogue_operands),
        (y, *partial_sums),
        flops=y.num_elements * 8,
        bytes_accessed=y.nbytes * (program.rows + 1),
        in_place=not sums,
    )
    steps = [step]
    for i, total in enumerate(sums):
        shape = (units, n)
        part = TensorView(y.dtype, shape, row_major_strides(shape), partial_sums[0].buffer, units * n * i)
        steps.append(reduce_step("sum", part, total.reshape((n,)), (0,)))
    return steps


def row_program_module(name: str, target: Target, variant: RowProgramVariant) -> str:
    """The LLVM module of the kernel; a unit of work is a range of rows."""
    b, program = KernelBuilder(target, variant.parameters), variant.program
    names = ("y", *program.tensors, *(("sums",) if program.column_sums else ()))
    bases = dict(zip(names, b.pointers(*names), strict=True))
    operands = load_operands(b, variant.epilogue)
    rows, unit_rows, units, n = b.integers("rows", "unit_rows", "units", "n")
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        numbers = range(len(program.column_sums))
        sums = [b.gep(bases["sums"], (units * i + unit) * n) for i in numbers]
        for address in sums:
            clear_row(b, address, n)
        first = unit * unit_rows
        with b.loop(first, b.min(first + unit_rows, rows), name="row") as number:
            moved = {t: b.gep(bases[t], number * n) for t in bases if t == "y" or t.startswith("x")}
            row = Row(b, summed_vector_type(target), n, number, bases | moved, operands)
            for stage in row_stages(program):
                reduce_row(row, stage)
            result, add = vector_emitter(program.result), partial(add_columns, row, program, sums)
            write_row(row, result, variant.epilogue, add)
    return b.build_module(name)


def clear_row(b: KernelBuilder, address: str, n: LLVMValue) -> None:
    vector_type = summed_vector_type(b.target)
    for _, index, mask in loop_unrolled_vectors(b, n, vector_type.lanes):
        store_at(b, address, index, b.constant(0, vector_type), mask)


def row_stages(program: RowProgram) -> Stages:
    """The sums of each pass, called r0, ... in their order."""
    names = (f"r{i}" for i in count())
    return [
        [
            RowReduction(name, vector_emitter(part.value), partial(finish_sum, name=name, finish=part.finish))
            for part, name in zip(stage, names, strict=False)
        ]
        for stage in program.stages
    ]


def vector_emitter(expression: Scalar) -> Emit:
    """Emits an expression of the vectors of a row."""
    return lambda b, get: b.emit_expression(
        expression, summed_vector_type(b.target), lambda local: get(local.name)
    )


def finish_sum(b: KernelBuilder, get: Get, name: str, finish: Scalar) -> LLVMValue:
    known = {TOTAL.name: get(name), MEAN.name: get(name) / get("n")}
    return b.emit_expression(finish, LLVMType("float"), lambda local: known[local.name])


def add_columns(
    row: Row,
    program: RowProgram,
    sums: Sequence[str],
    get: Get,
    y: LLVMValue,
    index: LLVMValue,
    mask: LLVMValue | None,
) -> None:
    """Adds vectors of a row to the column sums, which begin at these addresses."""
    b, types = row.b, [row.vector_type] * len(sums)
    (terms,) = b.emit_interleaved(
        program.column_sums, types, [lambda local: y if local == Y else get(local.name)]
    )
    for address, term in zip(sums, terms, strict=True):
        total = load_vector_at(b, address, index, row.vector_type, mask) + term
        store_at(b, address, index, total, mask)
