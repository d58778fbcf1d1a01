"""Batched GEMM steps of any batch and any strides, against NumPy in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant, pack_tensor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView
from sardonyx._src.ir import Array

LANES = [None, 8, 4, 1]


def assert_close(actual: Array, expected: Array) -> None:
    """Sums of up to a thousand products of about 1, each rounded."""
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-4)


def draw(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def make_target(lanes: int | None) -> Target:
    """The host, or a target with registers of that many lanes."""
    return host_target() if lanes is None else replace(host_target(), lanes=lanes, registers=16)


def compile_for(steps: list[Step], target: Target) -> list[Step]:
    """The steps with kernels that are compiled for a target."""

    def bind_target(kernel: Kernel) -> Callable[[str, Target], str]:
        return lambda name, _: kernel.source(name, target)

    return [
        replace(step, kernel=Kernel(f"{step.kernel.key}_{target.lanes}", bind_target(step.kernel)))
        for step in steps
    ]


class Memory:
    """Arrays, and the tensors that refer to them."""

    def __init__(self) -> None:
        self.arrays: dict[Buffer, Array] = {}

    def tensor(self, array: Array) -> TensorView:
        tensor, buffer = guarded.tensor(array)
        self.arrays[buffer] = array
        return tensor

    def run(self, steps: list[Step], target: Target, sizes: dict[str, int] | None = None) -> None:
        guarded.run(compile_for(steps, target), self.arrays, sizes)


@pytest.mark.parametrize("lanes", LANES)
def test_operands_may_be_views_of_any_strides(lanes: int | None) -> None:
    q, k, v = draw(2, 37, 3, 20, seed=1), draw(2, 45, 3, 20, seed=2), draw(2, 20, 3, 2, 45, seed=3)
    scores, strided_scores = np.zeros((2, 3, 37, 45), np.float32), np.zeros((2, 3, 37, 45), np.float32)
    memory, target = Memory(), make_target(lanes)
    heads = memory.tensor(q).permute((0, 2, 1, 3))
    keys, packing = pack_tensor(memory.tensor(k).permute((0, 2, 3, 1)), target)
    memory.run([*packing, *matmul_steps(heads, keys, memory.tensor(scores))], target)
    expected = np.einsum("bqhd,bkhd->bhqk", q.astype(np.float64), k)
    assert_close(scores, expected)
    v_tensor = memory.tensor(v)
    every_second = replace(
        v_tensor, shape=(2, 20, 3, 45), strides=(*v_tensor.strides[:3], 2)
    )  # every second element
    strided_keys, packing = pack_tensor(every_second.permute((0, 2, 1, 3)), target)
    memory.run([*packing, *matmul_steps(heads, strided_keys, memory.tensor(strided_scores))], target)
    b = v.reshape(2, 20, 3, 90)[..., ::2].transpose(0, 2, 1, 3)
    assert_close(strided_scores, q.transpose(0, 2, 1, 3).astype(np.float64) @ b)


def test_results_may_be_slices() -> None:
    a, b, y = draw(2, 3, 9, 20), draw(20, 17, seed=2), np.full((2, 9, 3, 30), -7, np.float32)
    memory = Memory()
    y_tensor = memory.tensor(y).permute((0, 2, 1, 3))
    y_slice = replace(y_tensor, shape=(2, 3, 9, 17), offset=5)
    memory.run(matmul_steps(memory.tensor(a), pack_constant(b, host_target()), y_slice), host_target())
    expected = np.full((2, 3, 9, 30), -7.0)
    expected[..., 5:22] = a.astype(np.float64) @ b
    assert_close(y.transpose(0, 2, 1, 3), expected)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("function", [None, "gelu"])
def test_bias_and_epilogue_are_fused(function: str | None, lanes: int | None) -> None:
    a, b, y = draw(2, 3, 11, 700), draw(2, 1, 700, 70, seed=2), np.zeros((2, 3, 11, 70), np.float32)
    bias, column, scalar = draw(70, seed=3), draw(70, seed=4), draw(1, seed=5)
    own, shared = draw(2, 3, 11, 70, seed=6), draw(3, 1, 70, seed=7)
    x = Apply("mul", (Local("x"), Local("o0")))
    for i in (1, 2, 3):
        x = Apply("add", (x, Local(f"o{i}")))
    x = Apply("max", (x, Number(-30.0)))
    epilogue = Epilogue(
        x if function is None else Apply(function, (x,)), ("scalar", "column", "matrix", "matrix")
    )
    memory, target = Memory(), make_target(lanes)
    panels = pack_constant(b, target)
    operands = tuple(memory.tensor(array) for array in (scalar, column, own, shared))
    bias_panels = make_constant(pack_bias(bias, panels.tile))
    memory.run(
        matmul_steps(
            memory.tensor(a), panels, memory.tensor(y), bias=bias_panels, epilogue=epilogue, operands=operands
        ),
        target,
    )
    expected = np.maximum((a.astype(np.float64) @ b + bias) * scalar + column + own + shared, -30)
    if function is not None:
        expected = 0.5 * expected * (1 + np.vectorize(math.erf)(expected / np.sqrt(2)))
    assert_close(y, expected)


def test_nan_and_infinities_stay_in_their_rows_and_columns() -> None:
    a, b, y = draw(9, 20), draw(20, 70, seed=2), np.zeros((9, 70), np.float32)
    a[3, 4], a[5, 6], b[7, 8] = np.nan, np.inf, -np.inf
    memory = Memory()
    memory.run(
        matmul_steps(memory.tensor(a), pack_constant(b, host_target()), memory.tensor(y)), host_target()
    )
    with np.errstate(invalid="ignore"):
        assert_close(y, a.astype(np.float64) @ b)
