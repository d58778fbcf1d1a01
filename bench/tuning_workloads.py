"""Kernels by which the values of tuning fields are judged: of float32 tensors, whose memory `products.py` fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from products import RELU, Layer, layer_step, tensor
from sardonyx._src.compile.codegen.expressions import Apply, Local, Scalar
from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step
from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import pointwise_depthwise_step
from sardonyx._src.compile.kernels.depthwise.weight_gradient import depthwise_weight_gradient_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant, pack_tensor
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.kernels.gemm.unpacked.transposed_left import with_dense_rows
from sardonyx._src.compile.kernels.pooling.global_pooling import global_pooling_step
from sardonyx._src.compile.kernels.reductions.arg_reducer import ArgReduction
from sardonyx._src.compile.kernels.reductions.determinant import determinant_step
from sardonyx._src.compile.kernels.reductions.min_max import min_max_steps
from sardonyx._src.compile.kernels.reductions.reduce import arg_reduce_step, reduce_step
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import TRANSFORMS
from sardonyx._src.compile.kernels.winograd.weight_transform import pack_winograd_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from tuning_fields import Workload

SAME_3X3 = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))


def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


# --- products --------------------------------------------------------------------------------


def matmul(m: int, k: int, n: int) -> Workload:
    def steps() -> Sequence[Step]:
        return matmul_steps(tensor(m, k), pack_constant(draw(k, n), host_target()), tensor(m, n))

    return steps


def matmul_with_epilogue(m: int, k: int, n: int, operations: int) -> Workload:
    """A product whose results are halved as many times, in an epilogue of as many operations."""

    def steps() -> Sequence[Step]:
        value: Scalar = Local("x")
        for _ in range(operations // 2):
            value = Apply("mul", (Apply("add", (value, Local("o0"))), Local("o0")))
        epilogue = Epilogue(value, ("scalar",))
        panels = pack_constant(draw(k, n), host_target())
        return matmul_steps(tensor(m, k), panels, tensor(m, n), epilogue=epilogue, operands=(tensor(1),))

    return steps


def computed_matmul(m: int, k: int, n: int) -> Workload:
    """A product by a matrix that a run computes, which is packed unless it has few rows."""

    def steps() -> Sequence[Step]:
        a, b, y = tensor(m, k), tensor(k, n), tensor(m, n)
        if reads_in_place(a, b, host_target()):
            return [few_rows_step(a, b, y, host_target())]
        panels, packing = pack_tensor(b, host_target())
        return [*packing, *matmul_steps(a, panels, y)]

    return steps


def packing(k: int, n: int) -> Workload:
    return lambda: pack_tensor(tensor(k, n), host_target())[1]


def transposed_matmul(m: int, k: int, n: int) -> Workload:
    """A product of a transposed matrix, which is copied where that pays."""

    def steps() -> Sequence[Step]:
        a, copies = with_dense_rows(tensor(k, m).permute((1, 0)), n, "a", host_target())
        return [*copies, *matmul_steps(a, pack_constant(draw(k, n), host_target()), tensor(m, n))]

    return steps


def attention(heads: int, queries: int, keys: int, depth: int) -> Workload:
    def steps() -> Sequence[Step]:
        q, k, v, y = (tensor(1, heads, length, depth) for length in (queries, keys, keys, queries))
        return attention_steps(q, k, v, y, scale=depth**-0.5)

    return steps


def convolution(layer: Layer) -> Workload:
    return lambda: [layer_step(layer)]


def winograd(size: int, channels: int, features: int) -> Workload:
    """F(4x4, 3x3)."""

    def steps() -> Sequence[Step]:
        weights = pack_winograd_weights(draw(features, channels, 3, 3), None, TRANSFORMS[0], host_target())
        return winograd_steps(
            tensor(1, size, size, channels), weights, tensor(1, size, size, features), (1, 1)
        )

    return steps


def weight_gradient(size: int, channels: int, features: int) -> Workload:
    """The gradient of a convolution of 3 x 3 by its weights."""

    def steps() -> Sequence[Step]:
        x, dy, dw = (
            tensor(1, size, size, channels),
            tensor(1, size, size, features),
            tensor(features, channels, 3, 3),
        )
        return weight_gradient_steps(x, dy, dw, Window((3, 3), begin_pads=(1, 1)), host_target())

    return steps


# --- images ----------------------------------------------------------------------------------


def depthwise(size: int, channels: int, kernel: int = 3) -> Workload:
    def steps() -> Sequence[Step]:
        window = Window((kernel, kernel), begin_pads=(kernel // 2,) * 2, end_pads=(kernel // 2,) * 2)
        x, y = tensor(1, size, size, channels), tensor(1, size, size, channels)
        return [depthwise_step(x, tensor(kernel * kernel, channels), y, None, window)]

    return steps


def depthwise_weight_gradient(size: int, channels: int) -> Workload:
    def steps() -> Sequence[Step]:
        x, dy, window = (
            tensor(1, size, size, channels),
            tensor(1, size, size, channels),
            Window((3, 3), begin_pads=(1, 1)),
        )
        return [depthwise_weight_gradient_step(x, dy, tensor(channels, 1, 3, 3), window)]

    return steps


def pointwise_depthwise(size: int, inputs: int, channels: int) -> Workload:
    def steps() -> Sequence[Step]:
        pointwise = pack_conv_weights(draw(channels, inputs, 1, 1), draw(channels), Window(), host_target())
        x, y = tensor(1, size, size, inputs), tensor(1, size, size, channels)
        weights, bias = tensor(9, channels), tensor(channels)
        return [pointwise_depthwise_step(x, pointwise, RELU, weights, bias, y, SAME_3X3, RELU)]

    return steps


def global_mean(size: int, channels: int) -> Workload:
    return lambda: [global_pooling_step(tensor(1, size, size, channels), tensor(1, channels), "mean")]


def lrn(size: int, channels: int) -> Workload:
    x, y = tensor(1, size, size, channels), tensor(1, size, size, channels)
    return lambda: [lrn_step(x, y, LrnParameters(5))]


# --- elements --------------------------------------------------------------------------------


def transpose(*shape: int) -> Workload:
    return lambda: [copy_step(tensor(*shape).permute((1, 0)), tensor(*shape[::-1]))]


def column_slice(rows: int, columns: int) -> Workload:
    """The copy of the left half of a matrix, row by row."""

    def steps() -> Sequence[Step]:
        return [copy_step(replace(tensor(rows, 2 * columns), shape=(rows, columns)), tensor(rows, columns))]

    return steps


def elementwise(op: str, *shape: int) -> Workload:
    names = ("i0", "i1") if op == "add" else ("i0",)
    value = Apply(op, tuple(Local(name) for name in names))
    return lambda: [elementwise_step(value, [tensor(*shape) for _ in names], tensor(*shape))]


def row_sum(rows: int, columns: int) -> Workload:
    return lambda: [reduce_step("sum", tensor(rows, columns), tensor(rows, 1), (1,))]


def column_sum(rows: int, columns: int) -> Workload:
    return lambda: [reduce_step("sum", tensor(rows, columns), tensor(1, columns), (0,))]


def softmax(rows: int, columns: int) -> Workload:
    return lambda: [softmax_step(tensor(rows, columns), tensor(rows, columns))]


def arg_max(rows: int, columns: int, axis: int) -> Workload:
    def steps() -> Sequence[Step]:
        indices = dense_temporary(DataType.INT64, (rows if axis else columns,), "indices")
        return [arg_reduce_step(tensor(rows, columns), indices, axis, ArgReduction(is_max=True))]

    return steps


def value_range(count: int) -> Workload:
    return lambda: min_max_steps(tensor(count))[1]


def determinants(matrices: int, size: int) -> Workload:
    return lambda: [determinant_step(tensor(matrices, size, size), tensor(matrices), size)]
