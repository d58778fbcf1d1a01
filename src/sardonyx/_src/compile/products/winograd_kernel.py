"""The kernels of Winograd's convolutions: all in one, or the way to the points and the rest apart."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.winograd_input import Input
from sardonyx._src.compile.products.winograd_output import Output
from sardonyx._src.compile.products.winograd_tiles import Variant
from sardonyx._src.compile.step import Kernel
from sardonyx._src.compile.tail import Tail


def whole_kernel(variant: Variant, tail: Tail) -> Kernel:
    """Units are groups of tiles."""

    def source(name: str, target: Target) -> str:
        code = Output(variant, tail, target.fused)
        code.whole_units()
        return code.module(name)

    return Kernel(f"winograd_whole_{variant.key}:{tail.key}", source)


def input_kernel(variant: Variant) -> Kernel:
    """Units are tiles."""

    def source(name: str, target: Target) -> str:
        code = Input(variant, Tail(), target.fused)
        code.units()
        return code.module(name)

    return Kernel(f"winograd_input_{variant.key}", source)


def output_kernel(variant: Variant, tail: Tail) -> Kernel:
    """Units are groups of tiles by a panel of the weights."""

    def source(name: str, target: Target) -> str:
        code = Output(variant, tail, target.fused)
        code.product_units()
        return code.module(name)

    return Kernel(f"winograd_output_{variant.key}:{tail.key}", source)
