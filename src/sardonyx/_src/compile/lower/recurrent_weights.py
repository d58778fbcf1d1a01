"""The weights of recurrent layers for kernels: packed and summed at compile time if constant, otherwise by steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant, pack_tensor
from sardonyx._src.compile.kernels.loops.rows import full_vector_type
from sardonyx._src.compile.kernels.recurrent.packed_weights import (
    pack_weights,
    pack_weights_steps,
    packed_columns,
)
from sardonyx._src.compile.kernels.recurrent.projection import projection_step
from sardonyx._src.compile.kernels.recurrent.variant import GATE_COUNTS, PHASES
from sardonyx._src.compile.lower import Lowering
from sardonyx._src.compile.partition.operands.recurrent_layer import RecurrenceConfig
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

ADD_BIAS = Epilogue(Apply("add", (RESULT, Local("o0"))), ("column",))
ADD = Apply("add", (Local("i0"), Local("i1")))


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """The weights of a layer.

    operands: the tensors of the operands that are not constant.
    dtype: the type of the computation, float32 or float64.
    name: the name of the layer, for temporaries.
    """

    config: RecurrenceConfig
    operands: Mapping[str, TensorView]
    lowering: Lowering
    dtype: DataType
    name: str

    @property
    def directions(self) -> int:
        return len(self.config.backward)

    @property
    def lanes(self) -> int:
        return full_vector_type(self.lowering.target, LLVM_ELEMENTS[self.dtype]).lanes

    # --- biases ------------------------------------------------------------------------------

    def constant_bias(self) -> Array | None:
        """The sum of input and recurrent bias [directions, rows], without `hidden_bias`; None if B is computed, zeros without B."""
        if "B" in self.operands:
            return None
        rows, bias = self.config.rows, self.config.constants.get("B")
        if bias is None:
            return np.zeros((self.directions, rows), self.dtype.numpy)
        total = bias[:, :rows] + bias[:, rows:]
        if self.config.cell == "gru":
            first = rows - self.config.hidden
            total[:, first:] -= bias[:, rows + first :]
        return total

    def dynamic_bias(self) -> tuple[TensorView, list[Step]]:
        """The same sum as `constant_bias` for a computed B, and the steps that compute it."""
        rows, b = self.config.rows, self.operands["B"]
        total = self.lowering.temporary(self.dtype, (self.directions, rows), f"{self.name}.bias")
        count = rows - self.config.hidden if self.config.cell == "gru" else rows
        inputs, recurrent = (slice_axis(b, 1, first, count) for first in (0, rows))
        steps = [elementwise_step(ADD, (inputs, recurrent), slice_axis(total, 1, 0, count))]
        if count < rows:
            rest = slice_axis(b, 1, count, rows - count)
            steps.append(copy_step(rest, slice_axis(total, 1, count, rows - count)))
        return total, steps

    def hidden_bias(self) -> TensorView | None:
        """The recurrent bias of the hidden gate of a "gru" [directions, hidden]; None for other cells.

        A "gru" multiplies it by the reset gate, so it cannot be added to the input bias.
        """
        if self.config.cell != "gru":
            return None
        hidden = self.config.hidden
        if "B" in self.operands:
            return slice_axis(self.operands["B"], 1, 2 * self.config.rows - hidden, hidden)
        bias = self.config.constants.get("B")
        zeros = np.zeros((self.directions, hidden), self.dtype.numpy)
        return self.lowering.constant_tensor(zeros if bias is None else bias[:, -hidden:])

    def bias(self) -> tuple[TensorView, list[Step]]:
        """The sum of the biases [directions, rows], constant or computed, and the steps that compute it."""
        constant = self.constant_bias()
        return self.dynamic_bias() if constant is None else (self.lowering.constant_tensor(constant), [])

    # --- packed weights ----------------------------------------------------------------------

    def packed(self, operand: str, size: int) -> tuple[TensorView, list[Step]]:
        """W or R, with `size` columns, packed as [directions, elements], and the steps that pack it."""
        gates = GATE_COUNTS[self.config.cell]
        phases, hidden = PHASES[self.config.cell], self.config.hidden
        constant, shape = self.config.constants.get(operand), (self.directions, gates, hidden, size)
        if constant is not None:
            return self.lowering.constant_tensor(
                pack_weights(constant.reshape(shape), phases, self.lanes)
            ), []
        elements = packed_columns(gates, hidden, self.lanes) * size
        packed = self.lowering.temporary(self.dtype, (self.directions, elements), f"{self.name}.{operand}")
        return packed, pack_weights_steps(self.operands[operand].reshape(shape), packed, phases, self.lanes)

    # --- input projections -------------------------------------------------------------------

    def project(self, x: TensorView) -> tuple[TensorView, list[Step]]:
        """The projections of x [outer, inner, input] plus biases, [outer, inner, directions, rows], and their steps."""
        outer, inner, size = x.shape
        columns, (total, steps) = self.directions * self.config.rows, self.bias()
        bias = total.reshape((columns,))
        shape = (outer, inner, self.directions, self.config.rows)
        if size == 0:
            return replace(bias, shape=shape, strides=(0, 0, self.config.rows, 1)), steps
        gates = self.lowering.temporary(self.dtype, (outer * inner, columns), f"{self.name}.gates")
        x = x.reshape((outer * inner, size))
        project = self.multiply_float32 if self.dtype is DataType.FLOAT else self.multiply_float64
        return gates.reshape(shape), [*steps, *project(x, bias, gates)]

    def multiply_float32(self, x: TensorView, bias: TensorView, y: TensorView) -> Sequence[Step]:
        """y [rows, columns] = x [rows, input] @ W.T + bias [columns], by a GEMM."""
        constant, target = self.config.constants.get("W"), self.lowering.target
        if constant is None:
            w = self.operands["W"].reshape((y.shape[1], x.shape[1])).permute((1, 0))
            panels, steps = pack_tensor(w, target, f"{self.name}.panels")
        else:
            panels, steps = pack_constant(constant.reshape(-1, constant.shape[2]).T, target), []
        elements = bias.buffer.data
        if elements is not None:
            accumulators = make_constant(pack_bias(elements.reshape(-1), panels.tile), "bias")
            return [*steps, *matmul_steps(x, panels, y, bias=accumulators)]
        return [*steps, *matmul_steps(x, panels, y, epilogue=ADD_BIAS, operands=(bias,))]

    def multiply_float64(self, x: TensorView, bias: TensorView, y: TensorView) -> Sequence[Step]:
        constant, (columns, size), lanes = (
            self.config.constants.get("W"),
            (y.shape[1], x.shape[1]),
            self.lanes,
        )
        assert isinstance(columns, int), f"number of columns must be known; got {columns}"
        if constant is not None:
            weights = pack_weights(constant.reshape(1, 1, columns, -1), (1,), lanes)
            return [projection_step(x, self.lowering.constant_tensor(weights), bias, y)]
        elements = (1, packed_columns(1, columns, lanes) * size)
        packed = self.lowering.temporary(self.dtype, elements, f"{self.name}.panels")
        w = self.operands["W"].reshape((1, 1, columns, size))
        return [*pack_weights_steps(w, packed, (1,), lanes), projection_step(x, packed, bias, y)]
