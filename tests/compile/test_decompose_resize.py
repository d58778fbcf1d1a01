"""Resize to known sizes is native in all modes and of any axes, as the reference engine computes it."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.stages import stages_of
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(6)
MODES = ["nearest", "linear", "cubic"]


def draw(*shape: int) -> Array:
    return DRAW.standard_normal(shape).astype(np.float32)


def resize_text(dims: str, attributes: str, scales: str = "", sizes: str = "", region: str = "") -> str:
    n = len((scales or sizes).split(","))
    values = {
        "r": f"float[{2 * n}] {{{region}}}" if region else "",
        "s": f"float[{n}] {{{scales}}}" if scales else "",
        "t": f"int64[{n}] {{{sizes}}}" if sizes else "",
    }
    constants = " ".join(f"{name} = Constant <value = {value}> ()" for name, value in values.items() if value)
    operands = ", ".join(name if value else '""' for name, value in values.items())
    result = ",".join(f"R{i}" for i in range(len(dims.split(","))))
    return f"g (float[{dims}] x) => (float[{result}] y) {{ {constants} y = Resize <{attributes}> (x, {operands}) }}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scales", ["1,1,0.5,2,1.5", "1,1,2,0.3,1", "1,1,0.4,0.4,0.4"])
@pytest.mark.parametrize("antialias", [0, 1])
def test_three_dims(mode: str, scales: str, antialias: int) -> None:
    attributes = f'mode = "{mode}"' + f", antialias = {antialias}" * (mode != "nearest")
    assert_engines_agree(resize_text("2,3,6,7,9", attributes, scales=scales), {"x": draw(2, 3, 6, 7, 9)})


@pytest.mark.parametrize(("dims", "scales"), [("N,2,6,7,9", "2,1.5,0.4"), ("N,3,6,7", "2,0.7")])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_axes_of_symbolic_batches_are_resampled_by_steps(dims: str, scales: str, mode: str) -> None:
    axes = [2, 3, 4][: scales.count(",") + 1]
    text = resize_text(dims, f'mode = "{mode}", axes = {axes}, antialias = 1', scales=scales)
    keys = [step.kernel.key for step in stages_of(text, host_target()).program.steps]
    assert [key.rpartition("_")[0] for key in keys].count("resample_rows") == len(axes) - 1
    assert len(keys) == len(axes)
    shape = [int(n) for n in dims.split(",")[1:]]
    assert_engines_agree(text, {"x": draw(2, *shape)}, {"x": draw(1, *shape)})


@pytest.mark.parametrize(
    ("dims", "sizes"), [("4,3,5,6", "2,5,7,6"), ("9", "4"), ("5,7", "7,5"), ("3,17", "3,16")]
)
@pytest.mark.parametrize("mode", MODES)
def test_batches_and_channels(dims: str, sizes: str, mode: str) -> None:
    shape = [int(d) for d in dims.split(",")]
    assert_engines_agree(resize_text(dims, f'mode = "{mode}"', sizes=sizes), {"x": draw(*shape)})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", ["0.5,0.5", "0.13,0.4", "3,0.2"])
@pytest.mark.parametrize("outside", [0, 1])
def test_many_taps(mode: str, scales: str, outside: int) -> None:
    attributes = f'mode = "{mode}", antialias = 1, exclude_outside = {outside}, axes = [2, 3]'
    x = draw(1, 2, 31, 33)
    x[0, 0, 3, 5], x[0, 1, 8, 9] = np.inf, np.nan
    assert_engines_agree(resize_text("1,2,31,33", attributes, scales=scales), {"x": x})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "region", ["0,0,0.4,0.6,1,1,1.2,1.7", "0,0,-0.3,0.2,1,1,0.5,0.7", "0,0,0.9,0.9,1,1,0.1,0.2"]
)
def test_crops_beyond_the_image(mode: str, region: str) -> None:
    attributes = (
        f'mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 10.0'
    )
    assert_engines_agree(
        resize_text("1,2,4,5", attributes, sizes="1,2,3,6", region=region), {"x": draw(1, 2, 4, 5)}
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("sizes", ["7,8", "9,4", "2,11"])
def test_aspect_ratios(mode: str, policy: str, sizes: str) -> None:
    attributes = f'mode = "{mode}", keep_aspect_ratio_policy = "{policy}", axes = [2, 3]'
    for dims, shape in (("1,2,4,6", (1, 2, 4, 6)), ("N,2,4,6", (3, 2, 4, 6))):
        assert_engines_agree(resize_text(dims, attributes, sizes=sizes), {"x": draw(*shape)})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("shape", ["0,2", "1,2,0,3", "1,3,4,0"])
def test_images_without_pixels(shape: str, mode: str) -> None:
    text = f"""g (float[{shape}] x) => (float[] y) {{
      two = Constant <value_int = 2> ()  size = Shape(x)  sizes = Mul(size, two)
      y = Resize <mode = "{mode}"> (x, , , sizes) }}"""
    dims = [int(n) for n in shape.split(",")]
    session = sx.Session(parse_model(text), engine="native")
    for _ in range(2):
        assert session.run({"x": np.zeros(dims, np.float32)})["y"].shape == tuple(2 * n for n in dims)
    assert not session.stats.compiler_faults
