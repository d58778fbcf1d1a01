"""Row programs: sums of rows, and elementwise expressions of the elements and of these sums, in one kernel, as gradients of norms need.

    for row in the rows of a unit:
        for stage: for vectors of the row: its sums += expressions          # all passes after the first one find the row in L1
        for vectors of the row: y = epilogue(expression); column sums += expressions

Column sums, over the rows, are of a unit each: a reduction adds those of all units afterwards.  Rows are divided into units by sizes
alone, so that the bits of the sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.emit_expressions import LoadLocal
from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    EpilogueOperand,
    epilogue_arguments,
    epilogue_parameters,
    load_operands,
)
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import (
    SUM,
    accumulate,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.compile.kernels.reductions.rows import (
    load_vector,
    loop_vectors,
    rows_per_unit,
    store_vector,
)
from sardonyx._src.compile.kernels.reductions.statistics import apply_epilogue
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView, dense_temporary, row_major_strides
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
    assert len(sums) == len(program.column_sums), "every column sum must have a tensor"
    assert all(tensor.is_dense for tensor in (*operands, y, *sums)), "row programs must have dense operands"
    count, n = dim_product(y.shape[:axis]), dim_product(y.shape[axis:])
    unit_rows = dim_max(rows_per_unit(n), ReductionTuning.summed_rows) if sums else rows_per_unit(n)
    units, variant = ceil_div(count, unit_rows), RowProgramVariant(program, epilogue)
    partial_sums = [dense_temporary(y.dtype, (len(sums), units, n), f"{y.buffer.name} sums")] if sums else []
    args: tuple[KernelArgument, ...] = variant.parameters.pack(
        y=y,
        **dict(zip(program.tensors, operands, strict=True)),
        **dict(zip(("sums",), partial_sums, strict=False)),
        **epilogue_arguments(epilogue, epilogue_operands),
        rows=count,
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
            emit_row(ProgramRow(b, variant, n, number, bases | moved, operands, sums))
    return b.build_module(name)


def clear_row(b: KernelBuilder, address: str, n: LLVMValue) -> None:
    vector_type = LLVMType("float", b.target.lanes)
    for _, index, mask in loop_vectors(b, n, vector_type.lanes):
        store_vector(b, b.constant(0, vector_type), address, index, mask)


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A row of n elements in the kernel; addresses: of this row, or of the vectors over columns; sums: addresses of the column sums."""

    b: KernelBuilder
    variant: RowProgramVariant
    n: LLVMValue
    number: LLVMValue
    addresses: Mapping[str, str]
    operands: tuple[EpilogueOperand, ...]
    sums: Sequence[str]

    @property
    def vector_type(self) -> LLVMType:
        return LLVMType("float", self.b.target.lanes)

    def loader(self, index: LLVMValue, mask: LLVMValue | None, sums: Mapping[str, LLVMValue]) -> LoadLocal:
        """Loads each local once: a vector of an operand from an index on, or a sum in every lane."""
        loaded: dict[str, LLVMValue] = dict(sums)

        def load_local(local: Local) -> LLVMValue:
            name = local.name
            if name not in loaded:
                loaded[name] = load_vector(self.b, self.vector_type, self.addresses[name], index, mask)
            return loaded[name]

        return load_local


def emit_row(row: ProgramRow) -> None:
    """The passes over a row."""
    b, program, vector_type = row.b, row.variant.program, row.vector_type
    sums: dict[str, LLVMValue] = {}
    for stage in program.stages:
        for value in reduce_row(row, stage, sums):
            sums[f"r{len(sums)}"] = b.splat(value, vector_type.lanes)
    types = [vector_type] * len(program.column_sums)
    for _, index, mask in loop_vectors(b, row.n, vector_type.lanes):
        load = row.loader(index, mask, sums)
        result = b.emit_expression(program.result, vector_type, load)
        y = apply_epilogue(b, row.variant.epilogue, row.operands, result, (row.number, index), mask)
        store_vector(b, y, row.addresses["y"], index, mask)
        (terms,) = b.emit_interleaved(program.column_sums, types, [partial(load_or, load, {Y.name: y})])
        for address, term in zip(row.sums, terms, strict=True):
            total = load_vector(b, vector_type, address, index, mask) + term
            store_vector(b, total, address, index, mask)


def reduce_row(row: ProgramRow, stage: Sequence[RowSum], sums: Mapping[str, LLVMValue]) -> list[LLVMValue]:
    """The finished sums of a stage, scalars."""
    b, vector_type = row.b, row.vector_type
    accumulators = [new_accumulators(b, vector_type, SUM) for _ in stage]
    types = [vector_type] * len(stage)
    for v, index, mask in loop_vectors(b, row.n, vector_type.lanes):
        (values,) = b.emit_interleaved([s.value for s in stage], types, [row.loader(index, mask, sums)])
        for slots, value in zip(accumulators, values, strict=True):
            accumulate(b, slots[v], SUM, (value,), mask)
    results = []
    for slots, part in zip(accumulators, stage, strict=True):
        (total,) = reduce_accumulators(b, SUM, slots)
        known = {TOTAL.name: total, MEAN.name: total / row.n.convert("sitofp", "float")}
        results.append(b.emit_expression(part.finish, LLVMType("float"), partial(look_up, known)))
    return results


def look_up(values: Mapping[str, LLVMValue], local: Local) -> LLVMValue:
    return values[local.name]


def load_or(load: LoadLocal, values: Mapping[str, LLVMValue], local: Local) -> LLVMValue:
    """A known value, or what is loaded for a local."""
    return values[local.name] if local.name in values else load(local)
