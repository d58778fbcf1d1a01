"""Softmax and LogSoftmax, with the usual shift by the maximum: exp(x - max) / sum(exp(x - max)).

Builds the step for any axis, and emits the kernel for rows; `softmax_columns` has the one for other axes.
Loop nest: units of work (blocks of rows) -> rows, in three passes of vectors: the maximum; the exponentials, stored to y,
and their sum; the scaling by 1 / sum.  LogSoftmax stores no exponentials, and reads x again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, convert
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.reductions.reducers import emit_exp
from sardonyx._src.compile.kernels.reductions.row_emitter import (
    NEG_INFINITY,
    RowEmitter,
    float32_bits,
    num_units,
    rows_per_unit,
)
from sardonyx._src.compile.kernels.reductions.softmax_columns import softmax_columns_step
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType


def softmax_step(
    x: TensorView,
    y: TensorView,
    axis: int = -1,
    *,
    log: bool = False,
    scale: float | None = None,
    mask: TensorView | None = None,
    half: DataType | None = None,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y = softmax(x * scale + mask), or its logarithm, along an axis; None if the layout has no kernel.

    x, y: [..., n, ...] float32; they may be the same tensor.  mask: broadcast to x by strides of 0, dense along the axis.
    half: the half-precision type of the elements of x, to which every intermediate result is rounded.
    Scale, mask and half require that the axis is the last one.  A row of -inf only, or with +inf or NaN, results in NaN.
    """
    axis %= x.rank
    tensors = [x, y] if mask is None else [x, y, mask]
    space = IterationSpace(x.shape, tuple(t.strides for t in tensors))
    if space.shape[axis] == 1 or all(s[axis] == 1 for s in space.strides):
        variant = SoftmaxVariant(log, scale is not None, mask is not None, half)
        return softmax_rows_step(space, tensors, axis, variant, scale, nodes)
    if scale is not None or mask is not None or half is not None:
        return None
    return softmax_columns_step(space, x, y, axis, log=log, nodes=nodes)


@dataclass(frozen=True, slots=True)
class SoftmaxVariant:
    """Specialization key of a softmax of rows."""

    log: bool
    scaled: bool
    masked: bool
    half: DataType | None = None

    @property
    def key(self) -> str:
        half = "" if self.half is None else f"{self.half.text}_"
        return f"{'log_' * self.log}{'scaled_' * self.scaled}{'masked_' * self.masked}{half}rows"


def softmax_rows_step(
    space: IterationSpace,
    tensors: list[TensorView],
    axis: int,
    variant: SoftmaxVariant,
    scale: float | None,
    nodes: tuple[str, ...],
) -> Step:
    """The step for rows that are contiguous in all tensors: x, y and the mask, if there is one."""
    n, rows = space.shape[axis], row_space(space.drop_dim(axis), by=1)
    rank = rows.rank
    kernel = Kernel(
        f"softmax_{variant.key}_{rank}",
        lambda name, target: SoftmaxEmitter(target, variant, rank).build_module(name),
    )
    args: tuple[KernelArgument, ...] = (*tensors, *(() if scale is None else (float32_bits(scale),)))
    args = (*args, rows.size, rows_per_unit(n), n, *rows.to_arguments())
    x, y, count = tensors[0], tensors[1], space.size
    return Step(
        kernel,
        args,
        num_units(rows.size, n),
        (x, *tensors[2:]),
        (y,),
        flops=count * 30,
        bytes_accessed=count * 8,
        nodes=nodes,
    )


