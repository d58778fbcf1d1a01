"""GridSample of every mode is native, by its kernel or as gathers, and agrees with the reference kernel."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model

F = np.float32


def sample_text(spatial: int, sizes: str, attributes: str) -> str:
    points = ", ".join("PQR"[:spatial])
    return (
        f"g (float[N,C,{sizes}] x, float[N,{points},{spatial}] grid) => (float[N,C,{points}] y) "
        f"{{ y = GridSample <{attributes}> (x, grid) }}"
    )


def assert_samples(text: str, sizes: tuple[int, ...], *, atol: float = 1e-5) -> None:
    model = parse_model(text, opset=22)
    native, reference = (sx.Session(model, engine=engine, threads=1) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    draw = np.random.default_rng(9)
    for batch, channels, points in ((1, 1, 1), (2, 3, 4), (1, 17, 3)):
        grid = draw.uniform(-1.6, 1.6, (batch, *[points] * len(sizes), len(sizes))).astype(F)
        grid.reshape(-1)[:5] = [-1, 1, 0, 9, np.nan][: grid.size]
        feeds = {"x": draw.standard_normal((batch, channels, *sizes)).astype(F), "grid": grid}
        actual, expected = native.run(feeds)["y"], reference.run(feeds)["y"]
        np.testing.assert_allclose(actual, expected, atol=atol)
    assert not native.stats.bailouts


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_images(mode: str, padding: str, corners: int) -> None:
    attributes = f'mode = "{mode}", padding_mode = "{padding}", align_corners = {corners}'
    for sizes in ((5, 7), (1, 4))[: 2 if mode == "linear" else 1]:
        assert_samples(sample_text(2, ",".join(map(str, sizes)), attributes), sizes)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("sizes", [(6,), (3, 4, 5)])
def test_lines_and_volumes(mode: str, sizes: tuple[int, ...]) -> None:
    text = sample_text(len(sizes), ",".join(map(str, sizes)), f'mode = "{mode}", padding_mode = "border"')
    assert_samples(text, sizes)


def test_pixels_outside_are_zeros_though_the_border_is_infinite() -> None:
    model = parse_model(sample_text(2, "2,2", 'mode = "linear"'), opset=22)
    x = np.full((1, 1, 2, 2), np.inf, F)
    grid = np.full((1, 1, 1, 2), 3, F)
    assert sx.Session(model, engine="native").run({"x": x, "grid": grid})["y"] == 0


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_images_of_any_size(mode: str, padding: str) -> None:
    assert_samples(sample_text(2, "H,W", f'mode = "{mode}", padding_mode = "{padding}"'), (5, 3))


@pytest.mark.parametrize("sizes", ["H,W", "0,2"])
def test_images_without_pixels_are_errors(sizes: str) -> None:
    session = sx.Session(parse_model(sample_text(2, sizes, 'mode = "linear"'), opset=22), engine="native")
    with pytest.raises(sx.EvaluationError, match="X must have pixels"):
        session.run({"x": np.zeros((1, 1, 0, 2), F), "grid": np.zeros((1, 1, 1, 2), F)})


def test_other_types_are_left_to_the_reference_kernel() -> None:
    text = sample_text(2, "3,3", 'mode = "nearest"').replace("float[N,C", "int32[N,C")
    session = sx.Session(parse_model(text, opset=22), engine="native")
    x, grid = np.arange(9, dtype=np.int32).reshape(1, 1, 3, 3), np.zeros((1, 1, 1, 2), F)
    assert session.run({"x": x, "grid": grid})["y"] == 4
