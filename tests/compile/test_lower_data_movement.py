"""Lowering of operators that move data or select it by indices: native steps that match the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from compile.stages import stages_of
from models import parse_model
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

CONV = "w = Constant <value = float[8,8,1,1] {WEIGHTS}> ()  c = Conv(x, w)".replace(
    "WEIGHTS", ", ".join(str(i % 7 - 3) for i in range(64))
)
PRODUCERS = pytest.mark.parametrize("producer", ["c = Identity(x)", CONV], ids=["plain", "channels-last"])


@PRODUCERS
@pytest.mark.parametrize(
    "pads", [(0, 0, 1, 2, 0, 0, 3, 0), (1, 2, 0, 0, 0, 1, 0, 0), (0, 0, -1, 1, 0, 0, 0, -1)]
)
def test_constant_pad(producer: str, pads: tuple[int, ...]) -> None:
    text = f"""g (float[N,8,H,W] x) => (float[A,B,C,D] y) {{
      {producer}
      pads = Constant <value = int64[8] {{{", ".join(map(str, pads))}}}> ()
      value = Constant <value = float {{-1.5}}> ()
      y = Pad(c, pads, value)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 4, 5)}, {"x": normal(1, 8, 9, 2)})


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad_or_crop_to_a_fixed_size(mode: str) -> None:
    text = f"""g (float[2,N] x) => (float[2,10] y) <int64 size = {{10}}, int64[4] last = {{0, 0, 0, 1}}> {{
      n = Shape <start = 1> (x)
      missing = Sub(size, n)
      pads = Mul(missing, last)
      y = Pad <mode = "{mode}"> (x, pads)
    }}"""
    assert_matches_reference(text, *({"x": normal(2, n)} for n in (7, 10, 13, 6)))


@pytest.mark.parametrize("mode", ["reflect", "edge"])
@pytest.mark.parametrize("pads", [(2, -1), (-1, 2), (-2, -1), (3, -5)], ids=str)
def test_pads_that_extend_one_end_and_crop_the_other(mode: str, pads: tuple[int, int]) -> None:
    text = f"""g (float[2,N] x) => (float[2,A] y) {{
      pads = Constant <value = int64[4] {{0, {pads[0]}, 0, {pads[1]}}}> ()
      y = Pad <mode = "{mode}"> (x, pads)
    }}"""
    assert_matches_reference(text, *({"x": normal(2, n)} for n in (9, 12)))


def test_pads_that_crop_more_than_there_is_bail_out() -> None:
    text = """g (float[N] x) => (float[A] y) {
      pads = Constant <value = int64[2] {4, -3}> ()
      y = Pad(x, pads)
    }"""
    assert_matches_reference(text, {"x": normal(5)}, {"x": normal(3)})
    program = NativeProgram(compile_for_host(parse_model(text)), 1)
    with pytest.raises(Bailout):
        program.run({"x": normal(2)}, RunLimits(), RandomSource(0))


