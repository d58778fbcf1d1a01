"""RoiAlign is native in all modes, and refuses regions as the reference engine does."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(3)


def model_text(attributes: str, dtype: str = "float", dims: str = "N,C,H,W") -> str:
    attributes = f"output_height = 3, output_width = 2, {attributes}"
    return f"""g ({dtype}[{dims}] x, {dtype}[R,4] rois, int64[R] images) => ({dtype}[R,C,3,2] y)
        {{ y = RoiAlign <{attributes}> (x, rois, images) }}"""


def regions(count: int, size: float, images: int, dtype: type = np.float32) -> dict[str, Array]:
    corner = DRAW.uniform(-0.3 * size, size, (count, 2))
    extent = DRAW.uniform(-0.2 * size, size, (count, 2))
    rois: Array = np.concatenate([corner, corner + extent], 1).astype(dtype)
    return {"rois": rois, "images": DRAW.integers(0, images, count)}


@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize(
    "rest", ["sampling_ratio = 2", "sampling_ratio = 0", "sampling_ratio = 3, spatial_scale = 0.5"]
)
def test_modes(rest: str, mode: str, coordinates: str) -> None:
    text = model_text(f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}", {rest}')
    feeds = [
        {"x": normal(2, 5, 8, 9), **regions(7, 9, 2)},
        {"x": normal(1, 33, 4, 3) - 2, **regions(3, 4, 1)},
        {"x": normal(1, 2, 4, 3), **regions(0, 4, 1)},
        {"x": normal(1, 0, 4, 3), **regions(2, 4, 1)},
    ]
    assert_engines_agree(text, *feeds)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("dtype", ["double", "float16"])
def test_other_types(dtype: str, mode: str) -> None:
    numpy_type = {"double": np.float64, "float16": np.float16}[dtype]
    feeds: dict[str, Array] = {"x": normal(2, 20, 6, 7).astype(numpy_type), **regions(5, 7, 2)}
    feeds["rois"] = feeds["rois"].astype(numpy_type)
    assert_engines_agree(model_text(f'mode = "{mode}"', dtype), feeds)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_infinite_and_missing_pixels(mode: str) -> None:
    x = normal(1, 3, 5, 5)
    x[0, 0, 2, 2], x[0, 1, 0, 0] = np.inf, np.nan
    feeds = {"x": x, **regions(12, 6, 1)}
    assert_engines_agree(model_text(f'mode = "{mode}", sampling_ratio = 2'), feeds)


@pytest.mark.parametrize("fault", [np.inf, np.nan, "image", "negative"])
def test_invalid_regions_are_refused_alike(fault: float | str) -> None:
    feeds = {"x": normal(2, 3, 5, 5), **regions(4, 5, 2)}
    if isinstance(fault, str):
        feeds["images"][1] = 2 if fault == "image" else -1
    else:
        feeds["rois"][2, 3] = fault
    model, messages = parse_model(model_text("sampling_ratio = 0"), opset=28), []
    for engine in ("native", "reference"):
        session = sx.Session(model, engine="native" if engine == "native" else "reference")
        with pytest.raises(sx.EvaluationError) as error:
            session.run(feeds)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_regions_of_very_many_points_are_left_to_the_reference_kernel() -> None:
    text = model_text("sampling_ratio = 0")
    session = sx.Session(parse_model(text, opset=28), engine="native")
    feeds = {"x": normal(1, 2, 4, 4), "rois": np.array([[0, 0, 4e5, 3]], np.float32), "images": np.array([0])}
    expected = sx.Session(parse_model(text, opset=28), engine="reference").run(feeds)["y"]
    np.testing.assert_array_equal(np.asarray(session.run(feeds)["y"]), np.asarray(expected))
