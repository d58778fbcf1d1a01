"""Kernels of Winograd convolutions: a fused one, or the input transform and the rest (products, output transform)."""

from __future__ import annotations

from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.winograd.input_transform import InputTransformEmitter
from sardonyx._src.compile.kernels.winograd.output_transform import OutputTransformEmitter
from sardonyx._src.compile.kernels.winograd.tiles import WinogradVariant
from sardonyx._src.compile.program.step import Kernel


def fused_kernel(variant: WinogradVariant, epilogue: Epilogue) -> Kernel:
    """Input transform, products and output transform; a unit of work is a group of tiles."""

    def source(name: str, target: Target) -> str:
        emitter = OutputTransformEmitter(variant, epilogue, target)
        emitter.emit_fused_units()
        return emitter.build_module(name)

    return Kernel(f"winograd_whole_{variant.key}:{epilogue.key}", source)


def input_transform_kernel(variant: WinogradVariant) -> Kernel:
    """The input transform; a unit of work is a tile."""

    def source(name: str, target: Target) -> str:
        emitter = InputTransformEmitter(variant, Epilogue(), target)
        emitter.emit_tile_units()
        return emitter.build_module(name)

    return Kernel(f"winograd_input_{variant.key}", source)


def product_kernel(variant: WinogradVariant, epilogue: Epilogue) -> Kernel:
    """Products and output transform; a unit of work is a group of tiles by a panel of the weights."""

    def source(name: str, target: Target) -> str:
        emitter = OutputTransformEmitter(variant, epilogue, target)
        emitter.emit_product_units()
        return emitter.build_module(name)

    return Kernel(f"winograd_output_{variant.key}:{epilogue.key}", source)
