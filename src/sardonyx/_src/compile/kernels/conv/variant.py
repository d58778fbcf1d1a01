"""Kernels of convolutions: a variant, which is a row source of the loop nest, and their parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sardonyx._src.compile.codegen import I64, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, RowGroup, add_amx_taps, add_taps
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    Microkernel,
    TileArithmetic,
    make_microkernel,
    release_microkernel,
)
from sardonyx._src.compile.kernels.gemm.tile.output import load_output_matrix, output_parameters
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass

CONV_SIZES = (
    "taps", "channels", "columns", "groups", "panels", "rows", "group_rows", "block_taps", "block_channels",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConvVariant:
    """A specialization of the loop nest: the row source, which addresses the input of each row, and the arithmetic.

    key: the part of the kernel's cache key that identifies the variant.
    emit: emits the loop nest with its row source.
    sizes, pointers: the names of the row source's parameters.
    has_indirection_buffer: whether the row source has an indirection buffer in scratch.
    """

    key: str
    emit: Callable[[Convolution], None]
    sizes: tuple[str, ...]
    pointers: tuple[str, ...] = ()
    arithmetic: TileArithmetic = FLOAT32_ARITHMETIC
    has_indirection_buffer: bool = True


def conv_parameters(variant: ConvVariant, epilogue: Epilogue) -> Parameters:
    """x; weights [groups, panels, taps, channels, width]; bias [groups, panels, width]; sizes; the output.

    The sizes `channels`, `columns` and `panels` count those of one channel group.
    """
    sizes = Parameters(*CONV_SIZES, *variant.sizes, *variant.pointers)
    return Parameters("x", "weights", "bias") + sizes + output_parameters(epilogue)


def conv_kernel(variant: ConvVariant, vectors: int, epilogue: Epilogue, amx_words: int = 0) -> Kernel:
    """The kernel specialized on a variant, the panel's width in vectors, the words of AMX tiles, and the epilogue."""
    source = partial(conv_module, variant=variant, vectors=vectors, amx_words=amx_words, epilogue=epilogue)
    amx = f"_amx{amx_words}" if amx_words else ""
    key = f"convolution_{variant.key}_{vectors}{amx}:{epilogue.key}"
    return Kernel(key, source, conv_parameters(variant, epilogue))


def conv_module(
    name: str, target: Target, *, variant: ConvVariant, vectors: int, amx_words: int, epilogue: Epilogue
) -> str:
    """The LLVM module of the kernel: the loop nest around a microkernel."""
    b = KernelBuilder(target, conv_parameters(variant, epilogue))
    tile = make_tile(vectors, target, amx_words)
    m = make_microkernel(b, tile, epilogue, variant.arithmetic)
    variant.emit(load_convolution(m, variant))
    release_microkernel(m)
    return b.build_module(name)


def load_convolution(m: Microkernel, variant: ConvVariant) -> Convolution:
    """The arguments of `conv_parameters`, except the pointers of the row source."""
    b = m.b
    x, weights, bias = b.pointers("x", "weights", "bias")
    size = {name: b.integer(name) for name in (*CONV_SIZES, *variant.sizes)}
    output = load_output_matrix(b, m.epilogue)
    row_group = RowGroup(*(b.new_slot(name, I64) for name in ("row", "count", "prepared")))
    taps = add_taps if m.amx is None else add_amx_taps
    return Convolution(m, x, weights, bias, size, output, row_group, size["channels"], taps)
