"""Operands of elementwise kernels that an Expand repeats: read as broadcast ones, without a copy."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model

TEXT = """g (float[4,8] x, float[{sizes}] s) => (float[4,8] y)
  <int64[2] n = {{4, 8}}> {{ e = Expand(s, n) y = Mul(x, e) }}"""
X = np.arange(32, dtype=np.float32).reshape(4, 8)


@pytest.mark.parametrize("sizes", ["4,1", "8", "1,8", "1,1"])
def test_they_are_not_copied(sizes: str) -> None:
    model = parse_model(TEXT.format(sizes=sizes), opset=28)
    (step,) = compile_model(model, host_target(), verify=True).program.steps
    assert step.kernel.key.startswith("elementwise")
    shape = [int(size) for size in sizes.split(",")]
    s = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    y = sx.Session(model, engine="native").run({"x": X, "s": s})["y"]
    np.testing.assert_array_equal(y, X * s)


def test_a_kernel_over_channels_last_reads_them_too() -> None:
    """The sums of an average over pixels are repeated for a convolution's result, which is channels-last."""
    model = parse_model(
        """g (float[1,3,5,5] x) => (float[1,2,5,5] y)
          <float[2,3,1,1] w = {1, 2, 3, 4, 5, 6}, int64[4] n = {1, 2, 5, 5}> {
            c = Conv(x, w) m = GlobalAveragePool(c) e = Expand(m, n) y = Mul(c, e)
        }""",
        opset=28,
    )
    x = np.arange(75, dtype=np.float32).reshape(1, 3, 5, 5) / 75
    y = sx.Session(model, engine="native").run({"x": x})["y"]
    c = np.einsum("nchw,mc->nmhw", x, np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    np.testing.assert_allclose(y, c * c.mean((2, 3), keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    "sizes", [((3, 4), (3, 4)), ((1, 4), (3, 4)), ((3, 1), (3, 4)), ((3, 4), (1, 1))], ids=str
)
def test_expand_to_the_shape_of_an_input(sizes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    text = "g (float[N,M] x, float[A,B] z) => (float[C,D] y) { k = Shape(z) e = Expand(x, k) t = Transpose(e) y = Neg(t) }"
    x, z = (np.random.default_rng(1).normal(size=size).astype(np.float32) for size in sizes)
    assert_engines_agree(text, {"x": x, "z": z})
