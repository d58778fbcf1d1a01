"""Updates of states in the epilogue of the product that computes their gradient."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from models import parse_model
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.panels import pack_tensor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model, partition_model
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array

CLOSE = (1e-5, 1e-4)  # sums of up to 600 products
VELOCITY = Apply("add", (Apply("mul", (Local("o0"), Number(0.5))), RESULT))
WEIGHT = Apply("sub", (Local("o1"), Apply("mul", (VELOCITY, Local("o2")))))


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("k", [5, 600])
@pytest.mark.parametrize("columns", [33, 64, 130])
@pytest.mark.parametrize("rows", [1, 19, 53])
def test_kernel_writes_all_results(rows: int, columns: int, k: int) -> None:
    a, b, velocity, weight, rate = (
        draw(1, k, rows),
        draw(2, k, columns),
        draw(3, rows, columns),
        draw(4, rows, columns),
        draw(5, 1),
    )
    results = [np.full((rows, columns), np.nan, np.float32) for _ in range(2)]
    arrays = (a, b, velocity, weight, rate, *results)
    tensors, buffers = zip(*map(guarded.tensor, arrays), strict=True)
    panels, packing = pack_tensor(tensors[1], guarded.target())
    epilogue = Epilogue(VELOCITY, ("matrix", "matrix", "scalar"), further=(WEIGHT,))
    left = tensors[0].permute((1, 0))
    steps = matmul_steps(
        left, panels, tensors[5], epilogue=epilogue, operands=tensors[2:5], further=(tensors[6],)
    )
    size = panels.tensor.buffer.size
    assert isinstance(size, int)
    memory = dict(zip(buffers, arrays, strict=True)) | {panels.tensor.buffer: np.zeros(size // 4, np.float32)}
    guarded.run([*packing, *steps], memory)
    new_velocity = velocity * 0.5 + a.T.astype(np.float64) @ b
    np.testing.assert_allclose(results[0], new_velocity, *CLOSE)
    np.testing.assert_allclose(results[1], weight - new_velocity * rate, *CLOSE)


UPDATE = "w0 = Mul(w, decay) m = Mul(v, half) t = Mul(g, half) nv = Add(m, t) s = Mul(nv, r) nw = Sub(w0, s)"
SCALARS = "half = Constant<value_float = 0.5>() decay = Constant<value_float = 0.9>() r = Mul(rate, half)"


def training_step(rows: int, columns: int, update: str = UPDATE, outputs: str = "nv, nw") -> Model:
    """The gradient x' dy, and an update of w and its velocity v with a rate that is computed after it."""
    shape = f"float[{rows},{columns}]"
    results = ", ".join(f"{shape} {name}" for name in outputs.split(", "))
    return parse_model(
        f"""g (float[40,{rows}] x, float[40,{columns}] dy, {shape} w, {shape} v, float rate) => ({results}) {{
          xt = Transpose(x) g = MatMul(xt, dy) {SCALARS} {update}
        }}"""
    )


def kernels_of(model: Model) -> list[str]:
    program = compile_model(model, host_target(), verify=True).program
    return [step.kernel.key.partition("_")[0].partition("/")[0] for step in program.steps]


@pytest.mark.parametrize(("rows", "columns"), [(17, 33), (64, 64), (200, 130)])
def test_update_is_part_of_the_product(rows: int, columns: int) -> None:
    model = training_step(rows, columns)
    assert kernels_of(model) == ["elementwise", "panels", "matmul"]  # the rate, and the product
    feeds = {
        "x": draw(1, 40, rows),
        "dy": draw(2, 40, columns),
        "w": draw(3, rows, columns),
        "v": draw(4, rows, columns),
        "rate": np.float32(0.1),
    }
    expected = sx.Session(model, engine="reference").run(feeds)
    results = [sx.Session(model, engine="native", threads=n).run(feeds) for n in (1, 2, 3)]
    for name, array in expected.items():
        np.testing.assert_allclose(results[0][name], array, *CLOSE)
        assert all(
            np.array_equal(np.asarray(result[name]), np.asarray(results[0][name])) for result in results
        )


@pytest.mark.parametrize(
    "model",
    [
        training_step(16, 130),  # few rows, of which another kernel packs nothing
        training_step(200, 16),
        training_step(64, 64, outputs="nv, nw, g"),  # the gradient is read elsewhere
        training_step(64, 64, f"{UPDATE} z = MatMul(nv, nw)", "z"),  # the results are no outputs
        training_step(
            64,
            64,
            f"a = Constant<value = int64[1] {{0}}>() q = ReduceSum(g, a) {UPDATE} z = Mul(q, nw)",
            "nv, z",
        ),
    ],
    ids=["rows", "columns", "gradient", "results", "norm"],
)
def test_other_updates_are_kernels_of_their_own(model: Model) -> None:
    program = compile_model(model, host_target(), verify=True).program
    products = [step for step in program.steps if "g" in step.nodes and "panels" not in step.kernel.key]
    assert products and all(len(step.writes) == 1 for step in products)


def test_numbers_of_inputs_come_first() -> None:
    scope = partition_model(training_step(64, 64), host_target()).scope
    order = [node.outputs[0].name for node in scope.order]
    before = [node.outputs[0].name for node in scope.graph.nodes]
    assert before.index("r") > before.index("g")
    assert order == ["r", *(name for name in before if name != "r")]
