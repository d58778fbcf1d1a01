"""Joined calls of vector functions: their text, and the same bits as a call for each vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.test_matmul_kernel import Memory, draw, make_target
from models import parse_model
from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.emit_expressions import LoadLocal
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.codegen.joined_calls import group_sizes
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Window
from sardonyx._src.ir import Array

X = Local("x")
SILU = Apply("silu", (X,))
GATED = Apply("add", (Apply("mul", (SILU, Local("o0"))), Local("o0")))  # of a matrix that the result replaces


def emit_calls(value: Scalar, count: int) -> list[str]:
    """The functions that are called for some vectors of eight lanes, in order."""
    b = KernelBuilder(replace(host_target(), has_fma=True, lanes=8))

    def load(i: int) -> LoadLocal:
        return lambda local: LLVMValue(b, LLVMType("float", 8), f"%{local.name}{i}")

    results = b.emit_interleaved([value], [LLVMType("float", 8)], [load(i) for i in range(count)])
    assert [str(vector.type) for (vector,) in results] == ["<8 x float>"] * count
    return [line.split("@")[1].split("(")[0] for line in b.lines if " call " in line]


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (2, [2]), (3, [2, 1]), (4, [4]), (7, [4, 2, 1]), (9, [4, 4, 1])]
)
def test_groups_are_powers_of_two(count: int, sizes: list[int]) -> None:
    assert group_sizes(count) == sizes


def test_calls_for_several_vectors_are_joined() -> None:
    assert emit_calls(SILU, 7) == ["sx_silu_f32", "sx_silu_f16", "sx_silu_f8"]


def test_every_operand_is_joined() -> None:
    assert emit_calls(Apply("pow", (X, Apply("exp", (X,)))), 4) == ["sx_exp_f32", "sx_pow_f32"]


def test_a_number_is_an_operand_of_a_joined_call() -> None:
    assert emit_calls(Apply("pow", (X, Number(2.5))), 2) == ["sx_pow_f16"]


def test_lookups_are_not_joined() -> None:
    assert emit_calls(Apply("gelu", (X,)), 2) == ["sx_gelu_f8", "sx_gelu_f8"]


def silu(x: Array) -> Array:
    """The function by a kernel of its own, element by element in single lanes."""
    result = np.zeros_like(x)
    (source, first), (target, second) = guarded.tensor(x), guarded.tensor(result)
    kernel_target = replace(host_target(), lanes=1)
    step = elementwise_step(Apply("silu", (Local("i0"),)), [source], target)
    kernel = step.kernel
    single = replace(kernel, key=f"{kernel.key}@1", source=lambda name, _: kernel.source(name, kernel_target))
    guarded.run(replace(step, kernel=single), {first: x, second: result})
    return result


def product(a: Array, b: Array, epilogue: Epilogue, y: Array, lanes: int | None) -> None:
    """y = epilogue(a @ b); a matrix operand of the epilogue is y itself."""
    target, memory = make_target(lanes), Memory()
    tensors = memory.tensor(a), pack_constant(b, target), memory.tensor(y)
    operands = (tensors[2],) * len(epilogue.operand_layouts)
    memory.run(matmul_steps(*tensors, epilogue=epilogue, operands=operands), target)


@pytest.mark.parametrize("lanes", [None, 8, 4])
@pytest.mark.parametrize("columns", [16, 32, 37])
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 11, 17])
def test_the_epilogues_of_rows_of_a_tile_are_joined(rows: int, columns: int, lanes: int | None) -> None:
    """Also of an odd number of rows, of which the last one is stored twice."""
    a, b = draw(rows, 20), draw(20, columns, seed=2)
    sums, gated = np.zeros((rows, columns), np.float32), draw(rows, columns, seed=3)
    expected = gated.copy()
    product(a, b, Epilogue(), sums, lanes)
    product(a, b, Epilogue(GATED, ("matrix",)), gated, lanes)
    np.testing.assert_array_equal(gated, silu(sums) * expected + expected)


@pytest.mark.parametrize("width", [7, 8, 19])
@pytest.mark.parametrize("channels", [16, 21])
def test_the_epilogues_of_pixels_of_a_tile_are_joined(channels: int, width: int) -> None:
    x, weights = draw(1, 4, width, channels), draw(9, channels, seed=2)
    results = []
    for epilogue in (Epilogue(), Epilogue(SILU)):
        memory, y = Memory(), np.zeros((1, 4, width, channels), np.float32)
        tx, tw, ty = (memory.tensor(array) for array in (x, weights, y))
        window = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))
        memory.run([depthwise_step(tx, tw, ty, None, window, epilogue)], host_target())
        results.append(y)
    np.testing.assert_array_equal(results[1], silu(results[0]))


@pytest.mark.parametrize("rows", [1, 7, 33])
@pytest.mark.parametrize("function", ["Sigmoid", "Tanh", "Erf"])
def test_an_epilogue_with_a_function_and_a_quantized_result(function: str, rows: int) -> None:
    """Rows are stored as packed bytes, without the interleaved calls of float results."""
    rng = np.random.default_rng(3)
    weights = ", ".join(map(str, rng.integers(-127, 128, 40 * 96).tolist()))
    model = parse_model(f"""g (uint8[N,40] x) => (uint8[N,96] y)
      <float a = {{0.01}}, uint8 p = {{120}}, float b = {{0.004}}, int8 q = {{0}}, int8[40,96] w = {{{weights}}},
       float s = {{0.0078125}}, uint8 z = {{128}}> {{
      d = DequantizeLinear(x, a, p)  e = DequantizeLinear(w, b, q)  m = MatMul(d, e)  t = {function}(m)
      y = QuantizeLinear(t, s, z) }}""")
    x = rng.integers(0, 256, (rows, 40), np.uint8)
    session = sx.Session(model, engine="native")
    expected = sx.Session(model, engine="reference").run({"x": x})["y"].astype(int)
    actual = session.run({"x": x})["y"].astype(int)
    assert (session.stats.fallback_nodes, session.stats.compiler_faults) == (0, {})
    assert np.abs(actual - expected).max() <= 1  # a sum that is rounded otherwise may be another step
