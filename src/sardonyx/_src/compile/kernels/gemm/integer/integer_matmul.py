"""Steps of a batched integer GEMM, int8 x int8 -> int32: the loop nest of the float32 one, on packed int8x4 words.

A is [..., M, K / 4] words of four elements of a row; B is in panels [..., panels, K / 4, width] of words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.kernels.gemm.floats.loop_nest import matmul_module, matmul_parameters
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.integer.integer_microkernel import int8_arithmetic, layout_key
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir import Array

SIGN_OFFSET = 128  # converts between uint8 and int8


def integer_matmul_steps(
    a: TensorView,
    b: Panels,
    y: TensorView,
    bias: TensorView | None,
    epilogue: IntegerEpilogue,
    operands: tuple[TensorView, ...] = (),
    *,
    a_is_signed: bool = False,
) -> list[Step]:
    """y [..., M, N] = epilogue(a [..., M, K] @ b [..., K, N] + bias), as in `matmul_steps`.

    a: words, a view from `packed_int8.view_as_int8x4`.
    bias: [panels, width] int32.
    a_is_signed: elements of a are int8, not uint8.  Vector kernels then add 128 to each, for which the caller corrects the
        bias; AMX tiles do not add it (`sign_correction`).
    """
    source = partial(
        matmul_module,
        vectors=b.tile.vectors,
        amx_words=b.tile.amx_words,
        epilogue=epilogue,
        arithmetic=int8_arithmetic(b.tile, a_is_signed=a_is_signed),
        has_bias=bias is not None,
        has_strided_a=False,
    )
    amx = f"_amx{b.tile.amx_words}" if b.tile.amx_words else ""
    key = f"matmul_bytes{layout_key(b.tile)}_{b.tile.vectors}{amx}_{bias is not None}_{a_is_signed}:{epilogue.key}"
    kernel = Kernel(key, source, matmul_parameters(epilogue, has_bias=bias is not None))
    steps = matmul_steps(a, b, y, bias=bias, epilogue=epilogue, operands=operands)
    return [replace(step, kernel=kernel) for step in steps]


def sign_correction(weights: Array, tile: RegisterTile, *, a_is_signed: bool) -> Array:
    """A correction, int32 [columns], to be added to the initial sums of a product by weights [k, columns] int8.

    The initial sums assume that A is uint8, 128 being added to each element of an int8 operand.  AMX tiles do not add it,
    and tiles that are signed read int8 in both cases; the correction reverses that.  For other kernels it is 0.
    """
    sums = weights.sum(0, dtype=np.int32)
    is_corrected = tile.is_signed or (a_is_signed and tile.amx_words)
    return sums * SIGN_OFFSET if is_corrected else np.zeros_like(sums)