@PRODUCERS
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_reflect_edge_and_wrap_pad(producer: str, mode: str) -> None:
    text = f"""g (float[N,8,6,5] x) => (float[N,8,A,B] y) {{
      {producer}
      pads = Constant <value = int64[4] {{2, 1, 0, 3}}> ()
      axes = Constant <value = int64[2] {{2, -1}}> ()
      y = Pad <mode = "{mode}"> (c, pads, , axes)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 6, 5)})


def test_reflect_pad_larger_than_the_axis_bails_out() -> None:
    text = """g (float[1,N] x) => (float[1,M] y) {
      pads = Constant <value = int64[4] {0, 3, 0, 3}> ()
      y = Pad <mode = "reflect"> (x, pads)
    }"""
    assert_matches_reference(text, {"x": normal(1, 4)}, {"x": normal(1, 50)})
    program = NativeProgram(compile_for_host(parse_model(text)), 1)
    with pytest.raises(Bailout):
        program.run({"x": normal(1, 3)}, RunLimits(), RandomSource(0))


@pytest.mark.parametrize("dims", ["N,6", "4,M", "4,6"])
@pytest.mark.parametrize("bounds", [(-1, -9999, -1), (-2, -9999, -2), (-1, -3, -1)], ids=str)
def test_reversed_slices(dims: str, bounds: tuple[int, int, int]) -> None:
    start, end, step = bounds
    text = f"""g (float[{dims}] x) => (float[A,B] y) {{
      start = Constant <value = int64[1] {{{start}}}> ()
      end = Constant <value = int64[1] {{{end}}}> ()
      axis = Constant <value = int64[1] {{0}}> ()
      step = Constant <value = int64[1] {{{step}}}> ()
      s = Slice(x, start, end, axis, step)
      y = Exp(s)
    }}"""
    assert_matches_reference(text, {"x": normal(4, 6)})


BEYOND_ANY_AXIS = 2**31 - 1


@pytest.mark.parametrize("step", [1, 3, -1, -2])
@pytest.mark.parametrize("start", [0, 2, 7, BEYOND_ANY_AXIS, -1, -4, -BEYOND_ANY_AXIS])
@pytest.mark.parametrize("end", [0, 3, BEYOND_ANY_AXIS, -1, -3, -BEYOND_ANY_AXIS])
def test_slice_bounds_are_clamped_to_axes_of_any_size(start: int, end: int, step: int) -> None:
    text = f"""g (float[N,2] x) => (float[A,B] y)
      <int64[1] a = {{{start}}}, int64[1] b = {{{end}}}, int64[1] axis = {{0}}, int64[1] by = {{{step}}}> {{
      s = Slice(x, a, b, axis, by)
      y = Neg(s)
    }}"""
    assert_matches_reference(text, *({"x": normal(n, 2)} for n in (5, 1, 0, 3, 9)), native=False)


def test_slice_bounds_computed_from_sizes() -> None:
    text = """g (float[N] x, float[M] z) => (float[A] y) {
      n = Shape(x)
      m = Shape(z)
      s = Slice(x, m, n)
      y = Neg(s)
    }"""
    assert_matches_reference(
        text, *({"x": normal(n), "z": normal(m)} for n, m in ((9, 4), (9, 9), (9, 0), (4, 5), (0, 0)))
    )


@PRODUCERS
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("operator", ["DepthToSpace", "SpaceToDepth"])
def test_depth_to_space_and_space_to_depth(producer: str, mode: str, operator: str) -> None:
    text = f"""g (float[N,8,4,6] x) => (float[N,C,H,W] y) {{
      {producer}
      y = {operator} <blocksize = 2, mode = "{mode}"> (c)
    }}"""
    assert_matches_reference(text, {"x": normal(3, 8, 4, 6)}, {"x": normal(1, 8, 4, 6)})


def test_depth_to_space_of_symbolic_images() -> None:
    text = "g (float[N,8,H,W] x) => (float[N,2,A,B] y) { y = DepthToSpace <blocksize = 2> (x) }"
    assert_matches_reference(
        text, {"x": normal(3, 8, 4, 6)}, {"x": normal(1, 8, 0, 3)}, {"x": normal(1, 8, 1, 1)}
    )


def test_tile() -> None:
    text = """g (float[A,B] x) => (float[C,D] y) {
      times = Constant <value = int64[2] {2, 3}> ()
      y = Tile(x, times)
    }"""
    assert_matches_reference(text, {"x": normal(4, 5)}, {"x": normal(1, 0)})


def test_constant_of_shape_and_dropout_in_inference() -> None:
    text = """g (float[A,B] x) => (float[A,B] y) {
      shape = Shape(x)
      ones = ConstantOfShape <value = float[1] {2.5}> (shape)
      kept = Dropout(x)
      y = Add(kept, ones)
    }"""
    assert_matches_reference(text, {"x": normal(4, 5)}, {"x": normal(1, 0)}, native=False)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements_and_scatter_elements(axis: int) -> None:
    text = f"""g (float[3,4,5] x, int64[3,4,5] i) => (float[3,4,5] y) {{
      g = GatherElements <axis = {axis}> (x, i)
      y = ScatterElements <axis = {axis}> (x, i, g)
    }}"""
    indices = np.random.default_rng(1).integers(-3, 3, (3, 4, 5))
    assert_matches_reference(text, {"x": normal(3, 4, 5), "i": indices})


def test_gather_nd_and_scatter_nd() -> None:
    text = """g (float[A,4,5] x, int64[M,2] i) => (float[A,4,5] y) {
      p = GatherND(x, i)
      n = Neg(p)
      y = ScatterND(x, i, n)
    }"""
    indices = np.array([[0, 1], [-1, 3], [2, -4]])
    assert_matches_reference(
        text, {"x": normal(3, 4, 5), "i": indices}, {"x": normal(3, 4, 5), "i": indices[:0]}
    )


@pytest.mark.parametrize(("rows", "kind"), [(2, "GatherElements"), (3, "Fallback")])
def test_indices_larger_than_the_data_have_no_kernel(rows: int, kind: str) -> None:
    text = f"g (float[2,3] x, int64[{rows},3] i) => (float[{rows},3] y) {{ y = GatherElements <axis = 1> (x, i) }}"
    assert stages_of(text).kinds == [kind]


@pytest.mark.parametrize("bad", [5, -6])
def test_index_out_of_bounds_bails_out(bad: int) -> None:
    text = "g (float[5] x, int64[M] i) => (float[M] y) { y = GatherElements(x, i) }"
    program = NativeProgram(compile_for_host(parse_model(text)), 1)
    with pytest.raises(Bailout):
        program.run({"x": normal(5), "i": np.array([0, bad])}, RunLimits(), RandomSource(0))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(axis: int) -> None:
    text = f"""g (int64[A,B] x) => (float[C,D,E] y) {{
      depth = Constant <value = int64[1] {{5}}> ()
      values = Constant <value = float[2] {{-1, 2.5}}> ()
      y = OneHot <axis = {axis}> (x, depth, values)
    }}"""
    assert_matches_reference(
        text, {"x": np.random.default_rng(2).integers(-7, 7, (3, 4))}, {"x": np.zeros((0, 4), np.int64)}
    )


@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("attributes", ["exclusive = 1", "reverse = 1", "exclusive = 0"])
def test_cumulative_sums_and_products(operator: str, axis: int, attributes: str) -> None:
    text = f"""g (float[A,B] x) => (float[A,B] y) {{
      axis = Constant <value = int64 {{{axis}}}> ()
      y = {operator} <{attributes}> (x, axis)
    }}"""
    assert_matches_reference(text, {"x": normal(3, 4)}, {"x": normal(1, 9)}, {"x": normal(0, 2)})


# --- images of other sizes -------------------------------------------------------------------


@pytest.mark.parametrize("dims", ["N,8,4,6", "N,8,H,W"], ids=["numbers", "symbols"])
def test_nearest_resize_by_integer_scales(dims: str) -> None:
    text = f"""g (float[{dims}] x) => (float[N,8,A,B] y) {{
      {CONV}
      scales = Constant <value = float[4] {{1, 1, 2, 3}}> ()
      r = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
        (c, , scales)
      y = Relu(r)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 4, 6)})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_resize_of_images(mode: str, coordinates: str) -> None:
    text = f"""g (float[N,8,4,6] x) => (float[N,8,7,9] y) {{
      sizes = Constant <value = int64[2] {{7, 9}}> ()
      y = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}", axes = [2, 3]>
        (x, , , sizes)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 4, 6)}, {"x": normal(1, 8, 4, 6)})


def test_linear_resize_of_rows() -> None:
    text = """g (float[N,8,6] x) => (float[N,8,15] y) {
      scales = Constant <value = float[3] {1, 1, 2.5}> ()
      y = Resize <mode = "linear"> (x, , scales)
    }"""
    assert_matches_reference(text, {"x": normal(2, 8, 6)})


@pytest.mark.parametrize(
    "attributes",
    ["pads = [1, 0, 2, 1]", 'auto_pad = "SAME_UPPER"', "output_shape = [9, 20]", "output_padding = [1, 0]"],
)
@pytest.mark.parametrize("group", [1, 2])
def test_transposed_convolution_of_images(attributes: str, group: int) -> None:
    weights = ", ".join(str(i % 5 - 2) for i in range(8 * 3 * 9))
    text = f"""g (float[N,8,4,6] x) => (float[N,C,A,B] y) {{
      w = Constant <value = float[8,3,3,3] {{{weights}}}> ()
      t = ConvTranspose <strides = [2, 3], group = {group}, {attributes}> (x, w)
      y = Relu(t)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 4, 6)}, {"x": normal(1, 8, 4, 6)})


def test_transposed_convolution_of_rows() -> None:
    weights = ", ".join(str(i % 5 - 2) for i in range(8 * 3 * 3))
    text = f"""g (float[N,8,L] x) => (float[N,3,A] y) {{
      w = Constant <value = float[8,3,3] {{{weights}}}> ()
      b = Constant <value = float[3] {{1, 2, 3}}> ()
      y = ConvTranspose <strides = [2], pads = [1, 1]> (x, w, b)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 8, 6)}, {"x": normal(1, 8, 1)})
