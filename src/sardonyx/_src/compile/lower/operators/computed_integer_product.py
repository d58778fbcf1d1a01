"""Lowers integer products with a computed right operand or computed zero points (`partition.quantized.computed_integer_products`).

Steps before the product pack the right operand, sum columns and rows, and compute the terms of zero points that the
epilogue subtracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.gemm.integer.int8_packing import pack_int8_tensor
from sardonyx._src.compile.kernels.gemm.integer.int8_row_sums import int8_row_sums_step
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps, sign_correction
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant, pack_int32_bias
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue, expand_row_vector
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition.quantized.computed_integer_products import (
    ComputedIntegerProduct,
    has_zero,
)
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, dim_product

SUMS = Local("i0")


@dataclass(frozen=True, slots=True)
class RightOperand:
    """The right operand b.

    panels: b packed.
    sums: the sums of its columns, [..., 1, N] int32.
    bias: initial accumulators; None for zeros.
    """

    panels: Panels
    sums: TensorView
    bias: TensorView | None


@lowers("ComputedIntegerProduct")
def lower_computed_product(
    region: LaidOutRegion[ComputedIntegerProduct], lowering: Lowering
) -> Sequence[Step]:
    config, (y,), epilogue = region.config, region.results, region.epilogue
    assert isinstance(epilogue, IntegerEpilogue), "an integer kernel has an integer epilogue"
    terms = Terms(region, lowering)
    right = terms.right_operand()
    corrections = [*terms.of_left_zero_point(right.sums), *terms.of_right_zero_point()]
    own = (*corrections, *terms.constants(len(corrections)))
    product = integer_matmul_steps(
        terms.a,
        right.panels,
        y,
        right.bias,
        epilogue,
        (*own, *region.epilogue_operands),
        a_is_signed=config.is_signed,
    )
    return [*terms.steps, *product]


@dataclass(slots=True)
class Terms:
    """Builds the operands of the product's epilogue.

    steps: the steps so far that compute them.
    """

    region: LaidOutRegion[ComputedIntegerProduct]
    lowering: Lowering
    steps: list[Step] = field(default_factory=list)
    length: TensorView | None = None

    @property
    def config(self) -> ComputedIntegerProduct:
        return self.region.config

    @property
    def a(self) -> TensorView:
        return self.region.operands[0]

    @property
    def y(self) -> TensorView:
        return self.region.results[0]

    @property
    def points(self) -> Sequence[TensorView]:
        """The zero points, which are read after the factors."""
        return self.region.operands[1 if self.config.matrix is not None else 2 :]

    def right_operand(self) -> RightOperand:
        """The right operand packed: at compile time if it is constant, otherwise by a step."""
        name, target = self.region.region.anchor.outputs[0].name, self.lowering.target
        if self.config.matrix is not None:
            return self.constant_operand(self.config.matrix)
        packed = pack_int8_tensor(self.region.operands[1], target, name)
        self.steps.append(packed.step)
        return RightOperand(packed.panels, packed.sums, None)

    def constant_operand(self, matrix: Array) -> RightOperand:
        is_signed = self.config.is_signed
        panels = pack_int8_constant(matrix, self.lowering.target, rows=dim_product(self.a.shape[:-1]))
        initial = sign_correction(matrix, panels.tile, a_is_signed=is_signed)
        bias = make_constant(pack_int32_bias(initial, panels.tile), "bias") if initial.any() else None
        sums = self.lowering.constant_tensor(matrix.sum(0, dtype=np.int32, keepdims=True))
        return RightOperand(panels, sums, bias)

    def of_left_zero_point(self, column_sums: TensorView) -> list[TensorView]:
        """The operands of za * (sums of columns - K * zb): one, or zero points of rows and the second factor."""
        if not has_zero(self.config, 0):
            return []
        left, right = self.zero_points()
        operands = [column_sums]
        value: Scalar = SUMS
        if has_zero(self.config, 1):
            zero = self.read(operands, right, self.config.shifts[1])
            value = Apply("sub", (value, Apply("mul", (zero, self.length_of_sums(operands)))))
        if self.config.zeros[0] == "vector":
            assert left is not None, "zero points of rows are read"
            return [self.row_operand(self.shifted(left, 0)), self.matrix_operand(self.term(value, operands))]
        value = Apply("mul", (self.read(operands, left, self.config.shifts[0]), value))
        return [self.matrix_operand(self.term(value, operands))]

    def of_right_zero_point(self) -> list[TensorView]:
        """The operands of zb * sums of rows: one, or zero points of columns and the sums."""
        if not has_zero(self.config, 1):
            return []
        sums = self.lowering.temporary(DataType.INT32, (*self.a.shape[:-1], 1), "row sums")
        self.steps.append(int8_row_sums_step(self.a, sums, self.config.k, a_is_signed=self.config.is_signed))
        _, right = self.zero_points()
        if self.config.zeros[1] == "vector":
            assert right is not None, "zero points of columns are read"
            return [self.matrix_operand(self.shifted(right, 1)), self.row_operand(sums)]
        operands = [sums]
        value = Apply("mul", (self.read(operands, right, self.config.shifts[1]), SUMS))
        return [self.row_operand(self.term(value, operands))]

    def constants(self, start: int) -> list[TensorView]:
        """The constant operands, which come after the corrections."""
        arrays = [operand.elements for operand in self.config.result.operands[start:]]
        return [self.lowering.constant_tensor(elements) for elements in arrays if elements is not None]

    # --- zero points --------------------------------------------------------------------------

    def zero_points(self) -> tuple[TensorView | None, TensorView | None]:
        """The zero points as tensors that broadcast to [..., M, 1] and [..., 1, N]."""
        tensors = iter(self.points)
        left, right = (None if form == "none" else next(tensors) for form in self.config.zeros)
        if left is not None and left.rank == 1 and self.config.zeros[0] == "vector":
            left = left.reshape((*left.shape, 1))
        return left, right

    def read(self, operands: list[TensorView], zero: TensorView | None, shift: int) -> Scalar:
        """A zero point plus a shift as an int32 expression; appends the tensor of the zero point to `operands`."""
        if zero is None:
            return Number(shift)
        operands.append(zero)
        value = Cast(DataType.INT32, Local(f"i{len(operands) - 1}"))
        return Apply("add", (value, Number(shift))) if shift else value

    def length_of_sums(self, operands: list[TensorView]) -> Scalar:
        """K; a step writes it if it is symbolic."""
        if isinstance(self.config.k, int):
            return Number(self.config.k)
        length = self.lowering.temporary(DataType.INT64, (1,), "length of sums")
        self.steps.append(write_sizes_step(length, (self.config.k,)))
        operands.append(length)
        return Cast(DataType.INT32, Local(f"i{len(operands) - 1}"))

    def shifted(self, zero: TensorView, side: int) -> TensorView:
        """The zero points of rows or columns, int32, shifted as the kernel shifts the operand."""
        operands: list[TensorView] = []
        value = self.read(operands, zero, self.config.shifts[side])
        return self.term(value, operands)

    def term(self, value: Scalar, operands: list[TensorView]) -> TensorView:
        """The value of an expression, int32, which a new step computes."""
        if value == SUMS:
            return operands[0]
        shape = broadcast_shape(operands)
        result = self.lowering.temporary(DataType.INT32, shape, "correction")
        self.steps.append(elementwise_step(value, operands, result))
        return result

    # --- views --------------------------------------------------------------------------------

    def row_operand(self, tensor: TensorView) -> TensorView:
        """A tensor [..., M, 1] as the view that the epilogue reads an element for each row of."""
        vector = replace(tensor, shape=tensor.shape[:-1], strides=tensor.strides[:-1])
        return expand_row_vector(broadcast_view(vector, self.y.shape[:-1]), self.y)

    def matrix_operand(self, tensor: TensorView) -> TensorView:
        """A tensor [..., 1, N] as the view that the epilogue reads an element for each column of."""
        return broadcast_view(tensor, self.y.shape)


def broadcast_shape(operands: Sequence[TensorView]) -> tuple[Known, ...]:
    """The shape to which operands broadcast."""
    rank = max(operand.rank for operand in operands)
    shapes = [(*(1,) * (rank - operand.rank), *operand.shape) for operand in operands]
    return tuple(next((dim for dim in dims if dim != 1), 1) for dims in zip(*shapes, strict=True))


def broadcast_view(tensor: TensorView, shape: tuple[Known, ...]) -> TensorView:
    """A view with the dims of a shape to which the tensor broadcasts; repeated dims have stride 0."""
    lead = len(shape) - tensor.rank
    strides = (0 if dim == 1 else stride for dim, stride in zip(tensor.shape, tensor.strides, strict=True))
    return replace(tensor, shape=shape, strides=(*(0,) * lead, *strides))
