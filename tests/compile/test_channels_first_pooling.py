"""Pooling of channels-first images: kernels that need no copy of the image, in every size, with special values."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.reference_comparison import assert_close, normal
from compile.stages import AVX512, stages_of
from models import parse_model
from sardonyx._src.compile.layouts.laid_out import LayoutCopy

NODES = {
    "MaxPool": "MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
    "AveragePool": "AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
    "LpPool": "LpPool <kernel_shape = [2, 2], strides = [2, 2]>",
    "GlobalAveragePool": "GlobalAveragePool",
    "GlobalMaxPool": "GlobalMaxPool",
}


@pytest.mark.parametrize("operator", NODES)
@pytest.mark.parametrize("dims", ["2,5,9,40", "N,5,H,W", "N,C,H,W"])
def test_a_fed_image_is_not_copied(operator: str, dims: str) -> None:
    stages = stages_of(f"g (float[{dims}] x) => (float[A,B,D,E] y) {{ y = {NODES[operator]}(x) }}", AVX512)
    assert not [item for item in stages.laid_out.items if isinstance(item, LayoutCopy)]
    assert len(stages.program.steps) == 1


@pytest.mark.parametrize("operator", NODES)
def test_an_image_that_a_convolution_writes_stays_channels_last(operator: str) -> None:
    text = f"""g (float[1,16,9,9] x, float[16,16,3,3] w) => (float[A,B,D,E] y)
        {{ c = Conv(x, w)  p = {NODES[operator]}(c)  y = Conv(p, w1) }}"""
    text = text.replace("g (", "g (float[16,16,1,1] w1, ")
    stages = stages_of(text, AVX512)
    assert ("Pool" if operator in ("MaxPool", "AveragePool", "LpPool") else "GlobalPool") in stages.kinds


@pytest.mark.parametrize("operator", NODES)
def test_open_sizes(operator: str) -> None:
    model = parse_model(
        f"g (float[N,C,H,W] x) => (float[A,B,D,E] y) {{ y = {NODES[operator]}(x) }}", opset=28
    )
    reference = sx.Session(model, engine="reference")
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    for shape in [(1, 1, 2, 2), (2, 3, 7, 5), (1, 2, 33, 70), (1, 1, 4, 1500), (0, 2, 4, 4), (3, 0, 4, 4)]:
        x = normal(*shape, seed=sum(shape))
        expected = np.asarray(reference.run({"x": x})["y"])
        first, second = (np.asarray(session.run({"x": x})["y"]) for session in sessions)
        assert_close(first, expected)
        assert first.tobytes() == second.tobytes()
    assert sessions[0].stats.fallback_nodes == 0 and not sessions[0].stats.bailouts


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("dims", ["1,4,4,0", "N,C,H,W"])
def test_an_image_without_columns(operator: str, dims: str) -> None:
    node = f"{operator} <kernel_shape = [3, 1], pads = [1, 0, 1, 0]>"
    model = parse_model(f"g (float[{dims}] x) => (float[A,B,D,E] y) {{ y = {node}(x) }}", opset=28)
    session = sx.Session(model, engine="native")
    assert session.run({"x": np.zeros((1, 4, 4, 0), np.float32)})["y"].shape == (1, 4, 4, 0)
    lengths = {} if "0" in dims else {"N": 1, "C": 4, "H": 4, "W": 0}
    assert session.plan(lengths).peak == 0


def test_one_dim() -> None:
    model = parse_model(
        "g (float[N,C,W] x) => (float[A,B,D] y) { y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 0]> (x) }",
        opset=28,
    )
    x = np.arange(10, dtype=np.float32).reshape(1, 2, 5)
    y = sx.Session(model, engine="native").run({"x": x})["y"]
    np.testing.assert_array_equal(y, np.array([[[0.5, 2], [5.5, 7]]], np.float32))


def test_nan_and_infinity_are_maxima() -> None:
    model = parse_model(
        "g (float[1,1,2,6] x) => (float[1,1,1,3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"
    )
    x = np.array(
        [[[[1, -np.inf, -np.inf, -np.inf, 2, np.inf], [np.nan, 0, -np.inf, -np.inf, 3, 4]]]], np.float32
    )
    y = sx.Session(model, engine="native").run({"x": x})["y"]
    np.testing.assert_array_equal(y, np.array([[[[np.nan, -np.inf, np.inf]]]], np.float32))


def test_windows_of_padding() -> None:
    """Windows without elements: the maximum is minus infinity, the mean that of nothing."""
    text = "g (float[1,1,1,3] x) => (float[1,1,1,2] y) {{ y = {} <kernel_shape = [1, 2], strides = [1, 3], pads = [0, 2, 0, 0]> (x) }}"
    x = np.array([[[[5, 7, 9]]]], np.float32)
    for operator, expected in (("MaxPool", [-np.inf, 9]), ("AveragePool", [np.nan, 8])):
        model = parse_model(text.format(operator), opset=28)
        results = [sx.Session(model, engine=engine).run({"x": x})["y"] for engine in ("native", "reference")]
        for y in results:
            np.testing.assert_array_equal(y, np.array([[[expected]]], np.float32))
