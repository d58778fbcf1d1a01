"""Passes over the vectors of a row: reductions, each of which may read the results of those before it, then the result.

    for stage in stages: for vectors of the row: its totals += values     # all passes after the first find the row in L1
    for vectors of the row: y = epilogue(result)

What a pass computes of a vector is a function of `get`, which returns a vector of a tensor, or an earlier result in every
lane, by name: `lambda b, get: get("x") - get("mean")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue, EpilogueOperand, emit_epilogue, operand_offset
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import loop_unrolled_vectors
from sardonyx._src.compile.kernels.reductions.reducers import (
    SUM,
    Reducer,
    accumulate,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.dataclass import dataclass

Get: TypeAlias = Callable[[str], LLVMValue]
Emit: TypeAlias = Callable[[KernelBuilder, Get], LLVMValue]
VectorVisitor: TypeAlias = Callable[[Get, LLVMValue, LLVMValue, LLVMValue | None], None]


@dataclass(frozen=True, slots=True)
class RowReduction:
    """A reduction of the elements of a row, called `name`.

    value: of a vector, before it is reduced; stored: a tensor of rows that receives it, and that later passes may read.
    finish: the result, a scalar, of the total, which has the name meanwhile, of earlier results, and of `n`, the number of
    elements.  reducer: None if values are only stored.
    """

    name: str
    value: Emit
    finish: Emit | None = None
    reducer: Reducer | None = SUM
    stored: str = ""


Stages: TypeAlias = Sequence[Sequence[RowReduction]]  # a pass each


@dataclass(frozen=True, slots=True)
class Row:
    """A row of n elements in a kernel.

    addresses: of the row, and of vectors that all rows share, by name.  padding: the lanes of loaded vectors past the row.
    scalars: parameters and results so far, by name, and vectors: the results in every lane.
    remainders: of stored values, the vector at the end of the row, which stays in a register: a load after a masked store
    stalls.
    """

    b: KernelBuilder
    vector_type: LLVMType
    n: LLVMValue
    number: LLVMValue
    addresses: Mapping[str, str]
    operands: Sequence[EpilogueOperand] = ()
    padding: float = 0
    scalars: dict[str, LLVMValue] = field(default_factory=dict)
    vectors: dict[str, LLVMValue] = field(default_factory=dict)
    remainders: dict[str, MemoryLocation] = field(default_factory=dict)

    def scalar(self, name: str) -> LLVMValue:
        element = self.vector_type.element
        return self.n.convert("sitofp", element) if name == "n" else self.scalars[name]


def vector_loader(row: Row, index: LLVMValue, mask: LLVMValue | None) -> Get:
    """Loads each vector from an index on once."""
    loaded = dict(row.vectors)

    def get(name: str) -> LLVMValue:
        if name not in loaded:
            if mask is not None and name in row.remainders:
                loaded[name] = row.b.load(row.remainders[name])
            else:
                base = row.addresses[name]
                loaded[name] = load_vector_at(row.b, base, index, row.vector_type, mask, row.padding)
        return loaded[name]

    return get


def reduce_row(row: Row, stage: Sequence[RowReduction]) -> None:
    """A pass of reductions, whose results join those of the row."""
    b, vector_type = row.b, row.vector_type
    accumulators = {r.name: new_accumulators(b, vector_type, r.reducer) for r in stage if r.reducer}
    if any(reduction.reducer or reduction.stored for reduction in stage):
        for v, index, mask in loop_unrolled_vectors(b, row.n, vector_type.lanes):
            get = vector_loader(row, index, mask)
            for reduction in stage:
                value = reduction.value(b, get)
                if reduction.stored:
                    store_value(row, reduction.stored, value, index, mask)
                if reduction.reducer:
                    accumulate(b, accumulators[reduction.name][v], reduction.reducer, (value,), mask)
    for name, reducer, finish in ((r.name, r.reducer, r.finish) for r in stage):
        if reducer:
            (row.scalars[name],) = reduce_accumulators(b, reducer, accumulators[name])
        if finish:
            row.scalars[name] = finish(b, row.scalar)
        row.vectors[name] = b.splat(row.scalars[name], vector_type.lanes)


def store_value(row: Row, tensor: str, value: LLVMValue, index: LLVMValue, mask: LLVMValue | None) -> None:
    """Stores a vector that later passes read; the end of a row of y only in a register, since the result replaces it."""
    if mask is not None:
        if tensor not in row.remainders:
            row.remainders[tensor] = row.b.new_slot("rest", value.type)
        row.b.store(row.remainders[tensor], value)
    if mask is None or tensor != "y":
        store_at(row.b, row.addresses[tensor], index, value, mask)


def write_row(row: Row, result: Emit, epilogue: Epilogue, visit: VectorVisitor | None = None) -> None:
    """The last pass: y = epilogue(result); visit: emits code for each vector of y, from an index on."""
    for _, index, mask in loop_unrolled_vectors(row.b, row.n, row.vector_type.lanes):
        get = vector_loader(row, index, mask)
        position = (row.number, index)
        y = apply_epilogue(row.b, epilogue, row.operands, result(row.b, get), position, mask)
        store_at(row.b, row.addresses["y"], index, y, mask)
        if visit is not None:
            visit(get, y, index, mask)


def apply_epilogue(
    b: KernelBuilder,
    epilogue: Epilogue,
    operands: Sequence[EpilogueOperand],
    value: LLVMValue,
    position: tuple[LLVMValue, LLVMValue],
    mask: LLVMValue | None,
) -> LLVMValue:
    """Applies an epilogue to the vector of results that begins at position [row, column]."""

    def load_operand(i: int) -> LLVMValue:
        operand = operands[i]
        if operand.layout == "scalar":
            return b.splat(b.load(MemoryLocation(operand.address, LLVMType("float"))), value.type.lanes)
        return load_vector_at(b, operand.address, operand_offset(operand, *position), value.type, mask)

    return emit_epilogue(b, epilogue, value.type, value, load_operand)