class SoftmaxEmitter(RowEmitter):
    """Emits a softmax of rows.

    args: x, y, mask and scale if present, rows, rows per unit, n, dims of the rows (strides of x, of y, of the mask).
    """

    def __init__(self, target: Target, variant: SoftmaxVariant, rank: int) -> None:
        super().__init__(target)
        self.variant = variant
        operands = 3 if variant.masked else 2
        self.bases = [self.pointer_argument(i) for i in range(operands)]
        index = operands
        if variant.scaled:
            self.scale = self.broadcast(self.load_float_argument(index))
            index += 1
        rows, unit_rows, self.n = (self.size_argument(index + i) for i in range(3))
        # The exponentials of the masked remainder stay in a register: a load after a masked store stalls.
        self.remainder = self.new_slot("rest", self.vector_type)
        self.loop_unit_rows(rows, unit_rows, self.load_dims(index + 3, rank, operands), self.compute_row)

    def compute_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        row = [self.element_pointer(base, offset) for base, offset in zip(self.bases, offsets, strict=True)]
        maximum = self.broadcast(self.row_max(row))
        total = self.sum_exponentials(row, maximum)
        if self.variant.log:
            shift = self.broadcast(self.emit_operation("log", total))
            self.loop_vectors(
                self.n, lambda i, vectors, mask: self.write_logarithms(row, maximum, shift, i, vectors, mask)
            )
        else:
            factor = self.broadcast(1 / self.round_to_half(total))
            self.loop_vectors(
                self.n, lambda i, vectors, mask: self.scale_exponentials(row[1], factor, i, vectors, mask)
            )

    def load_logits(self, row: list[str], index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        """Loads a vector of x * scale + mask, with x = -inf in lanes past the row."""
        x = self.load_vector(row[0], index, mask, NEG_INFINITY)
        if self.variant.masked:
            addend = self.load_vector(row[2], index, mask)
            return self.fma(x, self.scale, addend) if self.variant.scaled else x + addend
        return x * self.scale if self.variant.scaled else x

    def row_max(self, row: list[str]) -> LLVMValue:
        """The maximum of a row, a scalar; NaN need not be propagated, since it reappears in the sum."""
        accumulators = self.new_accumulators(NEG_INFINITY)

        def accumulate(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
            for v, accumulator in enumerate(accumulators[:vectors]):
                value = self.load_logits(row, i + v * self.lanes, mask)
                if mask is not None:
                    value = self.select(mask, value, self.constant(NEG_INFINITY, self.vector_type))
                self.store(accumulator, self.max_or_second(value, self.load(accumulator)))

        self.loop_vectors(self.n, accumulate)
        return self.reduce_accumulators(self.max_or_second, accumulators)

    def sum_exponentials(self, row: list[str], maximum: LLVMValue) -> LLVMValue:
        """The sum of exp(x - max), a scalar; the exponentials are stored to y, except for LogSoftmax."""
        accumulators = self.new_accumulators(0)

        def accumulate(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
            for v, accumulator in enumerate(accumulators[:vectors]):
                index = i + v * self.lanes
                difference = self.round_to_half(self.load_logits(row, index, mask) - maximum)
                value = self.round_to_half(emit_exp(self, difference))
                if mask is not None:
                    self.store(self.remainder, value)
                elif not self.variant.log:
                    self.store_vector(value, row[1], index, None)
                self.add_masked(accumulator, value, mask)

        self.loop_vectors(self.n, accumulate)
        return self.reduce_accumulators(lambda a, b: a + b, accumulators)

    def round_to_half(self, value: LLVMValue) -> LLVMValue:
        """Rounds float32 to the half-precision type of the variant, if it has one, and back."""
        if self.variant.half is None:
            return value
        return convert(self, convert(self, value, LLVM_ELEMENTS[self.variant.half]), "float")

    def add_masked(self, accumulator: StackSlot, value: LLVMValue, mask: LLVMValue | None) -> None:
        if mask is not None:
            value = self.select(mask, value, self.constant(0, self.vector_type))
        self.store(accumulator, self.load(accumulator) + value)

    def scale_exponentials(
        self, y: str, factor: LLVMValue, i: LLVMValue, vectors: int, mask: LLVMValue | None
    ) -> None:
        for v in range(vectors):
            index = i + v * self.lanes
            value = self.load_vector(y, index, None) if mask is None else self.load(self.remainder)
            self.store_vector(self.round_to_half(value * factor), y, index, mask)

    def write_logarithms(
        self,
        row: list[str],
        maximum: LLVMValue,
        shift: LLVMValue,
        i: LLVMValue,
        vectors: int,
        mask: LLVMValue | None,
    ) -> None:
        """Writes x - max - log(sum); shift: the logarithm."""
        for v in range(vectors):
            index = i + v * self.lanes
            self.store_vector(self.load_logits(row, index, mask) - maximum - shift, row[1], index, mask)
