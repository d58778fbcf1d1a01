"""Rows rounded to int8 are shared by the products that read one value, within one graph or body."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Value

K, N = 256, 512


def product(b: sx.ir.GraphBuilder, x: Value, name: str, block: int = 32) -> Value:
    """x times a drawn matrix [K, N] of 4 bits."""
    draw = np.random.default_rng(len(name))
    codes = b.constant(f"{name}.codes", draw.integers(0, 256, (N, K // block, block // 2), np.uint8))
    scales = b.constant(f"{name}.scales", draw.random(N * K // block, np.float32))
    sizes = {"K": K, "N": N, "bits": 4, "block_size": block, "accuracy_level": 4}
    return b.node("MatMulNBits", [x, codes, scales], domain="com.microsoft", **sizes).outputs[0]  # type: ignore[arg-type]


def model_of(*blocks: int, normalizes: bool = False) -> Model:
    """Products of x, and of its negative if `normalizes`, by matrices with blocks of these sizes."""
    b = sx.ir.GraphBuilder(21, name="g")
    b.imports["com.microsoft"] = 1
    x = b.input("x", DataType.FLOAT, ["rows", K])
    for number, block in enumerate(blocks):
        b.output(
            product(b, b.Neg(x) if normalizes and number else x, "w" * (number + 1), block), f"y{number}"
        )
    return b.model()


def count_quantizations(model: Model) -> int:
    steps = compile_model(model, host_target()).program.steps
    return sum(step.kernel.key.startswith("int8_blocks") for step in steps)


@pytest.mark.parametrize(
    ("model", "count"), [(model_of(32, 32), 1), (model_of(32, 64), 2), (model_of(32, 32, normalizes=True), 2)]
)
def test_products_of_one_value_share_rows(model: Model, count: int) -> None:
    assert count_quantizations(model) == count


def test_shared_rows_have_the_results_of_separate_models() -> None:
    x = np.random.default_rng(0).standard_normal((3, K), np.float32)
    both = sx.Session(model_of(32, 32), engine="native").run({"x": x})
    single = sx.Session(model_of(32), engine="native").run({"x": x})
    np.testing.assert_array_equal(both["y0"], single["y0"])
    assert not np.array_equal(both["y1"], both["y0"])


@pytest.mark.parametrize("condition", [True, False])
def test_branches_quantize_rows_for_themselves(condition: bool) -> None:
    """A branch that does not run must not be what another product relies on."""
    text = """
        <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
        g (float[2,256] x, bool c, uint8[512,8,16] w, float[4096] s) => (float[2,512] y, float[2,512] z) {
            y = If(c) <then_branch = t () => (float[2,512] a) {
                a = com.microsoft.MatMulNBits<K = 256, N = 512, bits = 4, block_size = 32, accuracy_level = 4>(x, w, s)
            }, else_branch = e () => (float[2,512] b) { b = Concat<axis = 1>(x, x) }>
            z = com.microsoft.MatMulNBits<K = 256, N = 512, bits = 4, block_size = 32, accuracy_level = 4>(x, w, s)
        }
    """
    model = sx.from_text(text)
    draw = np.random.default_rng(3)
    values = {"w": draw.integers(0, 256, (512, 8, 16), np.uint8), "s": draw.random(4096, np.float32)}
    for value in list(model.graph.inputs)[2:]:
        model.graph.remove_input(value)
        value.initializer = sx.ir.Tensor.of(values[value.name])
        model.graph.add_initializer(value)
    x = draw.standard_normal((2, 256), np.float32)
    results = sx.Session(model, engine="native").run({"x": x, "c": np.array(condition)})
    single = sx.Session(model_of_values(values), engine="native").run({"x": x})["y0"]
    np.testing.assert_array_equal(results["z"], single)
    np.testing.assert_array_equal(results["y"], single if condition else np.concatenate([x, x], axis=1))


def model_of_values(values: dict[str, Array]) -> Model:
    b = sx.ir.GraphBuilder(21, name="g")
    b.imports["com.microsoft"] = 1
    operands = [b.input("x", DataType.FLOAT, ["rows", K]), *(b.constant(k, v) for k, v in values.items())]
    sizes = {"K": K, "N": N, "bits": 4, "block_size": 32, "accuracy_level": 4}
    node = b.node("MatMulNBits", operands, domain="com.microsoft", **sizes)  # type: ignore[arg-type]
    b.output(node.outputs[0], "y0")
    return b.model()
