"""Epilogues: elementwise consumers that are fused into the store of a float or an integer kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import AVX512, regions_of
from models import parse_model
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue, epilogue_arguments
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.partition import FusedEpilogue, Region
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.dtypes import DataType

PRODUCT = (
    "g (float[M,8] x, {operand} r, float[8,4] w) => (float[M,4] y) {{ a = MatMul (x, w)  y = Mul (a, r) }}"
)
CONV = "g (float[1,8,6,5] x, {operand} r, float[4,8,1,1] w) => (float[1,4,6,5] y) {{ a = Conv (x, w)  y = Mul (a, r) }}"


def epilogue_of(region: Region[object]) -> FusedEpilogue:
    assert region.epilogue is not None
    return region.epilogue


def expression_of(region: Region[object]) -> str:
    return canonical_text([epilogue_of(region).epilogue.expression])


def kinds(regions: Sequence[Region[object]]) -> list[str]:
    return [region.kind for region in regions]


# --- operands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "operand", "layout", "read"),
    [
        (PRODUCT, "float", "scalar", "dense"),
        (PRODUCT, "float[1,1]", "scalar", "dense"),
        (PRODUCT, "float[4]", "column", "dense"),
        (PRODUCT, "float[1,4]", "column", "dense"),
        (PRODUCT, "float[M,4]", "matrix", "rows"),
        (PRODUCT, "float[M,1]", "matrix", "dense"),  # of which the kernel reads one column
        (CONV, "float", "scalar", "dense"),
        (CONV, "float[4,1,1]", "column", "dense"),
        (CONV, "float[1,4,1,1]", "column", "dense"),
        (CONV, "float[1,4,6,5]", "matrix", "channels last"),
    ],
)
def test_operands_are_scalars_columns_or_matrices(text: str, operand: str, layout: str, read: str) -> None:
    (region,) = regions_of(text.format(operand=operand))
    epilogue = epilogue_of(region)
    assert epilogue.epilogue.operand_layouts == (layout,)
    assert [str(read.layout) for read in epilogue.reads] == [read]
    assert region.node_names == ("a", "y")
    assert [write.value.name for write in region.writes] == ["y"]


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        (PRODUCT, "float[K,1]"),  # may have 1 row at run time
        (PRODUCT, "float[K,4]"),  # may have 1 row at run time
        (CONV, "float[5]"),  # a number for each column of the image
        (CONV, "float[6,5]"),  # a number for each pixel
        (CONV, "float[1,4,6,1]"),
        (CONV, "float[4,6,5]"),  # without the batch, whose channels are at another axis
    ],
)
def test_other_operands_are_refused(text: str, operand: str) -> None:
    regions = regions_of(text.format(operand=operand))
    assert kinds(regions)[1:] == ["Elementwise"]
    assert epilogue_of(regions[0]).nodes == ()


@pytest.mark.parametrize("strides", [(9, 1, 1), (9, 5, 1), (9, 9, 1)])
def test_strides_of_unit_dims_do_not_matter_to_rows(strides: tuple[int, int, int]) -> None:
    """As those of a result that was computed channels-last, with one channel."""
    operand = TensorView(DataType.FLOAT, (7, 1, 9), strides, Buffer("arena", 252, "o"))
    assert operand.row_stride == 9
    assert epilogue_arguments(Epilogue(RESULT, ("matrix",)), (operand,))["o0_row_stride"] == 9


def test_a_residual_of_one_channel_is_an_operand() -> None:
    text = """g (float[7,6,7] x, float[1,6,3] w, float[9] s) => (float[7,1,9] y) {
      c = Conv <pads = [2, 2]> (x, w)  n = RMSNormalization <axis = 2> (c, s)  y = Add(n, c) }"""
    feeds = {
        name: np.random.default_rng(0).standard_normal(shape, np.float32)
        for name, shape in {"x": (7, 6, 7), "w": (1, 6, 3), "s": (9,)}.items()
    }
    model = parse_model(text, opset=23)
    native, expected = (
        np.asarray(sx.Session(model, engine=engine).run(feeds)["y"]) for engine in ("native", "reference")
    )
    np.testing.assert_allclose(native, expected, 1e-5, 1e-5)


def test_operands_that_are_computed_later_are_refused() -> None:
    text = """g (float[3,8] x, float[3,4] r, float[8,4] w) => (float[3,4] y) {
      a = MatMul (x, w)  b = Softmax (r)  c = Relu (a)  y = Add (c, b) }"""
    regions = regions_of(text)
    assert [region.node_names for region in regions] == [("a", "c"), ("b",), ("y",)]


def test_constants_of_one_element_are_operands_so_that_networks_share_kernels() -> None:
    text = """g (float[3,8] x, float[8,4] w) => (float[3,4] y) {
      two = Constant <value = float {2}> ()  a = MatMul (x, w)  b = Mul (two, a)  y = Relu (b) }"""
    (region,) = regions_of(text)
    assert expression_of(region) == "0=mul(x,o0);1=max(0,0n);1"
    assert [read.value.initializer is not None for read in epilogue_of(region).reads] == [True]


@pytest.mark.parametrize(
    ("node", "expression"),
    [
        ("Sub (one, a)", "0=sub(1.0n,x);0"),
        ("Mul (minus, a)", "0=mul(-1.0n,x);0"),
        ("Div (a, four)", "0=div(x,4.0n);0"),
        ("Pow (a, four)", "0=pow(x,4.0n);0"),
        ("Min (a, four)", "0=min(x,4.0n);0"),
    ],
)
def test_numbers_that_are_faster_or_few_are_part_of_the_expression(node: str, expression: str) -> None:
    text = f"""g (float[3,8] x, float[8,4] w) => (float[3,4] y) {{
      one = Constant <value = float {{1}}> ()  minus = Constant <value = float {{-1}}> ()
      four = Constant <value = float {{4}}> ()  a = MatMul (x, w)  y = {node} }}"""
    (region,) = regions_of(text)
    assert expression_of(region) == expression
    assert epilogue_of(region).reads == ()


def test_constants_do_not_count_as_operands() -> None:
    """More constants than a kernel may have operands are fused all the same."""
    nodes = [
        f"c{i} = Constant <value = float {{{i + 2}}}> ()  a{i} = Add (x{i}, c{i})  x{i + 1} = Sin (a{i})"
        for i in range(11)
    ]
    regions = regions_of(f"g (float[3,4] x0) => (float[3,4] x11) {{ {' '.join(nodes)} }}")
    assert [len(region.node_names) for region in regions] == [22]


def test_a_result_that_is_read_twice_is_fused_once() -> None:
    text = (
        "g (float[3,8] x, float[8,4] w) => (float[3,4] y) { a = MatMul (x, w)  s = Sin (a)  y = Mul (a, s) }"
    )
    (region,) = regions_of(text)
    assert region.node_names == ("a", "s", "y")
    assert expression_of(region) == "0=sin(x);1=mul(x,0);1"


@pytest.mark.parametrize("outputs", ["float[3,4] y, float[3,4] a", "float[3,4] y, float[4,3] z"])
def test_a_result_that_is_read_elsewhere_is_not_fused(outputs: str) -> None:
    text = f"g (float[3,8] x, float[8,4] w) => ({outputs}) {{ a = MatMul (x, w)  y = Exp (a)  z = Transpose (a) }}"
    regions = regions_of(text)
    assert epilogue_of(regions[0]).nodes == ()


def test_other_element_types_are_not_fused_into_float_kernels() -> None:
    text = """g (float[3,8] x, float[8,4] w) => (int32[3,4] y) {
      a = MatMul (x, w)  b = Exp (a)  y = Cast <to = 6> (b) }"""
    assert [region.node_names for region in regions_of(text)] == [("a", "b"), ("y",)]


def test_the_bias_of_a_gemm_that_is_no_constant_row_is_an_operand() -> None:
    text = (
        "g (float[3,8] x, float[3,4] r, float[8,4] w) => (float[3,4] y) { y = Gemm <beta = 0.5> (x, w, r) }"
    )
    (region,) = regions_of(text)
    assert expression_of(region) == "0=mul(o0,0.5n);1=add(x,0);1"
    assert epilogue_of(region).epilogue.operand_layouts == ("matrix",)


# --- integer epilogues -----------------------------------------------------------------------

INTEGER = """g (uint8[M,8] x, {operand} r, int8[8,4] w) => ({result}) {{
  a = MatMulInteger (x, w)  f = Cast <to = 1> (a)  b = Mul (f, r)  {more} }}"""


def integer_epilogue(region: Region[object]) -> IntegerEpilogue:
    epilogue = epilogue_of(region).epilogue
    assert isinstance(epilogue, IntegerEpilogue)
    return epilogue


@pytest.mark.parametrize(
    ("operand", "layout"), [("float", "scalar"), ("float[4]", "column"), ("float[M,4]", "matrix")]
)
def test_scales_are_operands_of_integer_products(operand: str, layout: str) -> None:
    text = INTEGER.format(operand=operand, result="float[M,4] y", more="y = Relu (b)")
    (region,) = regions_of(text, AVX512)
    assert region.kind == "IntegerMatMul"
    assert integer_epilogue(region).operand_layouts[-1] == layout
    assert "float(" in expression_of(region)


def test_a_quantize_linear_is_part_of_an_integer_epilogue() -> None:
    more = "s = Constant <value = float {0.1}> ()  z = Constant <value = uint8 {9}> ()  y = QuantizeLinear (b, s, z)"
    (region,) = regions_of(INTEGER.format(operand="float", result="uint8[M,4] y", more=more), AVX512)
    assert integer_epilogue(region).result_dtype.name == "UINT8"
    assert expression_of(region).count("=uint8(") == 1


def test_half_precision_ends_an_integer_epilogue() -> None:
    text = INTEGER.format(operand="float", result="float16[M,4] y", more="y = Cast <to = 10> (b)")
    assert [region.node_names for region in regions_of(text, AVX512)] == [("a", "b"), ("y",)]
