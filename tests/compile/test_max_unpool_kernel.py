"""MaxUnpool is native for every element type, and refuses indices as the reference engine does."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.ir import Array

F = np.float32
DRAW = np.random.default_rng(2)
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16}


@pytest.mark.parametrize(
    "rest", ["strides = [2, 2]", "strides = [2, 3], pads = [1, 0, 0, 1]", "strides = [1, 1]"]
)
@pytest.mark.parametrize("dims", ["2,3,2,3", "N,C,H,W"])
@pytest.mark.parametrize("dtype", [*TYPES])
def test_max_unpool(dtype: str, dims: str, rest: str) -> None:
    text = f"""g ({dtype}[{dims}] x, int64[{dims}] i) => ({dtype}[A,B,D,E] y)
        {{ y = MaxUnpool <kernel_shape = [2, 2], {rest}> (x, i) }}"""
    x: Array = DRAW.standard_normal((2, 3, 2, 3)).astype(TYPES[dtype])
    assert_engines_agree(text, {"x": x, "i": DRAW.integers(0, 30, x.shape)})


@pytest.mark.parametrize(("size", "fallbacks"), [("1, 1, 4, 6", 0), ("1, 1, 5, 6", 0)])
def test_output_shapes(size: str, fallbacks: int) -> None:
    text = f"""g (float[1,1,2,3] x, int64[1,1,2,3] i) => (float[A,B,D,E] y) <int64[4] size = {{{size}}}>
        {{ y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (x, i, size) }}"""
    feeds = {"x": normal(1, 1, 2, 3), "i": np.arange(6).reshape(1, 1, 2, 3)}
    assert_engines_agree(text, feeds, fallbacks=fallbacks)


@pytest.mark.parametrize("index", [-1, 24, -(2**63), 2**63 - 1])
def test_max_unpool_refuses_indices_out_of_range(index: int) -> None:
    text = """g (float[1,1,2,3] x, int64[1,1,2,3] i) => (float[1,1,4,6] y)
        { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }"""
    feeds = {"x": np.ones((1, 1, 2, 3), F), "i": np.array([0, 1, index, 3, 4, 5]).reshape(1, 1, 2, 3)}
    messages = []
    for engine in ("native", "reference"):
        session = sx.Session(
            parse_model(text, opset=24), engine="native" if engine == "native" else "reference"
        )
        with pytest.raises(sx.EvaluationError) as error:
            session.run(feeds)
        messages.append(str(error.value))
    assert messages[0] == messages[1] and "indices must lie in [0, 24)" in messages[0]
