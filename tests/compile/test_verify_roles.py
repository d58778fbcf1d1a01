"""Proof of the roles of epilogue operands: a region or a tensor that gives a kernel other elements is an AssertionError."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile.stages import AVX512, Stages, stages_of
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.layouts.laid_out import LayoutItem
from sardonyx._src.compile.layouts.verify import verify_layouts
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, RegionGraph
from sardonyx._src.compile.partition.partitioner.verify import verify_regions
from sardonyx._src.compile.partition.quantized.computed_integer_products import ComputedIntegerProduct
from sardonyx._src.compile.partition.quantized.integer_epilogues import constant_operand
from sardonyx._src.compile.partition.quantized.integer_products import IntegerProduct
from sardonyx._src.compile.program import Buffer, Guard
from sardonyx._src.compile.program.operands.layout import ROWS
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol

CHANNELS = "g (float[1,8,40] x, float[16,1] r, float[16,8,1] w) => (float[1,16,40] y) { a = Conv (x, w)  y = Mul (a, r) }"
PRODUCT = (
    "g (float[M,8] x, float[{}] r, float[8,4] w) => (float[M,4] y) {{ a = MatMul (x, w)  y = Mul (a, r) }}"
)
LARGE = Buffer("input", 1 << 20, "large")
M, K = symbol("M"), symbol("K")


def assert_invalid(stages: Stages, region: Region[object], message: str) -> None:
    """Asserts that the verifier rejects a region in the place of the first one."""
    _, *rest = stages.regions.regions
    with pytest.raises(AssertionError, match=message):
        verify_regions(RegionGraph(stages.regions.scope, [region, *rest]))


def epilogue_of(region: Region[object]) -> FusedEpilogue:
    assert region.epilogue is not None
    return region.epilogue


def read_as(fused: FusedEpilogue, layout: OperandLayout, *rows: int) -> FusedEpilogue:
    """An epilogue of one operand that its kernel reads in another way; rows: 0 if it has an element for each row."""
    epilogue = IntegerEpilogue(fused.epilogue.expression, (layout,), (DataType.FLOAT,), DataType.FLOAT, rows)
    return replace(fused, epilogue=epilogue)


def test_an_operand_has_the_elements_that_its_kernel_reads() -> None:
    """A vector of channels of one image has the dims of a vector of rows of the last dim, and is none."""
    stages = stages_of(CHANNELS)
    (conv,) = stages.regions.regions
    fused = epilogue_of(conv)
    assert fused.epilogue.operand_layouts == ("column",)
    where, dims = r"region Conv \(a \+ y\): r", r"of \(1, 16, 40\); got \(1, 16, 1\)"
    for changed, message in (
        (read_as(fused, "matrix", 0), rf"{where} must broadcast as \(1, 1, 40\), a row {dims}"),
        (read_as(fused, "matrix"), rf"{where} must broadcast as \(1, 16, 40\), a matrix {dims}"),
        (read_as(fused, "scalar"), rf"{where} must broadcast as \(1, 1, 1\), a scalar {dims}"),
        (replace(fused, shapes=((1, 1, 40),)), rf"{where} does not broadcast as \(1, 1, 40\)"),
    ):
        assert_invalid(stages, replace(conv, epilogue=changed), message)


def test_a_matrix_of_pixels_has_its_channels_innermost() -> None:
    stages = stages_of(CHANNELS.replace("16,1]", "1,16,40]"))
    (conv,) = stages.regions.regions
    fused = epilogue_of(conv)
    changed = replace(fused, reads=(replace(fused.reads[0], layout=ROWS),))
    assert_invalid(stages, replace(conv, epilogue=changed), "r, a matrix, is read in the layout rows")


def test_an_operand_has_the_dims_of_its_role_in_every_run() -> None:
    """A dim that may be 1 at run time is no dim of the result, unless a guard says so."""
    text = "g (float[M,8] x, float[M,4] r, float[K,4] s, float[8,4] w) => (y, z) { a = MatMul (x, w)  y = Mul (a, r)  z = Neg (s) }"
    stages = stages_of(text)
    product, other = stages.regions.regions
    s = stages.regions.scope.graph.inputs[2]
    changed = replace(product, epilogue=replace(epilogue_of(product), reads=(Read(s, ROWS),)))
    assert_invalid(stages, changed, r"region MatMul \(a \+ y\): s does not broadcast as")
    guarded = replace(changed, guards=(Guard(K, M),))
    verify_regions(RegionGraph(stages.regions.scope, [guarded, other]))


def test_an_operand_of_an_integer_kernel_has_an_element_for_each_column() -> None:
    text = "g (uint8[M,8] x, uint8 z, int8[8,4] w) => (int32[M,4] y) { y = MatMulInteger (x, w, z) }"
    stages = stages_of(text, AVX512)
    (product,) = stages.regions.regions
    config = product.config
    assert isinstance(config, IntegerProduct)
    zero, sums = config.result.operands
    for operands, message in (
        (
            (zero, constant_operand("column", np.zeros(3, np.int32))),
            "o1 must have 4 elements, as a column of",
        ),
        ((zero, replace(sums, is_row=True)), "o1 is read as a column"),
    ):
        changed = replace(config, result=replace(config.result, operands=operands))
        assert_invalid(stages, replace(product, config=changed), message)


def test_an_operand_of_a_computed_product_has_its_role() -> None:
    text = """g (uint8[M,8] a, int8[8,4] b, uint8 z) => (uint8[M,4] y)
        <float s = {0.1}, int8 zb = {0}, uint8 zy = {0}> { y = QLinearMatMul (a, s, z, b, s, zb, s, zy) }"""
    stages = stages_of(text, AVX512)
    (product,) = stages.regions.regions
    config = product.config
    assert isinstance(config, ComputedIntegerProduct)
    column, row, *rest = config.result.operands
    for operands, message in (
        ((row, column, *rest), "o0 is read as a matrix"),
        ((column, row, constant_operand("scalar", np.zeros(2)), *rest[1:]), "o2 must have 1 elements"),
    ):
        changed = replace(config, result=replace(config.result, operands=operands))
        assert_invalid(stages, replace(product, config=changed), message)


@pytest.mark.parametrize(
    ("text", "dims", "strides"),
    [
        (CHANNELS, (40,), (1,)),
        (CHANNELS, (16,), (2,)),
        (CHANNELS, (16, 1), (1, 1)),
        (CHANNELS.replace("16,1]", "1,16,40]"), (1, 16, 40), (640, 40, 1)),
        (CHANNELS.replace("16,1]", "1,16,40]"), (1, 40, 16), (640, 1, 40)),
        (PRODUCT.format("M,4"), (M, 4), (1, M)),
        (PRODUCT.format("M,1"), (4, 1), (1, 1)),
        (PRODUCT.format("M,1"), (M, 1), (2, 1)),
        (PRODUCT.format("1"), (M,), (0,)),
    ],
)
def test_the_tensor_of_an_operand_has_its_elements_in_order(
    text: str, dims: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    stages = stages_of(text)
    changed: list[LayoutItem] = []
    for item in stages.laid_out.items:
        if isinstance(item, LaidOutRegion):
            (operand,) = item.epilogue_operands
            tensor = replace(operand, shape=dims, strides=strides, buffer=LARGE)
            changed.append(replace(item, epilogue_operands=(tensor,)))
        else:
            changed.append(item)
    with pytest.raises(AssertionError, match=r": r, a \w+ of .*, must have dims .*; got"):
        verify_layouts(replace(stages.laid_out, items=changed))
