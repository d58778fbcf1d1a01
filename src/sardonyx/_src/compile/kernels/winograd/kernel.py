"""Kernels of Winograd convolutions: a fused kernel, or one for the input transform and one for products and output transform.

    fused:   for group of tiles: for tile: input transform; for panel: for point: products; for tile: output transform
    input:   for tile: input transform
    product: for panel: for joint groups of tiles: for point: products; for tile: output transform

Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import FLOAT32_ARITHMETIC, make_microkernel
from sardonyx._src.compile.kernels.winograd.products import (
    WinogradProducts,
    emit_products,
    load_products,
    product_parameters,
)
from sardonyx._src.compile.kernels.winograd.tiles import (
    TILE_PARAMETERS,
    WinogradVariant,
    group_bounds,
    load_tiles,
)
from sardonyx._src.compile.program import Kernel


def fused_kernel(variant: WinogradVariant, epilogue: Epilogue) -> Kernel:
    """Input transform, products and output transform; a unit of work is a group of tiles."""
    source = partial(fused_module, variant=variant, epilogue=epilogue)
    return Kernel(f"winograd_whole_{variant.key}:{epilogue.key}", source, product_parameters(epilogue))


def input_transform_kernel(variant: WinogradVariant) -> Kernel:
    """The input transform; a unit of work is a tile."""
    source = partial(input_transform_module, variant=variant)
    return Kernel(f"winograd_input_{variant.key}", source, TILE_PARAMETERS)


def product_kernel(variant: WinogradVariant, epilogue: Epilogue) -> Kernel:
    """Products and output transform; a unit of work is a panel of the weights by a group of tiles."""
    source = partial(product_module, variant=variant, epilogue=epilogue)
    return Kernel(f"winograd_output_{variant.key}:{epilogue.key}", source, product_parameters(epilogue))


def fused_module(name: str, target: Target, *, variant: WinogradVariant, epilogue: Epilogue) -> str:
    """The LLVM module of the fused kernel; all intermediate values of a group are in scratch."""
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.winograd.input_transform import transform_tile

    products = make_products(target, variant, epilogue)
    b, tiles, size = products.b, products.tiles, products.tiles.size
    zero = b.constant(0, I64)
    values = b.gep(products.address, size["product_point_stride"] * tiles.transforms.num_points)
    with b.loop(b.first_unit, b.end_unit, 1, "group") as group:
        first, count = group_bounds(tiles, group)
        with b.loop(zero, count, 1, "tile") as row:
            transform_tile(tiles, first + row, b.gep(values, row * size["channels"]))
        with b.loop(zero, size["panels"], 1, "panel") as panel:
            emit_panel(products, first, count, panel, lambda row: b.gep(values, row * size["channels"]))
    return b.build_module(name)


def input_transform_module(name: str, target: Target, *, variant: WinogradVariant) -> str:
    """The LLVM module of the input transform, which writes [groups, points, tiles, channels] for all groups."""
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.winograd.input_transform import transform_tile

    b = KernelBuilder(target, TILE_PARAMETERS)
    tiles = load_tiles(b, variant)
    size = tiles.size
    with b.loop(b.first_unit, b.end_unit, 1, "tile") as tile:
        group, row = b.udivmod(tile, size["group_tiles"])
        first = group * size["input_point_stride"] * tiles.transforms.num_points + row * size["channels"]
        transform_tile(tiles, tile, b.gep(tiles.transformed_input, first))
    return b.build_module(name)


def product_module(name: str, target: Target, *, variant: WinogradVariant, epilogue: Epilogue) -> str:
    """The LLVM module of products and output transform, which reads the transformed input of all groups.

    Groups vary fastest among the units.  Up to `joint_groups` groups of a call are computed together with a panel, so that
    the weights are read once for all of them.
    """
    products = make_products(target, variant, epilogue)
    b, size = products.b, products.tiles.size
    groups = b.udiv(size["tiles"] + (size["group_tiles"] - 1), size["group_tiles"])
    groups = b.select(groups < 1, b.constant(1, I64), groups)
    end_panel = b.udiv(b.end_unit + (groups - 1), groups)
    with b.loop(b.udiv(b.first_unit, groups), end_panel, 1, "panel") as panel:
        unit, joint = panel * groups, size["joint_groups"]
        first = b.select(b.first_unit < unit, b.constant(0, I64), b.first_unit - unit)
        end = b.min(b.end_unit - unit, groups)
        with b.loop(first, end + (joint - 1), joint, "groups") as group:
            emit_joint_groups(products, group, b.min(end - group, joint), panel)
    return b.build_module(name)


def emit_joint_groups(
    products: WinogradProducts, first: LLVMValue, count: LLVMValue, panel: LLVMValue
) -> None:
    """Computes the output of `count` groups of tiles, from `first` on, in the columns of a panel."""
    b, tiles, size = products.b, products.tiles, products.tiles.size
    first_tile = first * size["group_tiles"]
    num_tiles = b.min(count * size["group_tiles"], size["tiles"] - first_tile)
    group_stride = size["input_point_stride"] * tiles.transforms.num_points

    def tile_values(row: LLVMValue) -> str:
        group, row_of_group = b.udivmod(row, size["group_tiles"])
        offset = (first + group) * group_stride + row_of_group * size["channels"]
        return b.gep(tiles.transformed_input, offset)

    emit_panel(products, first_tile, num_tiles, panel, tile_values)


def make_products(target: Target, variant: WinogradVariant, epilogue: Epilogue) -> WinogradProducts:
    """A new kernel with a microkernel and the arguments of `product_parameters`."""
    b = KernelBuilder(target, product_parameters(epilogue))
    m = make_microkernel(b, variant.tile, epilogue, FLOAT32_ARITHMETIC)
    return load_products(m, load_tiles(b, variant))


def emit_panel(
    products: WinogradProducts,
    first: LLVMValue,
    count: LLVMValue,
    panel: LLVMValue,
    tile_values: Callable[[LLVMValue], str],
) -> None:
    """Computes the output of `count` tiles, from `first` on, in the columns of a panel; tile_values: as in `emit_products`."""
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.winograd.output_transform import store_output_tile

    b = products.b
    emit_products(products, count, panel, tile_values)
    with b.loop(b.constant(0, I64), count, 1, "tile") as row:
        store_output_tile(products, first + row, row, panel)
