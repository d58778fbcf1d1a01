"""Kernels that transform the weights of Winograd convolutions, U = G g G^T; they are called at compile time.

    for panel (a unit of work): for channel: for vector of features:   # weights [features, channels, 3, 3]
        gather the taps, transform columns, then rows, store the points   # panel [points, channels, width]

All is computed in float64, without fused multiply-adds, and rounded once, so that all processors compute the same bits.
"""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.rows import lane_indices
from sardonyx._src.compile.kernels.loops.vectors import loop_masked_vectors, store_vector
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import TAPS
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Kernel
from sardonyx._src.ir import Array

PARAMETERS = Parameters("weights", "panels", "features", "channels", "width")


def transform_into_panels(panels: Array, weights: Array, transforms: TileTransforms) -> None:
    """Transforms weights [features, channels, 3, 3] into dense float32 panels [panels, points, channels, width].

    Columns of the panels past the last feature are not written.
    """
    features, channels = weights.shape[:2]
    num_panels, *panel_shape, width = panels.shape
    assert weights.shape[2:] == (TAPS, TAPS), f"windows must be 3x3; got {weights.shape}"
    assert panels.flags.c_contiguous and panels.dtype == np.float32, "panels must be dense float32"
    assert panel_shape == [transforms.num_points, channels] and features <= num_panels * width, (
        f"panels must have room for {weights.shape}; got {panels.shape}"
    )
    dense = np.require(weights, np.float32, ["C", "A"])
    slots = PARAMETERS.pack(
        weights=dense.ctypes.data,
        panels=panels.ctypes.data,
        features=features,
        channels=channels,
        width=width,
    )
    args = np.array(slots, np.int64)
    function_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    address = kernel_address(weight_kernel(transforms))
    function_type(address)(args.ctypes.data, 0, num_panels, None)


def weight_kernel(transforms: TileTransforms) -> Kernel:
    """The kernel of these transforms."""
    key = f"winograd_weights_{transforms.vertical.outputs}x{transforms.horizontal.outputs}"
    return Kernel(key, partial(weight_module, transforms=transforms), PARAMETERS)


def weight_module(name: str, target: Target, *, transforms: TileTransforms) -> str:
    """The LLVM module of a kernel."""
    b = KernelBuilder(target, PARAMETERS)
    weights, panels = b.pointers("weights", "panels")
    features, channels, width = b.integers(*PARAMETERS.names[2:])
    point_floats = channels * width
    with (
        b.loop(b.first_unit, b.end_unit, 1, "panel") as panel,
        b.loop(b.constant(0, I64), channels, 1, "channel") as channel,
    ):
        first = panel * width
        row = b.gep(panels, panel * point_floats * transforms.num_points + channel * width)
        for column, mask in loop_masked_vectors(b, b.min(features - first, width)):
            numbers = lane_indices(b, first + column, target.lanes)
            index = (numbers * b.splat(channels, target.lanes) + b.splat(channel, target.lanes)) * TAPS**2
            point = b.gep(row, column)
            for value in transform_windows(b, weights, index, mask, transforms):
                store_vector(b, value.convert("fptrunc", "float"), point, mask)
                point = b.gep(point, point_floats)
    return b.build_module(name)


def transform_windows(
    b: KernelBuilder, weights: str, index: LLVMValue, mask: LLVMValue | None, transforms: TileTransforms
) -> list[LLVMValue]:
    """The points, row by row, of the windows that begin at weights[index], in float64."""
    columns = []
    for j in range(TAPS):
        taps = [load_lanes(b, weights, index + (i * TAPS + j), "float", mask) for i in range(TAPS)]
        columns.append(
            transforms.vertical.emit_weight_transform([tap.convert("fpext", "double") for tap in taps])
        )
    return [
        value
        for row in zip(*columns, strict=True)
        for value in transforms.horizontal.emit_weight_transform(row)
    ]
