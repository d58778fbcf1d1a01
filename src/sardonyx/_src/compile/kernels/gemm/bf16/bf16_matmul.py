"""Steps of batched products of bfloat16 words: a separate step rounds A to bfloat16 once, then the GEMM reads it.

Loop nest of the rounding: units of work (rows) -> vectors of words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sardonyx._src.compile.codegen import Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import BF16_ARITHMETIC
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD, copy_rounded, padded_words
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_product, exact_div

if TYPE_CHECKING:
    from sardonyx._src.compile.kernels.gemm.packing.panels import Panels


ROUNDING_PARAMETERS = Parameters("x", "words", "x_row", "count", "row_words")


def bf16_matmul_steps(
    a: TensorView,
    b: Panels,
    y: TensorView,
    *,
    bias: TensorView | None = None,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    k_block: int | None = None,
) -> list[Step]:
    """y [..., M, N] = epilogue(a [..., M, words] @ b + bias), as in `matmul_steps`; a: a view from `view_as_words`.

    k_block: the most terms of a block that is summed from zero, even.
    """
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.gemm.floats.loop_nest import (
        matmul_module,
        matmul_parameters,
    )
    from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps  # lazy: few models need it

    epilogue, has_bias = epilogue or Epilogue(), bias is not None
    source = partial(
        matmul_module,
        vectors=b.tile.vectors,
        amx_words=b.tile.amx_words,
        epilogue=epilogue,
        arithmetic=BF16_ARITHMETIC,
        has_bias=has_bias,
        has_strided_a=False,
    )
    key = f"matmul_bf16_{b.tile.vectors}_amx{b.tile.amx_words}_{has_bias}:{epilogue.key}"
    kernel = Kernel(key, source, matmul_parameters(epilogue, has_bias=has_bias))
    words = None if k_block is None else k_block // BF16_PER_WORD
    steps = matmul_steps(a, b, y, bias=bias, epilogue=epilogue, operands=operands, k_block=words)
    return [replace(step, kernel=kernel, flops=step.flops * BF16_PER_WORD) for step in steps]


# --- rounded rows -----------------------------------------------------------------------------


def make_rounded_rows(shape: tuple[Known, ...], name: str) -> TensorView:
    """A temporary [..., K] of bfloat16, whose rows are padded to whole tiles (`padded_words`)."""
    *outer, terms = shape
    assert isinstance(terms, int), f"the length of rows must be known; got {terms}"
    padded = (*outer, padded_words(terms) * BF16_PER_WORD)
    buffer = Buffer("arena", dim_product(padded) * 2, name)
    return TensorView(DataType.BFLOAT16, shape, row_major_strides(padded), buffer)


def view_as_words(rows: TensorView) -> TensorView:
    """A view of rounded rows [..., K] as words [..., row words] of i32, padding included."""
    terms = rows.shape[-1]
    assert isinstance(terms, int), f"the length of rows must be known; got {terms}"
    strides = tuple(exact_div(stride, BF16_PER_WORD) for stride in rows.strides[:-1])
    shape, offset = (*rows.shape[:-1], padded_words(terms)), exact_div(rows.offset, BF16_PER_WORD)
    return replace(rows, dtype=DataType.INT32, shape=shape, strides=(*strides, 1), offset=offset)


def round_rows_step(x: TensorView, rounded: TensorView) -> Step:
    """rounded [..., K] = x [..., K] float32, whose rows are contiguous and one stride apart; with zeros as padding."""
    words, x_row = view_as_words(rounded), x.row_stride
    assert x_row is not None, f"rows of {x} must be contiguous and have one stride"
    num_rows = dim_product(x.shape[:-1])
    args: tuple[KernelArgument, ...] = ROUNDING_PARAMETERS.pack(
        x=x, words=words, x_row=x_row, count=x.shape[-1], row_words=words.shape[-1]
    )
    kernel = Kernel("round_rows_bf16", rounding_module, ROUNDING_PARAMETERS)
    traffic = x.nbytes + words.nbytes
    return Step(kernel, args, num_rows, (x,), (words,), flops=x.num_elements, bytes_accessed=traffic)


def rounding_module(name: str, target: Target) -> str:
    """The LLVM module of the kernel; a unit of work is one row."""
    b = KernelBuilder(target, ROUNDING_PARAMETERS)
    x, words = b.pointers("x", "words")
    x_row, count, row_words = b.integers("x_row", "count", "row_words")
    with b.loop(b.first_unit, b.end_unit, 1, "row") as row:
        copy_rounded(b, b.gep(x, row * x_row), b.gep(words, row * row_words), count, row_words)
    return b.build_module(name)
