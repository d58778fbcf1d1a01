"""Softmax and LogSoftmax of contiguous rows, with the usual shift by the maximum: exp(x - max) / sum(exp(x - max)).

Loop nest: rows of the units -> vectors, in three passes: the maximum; the exponentials, stored to y, and their sum; the
scaling by 1 / sum.  LogSoftmax stores no exponentials, and reads x again.  This is the safe softmax of Milakov and
Gimelshein, "Online normalizer calculation for softmax", whose online variant attention uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, convert
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.data_movement.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.reductions.reducers import (
    MAX_OF_NUMBERS,
    NEG_INFINITY,
    SUM,
    accumulate,
    emit_exp,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.compile.kernels.reductions.rows import (
    full_vector_type,
    load_vector,
    loop_vectors,
    num_units,
    row_arguments,
    store_vector,
)
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType

PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "n", "dims*")


@dataclass(frozen=True, slots=True)
class SoftmaxVariant:
    """Specialization key of a softmax of rows."""

    log: bool
    half: DataType | None = None
    element: Element = "float"

    @property
    def key(self) -> str:
        half = "" if self.half is None else f"{self.half.text}_"
        element = "" if self.element == "float" else f"{self.element}_"
        return f"{'log_' * self.log}{half}{element}rows"


def softmax_rows_step(
    space: IterationSpace, x: TensorView, y: TensorView, axis: int, variant: SoftmaxVariant
) -> Step:
    """The step for rows that are contiguous in x and y."""
    n, rows = space.shape[axis], row_space(space.drop_dim(axis), by=1)
    source = partial(softmax_rows_module, variant=variant, rank=rows.rank)
    return Step(
        Kernel(f"softmax_{variant.key}_{rows.rank}", source, PARAMETERS),
        PARAMETERS.pack(x=x, y=y, **row_arguments(rows, n)),
        num_units(rows.size, n),
        (x,),
        (y,),
        flops=space.size * 30,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def softmax_rows_module(name: str, target: Target, variant: SoftmaxVariant, rank: int) -> str:
    """The kernel of a softmax of rows."""
    b, vector_type = KernelBuilder(target, PARAMETERS), full_vector_type(target, variant.element)
    bases, lanes = b.pointers("x", "y"), vector_type.lanes
    rows, unit_rows, n = b.integers("rows", "unit_rows", "n")
    remainder = b.new_slot("rest", vector_type)
    dims = load_dims(b, "dims", rank, len(bases))
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, offsets):
        addresses = zip(bases, offsets, strict=True)
        x, y = (b.gep(base, offset, variant.element) for base, offset in addresses)
        row = SoftmaxRow(b, variant, vector_type, n, x, y, remainder)
        maximum = b.splat(row_max(row), lanes)
        total = sum_exponentials(row, maximum)
        if variant.log:
            write_logarithms(row, maximum, b.splat(b.emit_operation("log", total), lanes))
        else:
            scale_exponentials(row, b.splat(1 / round_to_half(row, total), lanes))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class SoftmaxRow:
    """A row of n elements in a softmax kernel: its addresses in x and y, and what all rows share.

    remainder: the exponentials of the masked vector at the end of the row, which stay in a
    register: a load after a masked store stalls.
    """

    b: KernelBuilder
    variant: SoftmaxVariant
    vector_type: LLVMType
    n: LLVMValue
    x: str
    y: str
    remainder: StackSlot


def load_logits(row: SoftmaxRow, index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
    """Loads a vector of x, with -inf in lanes past the row."""
    return load_vector(row.b, row.vector_type, row.x, index, mask, NEG_INFINITY)


def row_max(row: SoftmaxRow) -> LLVMValue:
    """The maximum of a row, a scalar; NaN need not be propagated, since it reappears in the sum."""
    b = row.b
    accumulators = new_accumulators(b, row.vector_type, MAX_OF_NUMBERS)
    for v, index, mask in loop_vectors(b, row.n, row.vector_type.lanes):
        accumulate(b, accumulators[v], MAX_OF_NUMBERS, (load_logits(row, index, mask),), mask)
    return reduce_accumulators(b, MAX_OF_NUMBERS, accumulators)[0]


def sum_exponentials(row: SoftmaxRow, maximum: LLVMValue) -> LLVMValue:
    """The sum of exp(x - max), a scalar; the exponentials are stored to y, except for LogSoftmax."""
    b = row.b
    accumulators = new_accumulators(b, row.vector_type, SUM)
    for v, index, mask in loop_vectors(b, row.n, row.vector_type.lanes):
        difference = round_to_half(row, load_logits(row, index, mask) - maximum)
        value = round_to_half(row, emit_exp(b, difference))
        if mask is not None:
            b.store(row.remainder, value)
        elif not row.variant.log:
            store_vector(b, value, row.y, index, None)
        accumulate(b, accumulators[v], SUM, (value,), mask)
    return reduce_accumulators(b, SUM, accumulators)[0]


def scale_exponentials(row: SoftmaxRow, factor: LLVMValue) -> None:
    """Multiplies the exponentials in y by 1 / sum."""
    b = row.b
    for _, index, mask in loop_vectors(b, row.n, row.vector_type.lanes):
        value = load_vector(b, row.vector_type, row.y, index, None) if mask is None else b.load(row.remainder)
        store_vector(b, round_to_half(row, value * factor), row.y, index, mask)


def write_logarithms(row: SoftmaxRow, maximum: LLVMValue, shift: LLVMValue) -> None:
    """Writes x - max - log(sum); shift: the logarithm."""
    for _, index, mask in loop_vectors(row.b, row.n, row.vector_type.lanes):
        store_vector(row.b, load_logits(row, index, mask) - maximum - shift, row.y, index, mask)


def round_to_half(row: SoftmaxRow, value: LLVMValue) -> LLVMValue:
    """Rounds float32 to the half-precision type of the variant, if it has one, and back."""
    half = row.variant.half
    return value if half is None else convert(row.b, convert(row.b, value, LLVM_ELEMENTS[half]), "float")
