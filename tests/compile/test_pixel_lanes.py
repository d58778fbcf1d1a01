"""Convolutions to few channels have pixels in the lanes of vectors, and results of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import compile_stages, model_of
from sardonyx._src.ir import Model

DRAW = np.random.default_rng(4)


def kernels_of(model: Model) -> list[str]:
    return [step.kernel.key.split(":")[0] for step in compile_stages(model).program.steps]


def assert_agrees(model: Model, *shapes: tuple[int, ...]) -> None:
    """Results are equal, since sums of integers and eighths are exact."""
    native, reference = (sx.Session(model, engine=engine, threads=2) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for shape in shapes:
        feeds = {"x": DRAW.integers(-3, 4, shape).astype(np.float32)}
        np.testing.assert_array_equal(native.run(feeds)["y"], reference.run(feeds)["y"])


@pytest.mark.parametrize("columns", [1, 3, 4])
def test_images(columns: int) -> None:
    model = model_of(
        f"g (float[N,8,H,W] x, float[{columns},8,3,5] w, float[{columns}] w2) => (float[N,M,P,Q] y) {{"
        " c = Conv <pads = [1, 2, 0, 1]> (x, w, w2) y = Relu(c) }"
    )
    assert kernels_of(model) == [f"convolution_pixel_lanes_{columns}"]
    assert_agrees(model, (1, 8, 20, 33), (2, 8, 5, 100), (1, 8, 4, 3))


def test_signals() -> None:
    model = model_of(
        "g (float[N,6,W] x, float[2,6,3] w) => (float[N,M,Q] y) { y = Conv <pads = [3, 3], dilations = [3]> (x, w) }"
    )
    assert kernels_of(model) == ["convolution_pixel_lanes_2"]
    assert_agrees(model, (2, 6, 70), (1, 6, 1))


def test_channels_last_producers_and_operands_of_consumers() -> None:
    """A convolution before, and a sum with another image after the convolution."""
    model = model_of("""
        g (float[N,3,20,40] x, float[16,3,3,3] w, float[3,16,5,5] w2) => (float[N,M,P,Q] y) {
          h = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu(h) c = Conv <pads = [2, 2, 2, 2]> (r, w2) y = Add(c, x)
        }
    """)
    assert_agrees(model, (2, 3, 20, 40))


@pytest.mark.parametrize("before", ["", "h = Conv(x, w2)", "h = Transpose <perm = [0, 1, 3, 2]> (x)"])
def test_pointwise_convolutions_to_one_channel(before: str) -> None:
    """Of images whose pixels, whose channels, and of which neither are contiguous."""
    model = model_of(f"""
        g (float[N,16,H,W] x, float[16,16,1,1] w2, float[1,16,1,1] w, float[1] w3) => (float[N,M,P,Q] y) {{
          {before} c = Conv ({"h" if before else "x"}, w, w3) y = Relu(c) }}
    """)
    assert_agrees(model, (1, 16, 20, 33), (2, 16, 1, 1), (3, 16, 5, 7))


@pytest.mark.parametrize(
    ("dims", "attributes", "weights"),
    [
        ("1,16,20,40", "strides = [1, 1]", "2,16,3,3"),  # by Winograd
        ("1,8,20,40", "strides = [1, 2]", "2,8,3,3"),
        ("1,8,20,40", "group = 2", "2,4,5,5"),
        ("1,8,20,40", "group = 1", "5,8,5,5"),
        ("1,8,20,40", "group = 1", "2,8,1,1"),
        ("1,8,20,15", "group = 1", "2,8,1,3"),
    ],
)
def test_other_convolutions(dims: str, attributes: str, weights: str) -> None:
    model = model_of(
        f"g (float[{dims}] x, float[{weights}] w) => (float[N,M,P,Q] y) {{ y = Conv <{attributes}> (x, w) }}"
    )
    assert not [key for key in kernels_of(model) if "pixel_lanes" in key]
