"""Kernels of layer, RMS and group normalization, against formulas in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

# Sums of n products are off by a few ulp of their parts, and all else rounds a handful of times.
CLOSE = (1e-5, 2e-6)
EPSILON = 1e-5


class Memory:
    """float32 arrays by the buffers of their tensors."""

    def __init__(self) -> None:
        self.arrays: dict[Buffer, Array] = {}

    def random_array(self, *shape: int) -> tuple[TensorView, Array]:
        array = np.random.default_rng(len(self.arrays)).normal(1, 2, shape).astype(np.float32)
        return self.add(array), array

    def add(self, array: Array) -> TensorView:
        tensor, buffer = guarded.tensor(array)
        self.arrays[buffer] = array
        return tensor


def standardize(x: Array, axes: tuple[int, ...]) -> Array:
    in_double = x.astype(np.float64)
    deviation = in_double - in_double.mean(axes, keepdims=True)
    return np.asarray(deviation / np.sqrt((deviation**2).mean(axes, keepdims=True) + EPSILON))


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (2, 3, 0), (3, 5, 7)])
def test_statistics_over_trailing_dims(shape: tuple[int, int, int]) -> None:
    memory = Memory()
    (x, a), (scale, s) = memory.random_array(*shape), memory.random_array(*shape[1:])
    y = memory.add(result := np.zeros_like(a))
    mean, inverse = (memory.add(np.zeros((shape[0], 1, 1), np.float32)) for _ in range(2))
    step = layer_norm_step(x, y, 1, NormParams(EPSILON, scale=scale, mean=mean, inverse=inverse))
    guarded.run(step, memory.arrays)
    if a.size:
        np.testing.assert_allclose(result, standardize(a, (1, 2)) * s, *CLOSE)
        means, inverses = memory.arrays[mean.buffer], memory.arrays[inverse.buffer]
        np.testing.assert_allclose(means, a.mean((1, 2), keepdims=True), *CLOSE)
        np.testing.assert_allclose(inverses, 1 / np.sqrt(a.var((1, 2), keepdims=True) + EPSILON), *CLOSE)


def test_epilogue_is_applied_to_the_result() -> None:
    memory = Memory()
    (x, a), (column, c), (matrix, m) = (
        memory.random_array(6, 37),
        memory.random_array(37),
        memory.random_array(6, 37),
    )
    y = memory.add(result := np.zeros_like(a))
    value = Apply("add", (Apply("mul", (RESULT, Local("o0"))), Local("o1")))
    epilogue = Epilogue(value, ("column", "matrix"))
    step = layer_norm_step(x, y, 1, NormParams(EPSILON, epilogue=epilogue, operands=(column, matrix)))
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(result, standardize(a, (1,)) * c + m, *CLOSE)


def test_strided_rows_and_symbolic_dims() -> None:
    memory = Memory()
    n = symbol("N")
    (full_x, a), (bias, b) = memory.random_array(3, 4, 30), memory.random_array(20)
    full_y = memory.add(result := np.full((3, 4, 30), -1, np.float32))
    x, y = (TensorView(t.dtype, (n, 4, 20), (120, 30, 1), t.buffer, 5) for t in (full_x, full_y))
    step = layer_norm_step(x, y, -1, NormParams(EPSILON, bias=bias))
    guarded.run(step, memory.arrays, {"N": 3})
    np.testing.assert_allclose(result[..., 5:25], standardize(a[..., 5:25], (2,)) + b, *CLOSE)
    assert (result[..., :5] == -1).all() and (result[..., 25:] == -1).all()


def test_in_place_and_nan_stays_in_its_row() -> None:
    memory = Memory()
    x, a = memory.random_array(5, 40)
    a[2, 3], a[4, 0] = np.nan, np.inf
    before = a.copy()
    step = layer_norm_step(x, x, -1, NormParams(EPSILON))
    guarded.run(step, memory.arrays)
    assert np.isnan(a[[2, 4]]).all()
    np.testing.assert_allclose(a[[0, 1, 3]], standardize(before[[0, 1, 3]], (1,)), *CLOSE)


@pytest.mark.parametrize("name", ["x", "scale", "operand"])
def test_the_result_may_replace_any_operand_without_an_addend(name: str) -> None:
    memory = Memory()
    tensors = {n: memory.random_array(100)[0] for n in ("x", "scale", "operand")}
    x, scale, operand = (memory.arrays[t.buffer].astype(np.float64) for t in tensors.values())
    epilogue = Epilogue(Apply("add", (RESULT, Local("o0"))), ("column",))
    params = NormParams(EPSILON, scale=tensors["scale"], epilogue=epilogue, operands=(tensors["operand"],))
    step = layer_norm_step(tensors["x"], tensors[name], 0, params)
    assert step.in_place
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(
        memory.arrays[tensors[name].buffer], standardize(x, (0,)) * scale + operand, *CLOSE
    )


def test_a_sum_with_an_addend_is_written_before_other_operands_are_read() -> None:
    memory = Memory()
    x, addend = memory.random_array(4, 30)[0], memory.random_array(4, 30)[0]
    step = layer_norm_step(x, memory.random_array(4, 30)[0], -1, NormParams(EPSILON, addend=addend))
    assert not step.in_place


def test_permuted_rows_have_no_kernel_with_statistics() -> None:
    """Statistics and operands are indexed by the row number, which sorting the dims of the rows would change."""
    memory = Memory()
    x, a = memory.random_array(3, 4, 20)
    y = memory.add(result := np.zeros_like(a))
    mean = memory.add(np.zeros((4, 3, 1), np.float32))
    permuted = x.permute((1, 0, 2)), y.permute((1, 0, 2))
    with pytest.raises(AssertionError, match="in the order of their numbers"):
        layer_norm_step(*permuted, -1, NormParams(EPSILON, mean=mean))
    step = layer_norm_step(*permuted, -1, NormParams(EPSILON))
    guarded.run(step, memory.arrays)
    np.testing.assert_allclose(result, standardize(a, (2,)), *CLOSE)
