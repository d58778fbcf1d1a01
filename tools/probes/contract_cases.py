"""Cases of contracts: kernels that models of a few small tensors do not have, of sizes that no tile divides.

Operands are small integers wherever sums are to be exact, and their bits are the same for all classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compile.contracts import (
    conv_computed,
    data_movement,
    data_movement_indexed,
    depthwise,
    elementwise,
    gemm,
    gemm_grouped,
    gemm_integers,
    linear_attention,
    pooling,
    recurrent,
    reductions,
    reductions_norms,
    resize,
    sampling,
    selection,
    winograd,
)
from probes.step_cases import Make, StepCase
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm
from sardonyx._src.compile.kernels.resize.dynamic_taps import DYNAMIC_COORDINATES
from sardonyx._src.compile.kernels.winograd.convolution import TileGrouping
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F4X3
from sardonyx._src.compile.program import Window

SAME = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))
PADDED = Window((3, 3), begin_pads=(1, 1))


def case(make: Make, label: object = "", **axes: Any) -> StepCase:
    """label: what distinguishes it from other cases of the contract."""
    name = make.__name__.replace("_", " ")
    return StepCase(f"{name}, {label}" if label != "" else name, make, axes)


def cases() -> Iterator[StepCase]:
    yield from products()
    yield from convolutions()
    yield from images()
    yield from rows()
    yield from sequences()
    yield from selections()


def products() -> Iterator[StepCase]:
    yield case(gemm.product_of_few_rows, rows=3, columns=96, k=9, layout="rows", epilogue="")
    yield case(gemm.double_gemm, rows=5, columns=11, k=9, layout="nt", addend=(999, 999), gap=0)
    yield case(
        gemm_grouped.grouped_product, tokens=7, selections=2, groups=3, columns=37, k=9, weights="computed"
    )
    yield case(
        gemm_integers.integer_product,
        rows=5,
        columns=37,
        k=13,
        dtype="uint8",
        layout="computed",
        has_bias=False,
    )
    yield case(gemm_integers.row_sums, rows=5, k=13, dtype="int8", batch=(2,))


def convolutions() -> Iterator[StepCase]:
    yield case(
        conv_computed.weight_gradient, channels=5, columns=11, window=PADDED, groups=1, pixels=7, gap=0
    )
    yield case(conv_computed.computed_convolution, pixels=7, columns=11, channels=9, window=PADDED, groups=1)
    grouping = TileGrouping(4, False)
    yield case(
        winograd.winograd,
        lines=7,
        pixels=9,
        channels=5,
        features=19,
        pad=1,
        transforms=TileTransforms(F4X3, F4X3),
        grouping=grouping,
        gap=0,
    )
    yield case(depthwise.depthwise_weight_gradient, pixels=7, channels=19, window=PADDED, gap=0)
    yield case(depthwise.pointwise_depthwise, pixels=7, lines=5, channels=19, inputs=5, window=SAME)


def images() -> Iterator[StepCase]:
    yield case(pooling.max_pool_gradient, pixels=7, channels=19, window=Window((2, 2), (2, 2)), gap=0)
    options = {"lines": 5, "pixels": 19, "window": Window((3, 2), (2, 3), (1, 2), (2, 2), (0, 2))}
    yield case(pooling.line_pooling, **options, algorithm=PoolingAlgorithm("lp", 2), dtype="float64")
    for inner in ((), (11,)):
        yield case(resize.resample_axis, inner, outer=(3,), out=19, inner=inner, taps=9, is_symbolic=False)
    for is_mean in (False, True):
        options = {"size": (5, 7), "regions": 3, "channels": 19, "half_pixel": False, "points": 2}
        yield case(sampling.roi_align, "mean" if is_mean else "max", **options, is_mean=is_mean)
    options = {"size": (5, 7), "out": (2, 3), "share": 3, "groups": (1, 2), "gap": 0}
    yield case(sampling.deform_columns, **options, has_mask=True)
    yield case(resize.upsample, pixels=3, channels=19, factors=(2, 3), gap=0)
    modes = [(coordinates, "") for coordinates in DYNAMIC_COORDINATES]
    for coordinates, mode in (*modes, ("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")):
        for has_scale in (False, True):
            # Other sizes than before: the tables of another program may still be in memory.
            out = 19 if has_scale else 17
            options = {"size": 7, "out": out, "nearest_mode": mode, "has_scale": has_scale}
            label = f"{coordinates}, {mode or 'linear'}{', scaled' * has_scale}"
            yield case(resize.resize_by_computed_taps, label, **options, coordinates=coordinates)


def rows() -> Iterator[StepCase]:
    yield case(reductions_norms.row_program, rows=17, n=37, epilogue="")
    yield case(
        reductions.arg_reduction, rows=5, n=37, axis=0, is_max=False, select_last=True, dtype="int64", gap=0
    )
    yield case(reductions.extremes, n=67)


def sequences() -> Iterator[StepCase]:
    options: dict[str, Any] = {"hidden": 11, "batch": 3, "length": 2, "has_lengths": False}
    for cell in ("rnn", "reset_gru"):
        yield case(recurrent.recurrence, cell, cell=cell, **options, layout="whole")
    for cell in ("lstm", "reset_gru"):
        yield case(recurrent.recurrence, f"{cell}, divided", cell=cell, **options, layout="divided")
    yield case(recurrent.projection, rows=5, columns=11, k=7)
    options = {"tokens": 9, "sizes": (5, 19), "group": 2, "decay": "row", "rate": "head", "gap": 0}
    yield case(linear_attention.linear_attention, **options, has_past=False)


def selections() -> Iterator[StepCase]:
    for dtype in ("float32", "bool", "int64"):
        yield case(selection.non_zero, dtype, shape=(3,), n=19, dtype=dtype)
    yield case(elementwise.check_of_zeros, n=37, dtype="bool")
    yield case(selection.slice_bounds, lengths=(4, 9), step=2, dtype="int64")
    for is_centered in (False, True):
        options: dict[str, Any] = {
            "boxes": 19,
            "classes": 2,
            "max_boxes": 5,
            "iou": 0.37,
            "is_centered": is_centered,
        }
        yield case(selection.suppression, "centered" if is_centered else "corners", **options)
    yield case(selection.key_search, n=37, keys=5, dtype="int64", values="float32")
    for is_sorted in (False, True):
        for length in (1, 3):
            options = {"rows": 19, "length": length, "values": 2, "dtype": "float32"}
            label = f"{length} columns{', sorted' * is_sorted}"
            yield case(selection.distinct_rows, label, **options, is_sorted=is_sorted)
    yield case(data_movement.numbers, n=37, start=3, delta=-2, dtype="int64")
    yield case(data_movement.sizes, count=5)
    yield case(data_movement_indexed.one_hot, shape=(3, 17), depth=6, axis=1, dtype="float32", index="int64")
