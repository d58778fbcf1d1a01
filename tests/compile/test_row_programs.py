"""Row programs: gradients of norms and Softmax are one kernel, equal to formulas in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import regions_of
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import partition_model
from sardonyx._src.ir import Array, Model

CLOSE = (2e-5, 1e-5)  # sums of up to 1000 products


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(0.5, 1, shape).astype(np.float32)


# --- patterns --------------------------------------------------------------------------------


def gradient_model(inputs: str, text: str, wrt: Sequence[str]) -> Model:
    """The gradients of a function of a node's result."""
    return sx.gradient(
        parse_model(f"g ({inputs}) => (float[A,B,C] z) {{ {text} a = Sin(y) z = Mul(a, q) }}", opset=23),
        of="z",
        wrt=wrt,
    )


ROWS = "float[3,5,70] x, float[3,5,70] q"
CASES = [
    (f"{ROWS}, float[70] s, float[70] b", "y = LayerNormalization(x, s, b)", ["x", "s", "b"]),
    (f"{ROWS}, float[70] s, float[70] b", "y = LayerNormalization(x, s, b)", ["x"]),
    (f"{ROWS}, float[70] s, float[70] b", "y = LayerNormalization(x, s, b)", ["x", "b"]),
    (f"{ROWS}, float[70] s", "y = LayerNormalization<epsilon = 0.01>(x, s)", ["x", "s"]),
    (f"{ROWS}, float[5,70] s", "y = LayerNormalization<axis = 1>(x, s)", ["x", "s"]),
    ("float[N,M,33] x, float[N,M,33] q, float[33] s", "y = LayerNormalization(x, s)", ["x", "s"]),
    (f"{ROWS}, float[70] s", "y = RMSNormalization(x, s)", ["x", "s"]),
    (
        f"{ROWS}, float[70] s, float[3,5,70] r",
        "t = Add(x, r) n = LayerNormalization(t, s) y = Add(n, t)",
        ["r", "s"],
    ),
    (ROWS, "y = Softmax(x)", ["x"]),
    (ROWS, "y = LogSoftmax(x)", ["x"]),
]


def feeds_of(model: Model) -> dict[str, Array]:
    sizes = {"N": 2, "M": 3}
    return {
        value.name: draw(i, *(d if isinstance(d, int) else sizes[str(d)] for d in value.shape or ()))
        for i, value in enumerate(sx.Session(model, engine="reference").inputs)
    }


@pytest.mark.parametrize(("inputs", "text", "wrt"), CASES)
def test_gradients_are_one_kernel_and_those_of_the_reference_engine(
    inputs: str, text: str, wrt: list[str]
) -> None:
    model = gradient_model(inputs, text, wrt)
    kinds = [region.kind for region in partition_model(model, host_target()).regions]
    assert kinds.count("RowProgram") == 1 and "Reduce" not in kinds
    feeds = feeds_of(model)
    expected = sx.Session(model, engine="reference").run(feeds)
    for threads in (1, 2):
        actual = sx.Session(model, engine="native", threads=threads).run(feeds)
        for name, array in expected.items():
            np.testing.assert_allclose(actual[name], array, *CLOSE)


def test_gradient_of_a_norm_without_scale_is_one_kernel() -> None:
    ones = ", ".join(["1"] * 70)
    text = f"s = Constant<value = float[70] {{{ones}}}>() y = LayerNormalization(x, s)"
    model = gradient_model(ROWS, text, ["x"])
    kinds = [region.kind for region in partition_model(model, host_target()).regions]
    assert kinds.count("RowProgram") == 1
    feeds = feeds_of(model)
    actual, expected = (sx.Session(model, engine=engine).run(feeds) for engine in ("native", "reference"))
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, *CLOSE)


def test_sum_of_a_residual_gradient_is_a_column_sum() -> None:
    """The gradient of a bias that is added before a norm is the sum of the gradient of the norm."""
    inputs = "float[3,5,70] x, float[70] t, float[3,5,70] q, float[70] s"
    text = "h = Add(x, t) n = LayerNormalization(h, s) y = Add(n, h)"
    model = gradient_model(inputs, text, ["t", "s"])
    regions = partition_model(model, host_target()).regions
    (region,) = [region for region in regions if region.kind == "RowProgram"]
    assert len(region.writes) == 3 and not any(region.kind == "Reduce" for region in regions)
    feeds = feeds_of(model)
    actual, expected = (sx.Session(model, engine=engine).run(feeds) for engine in ("native", "reference"))
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, *CLOSE)


def test_values_that_others_read_are_not_fused() -> None:
    body = "p = Mul(d, y) s = ReduceSum(p, axes) e = Sub(d, s) r = Mul(y, e)"
    axes = "axes = Constant<value = int64[1] {-1}>()"
    fused = f"g (float[4,9] d, float[4,9] y) => (float[4,9] r) {{ {axes} {body} }}"
    assert [region.kind for region in regions_of(fused)] == ["RowProgram"]
    shared = f"g (float[4,9] d, float[4,9] y) => (float[4,9] r, float[4,1] s) {{ {axes} {body} }}"
    assert "RowProgram" not in [region.kind for region in regions_of(shared)]
    first = fused.replace("{-1}", "{0}")
    assert "RowProgram" not in [region.kind for region in regions_of(first)]
