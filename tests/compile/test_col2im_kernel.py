"""Col2Im is native: strides, dilations, pads, one to three axes, types, open batches."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal

TYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "uint8": np.uint8, "int64": np.int64}


def text_of(dtype: str, image: tuple[int, ...], block: tuple[int, ...], blocks: int, rest: str) -> str:
    sizes, kernel = (", ".join(map(str, dims)) for dims in (image, block))
    axes, taps = len(image), int(np.prod(block))
    return f"""g ({dtype}[N,{3 * taps},{blocks}] x) => ({dtype}[N,3,{sizes}] y)
        <int64[{axes}] size = {{{sizes}}}, int64[{axes}] block = {{{kernel}}}>
        {{ y = Col2Im <{rest}> (x, size, block) }}"""


WINDOWS = [
    ((5, 6), (2, 3), 16, "strides = [1, 1]"),
    ((5, 6), (3, 3), 30, "pads = [1, 1, 1, 1]"),
    ((7, 40), (2, 2), 60, "strides = [2, 2], pads = [0, 0, 0, 0]"),
    ((6, 7), (2, 3), 4, "strides = [3, 2], dilations = [2, 2], pads = [1, 0, 0, 1]"),
    ((9,), (4,), 6, "strides = [1]"),
    ((40,), (3,), 20, "strides = [2], pads = [1, 1]"),
    ((4, 4), (2, 2), 36, "pads = [2, 2, 1, 1]"),
    ((3, 4, 5), (1, 1, 5), 12, "strides = [1, 1, 1]"),
    ((4, 5, 6), (2, 3, 2), 45, "pads = [0, 0, 0, 0, 0, 0]"),
    ((6, 7, 8), (2, 2, 3), 72, "strides = [2, 1, 2], dilations = [1, 2, 1], pads = [1, 0, 1, 0, 1, 1]"),
]


@pytest.mark.parametrize("dtype", [*TYPES])
@pytest.mark.parametrize(("image", "block", "blocks", "rest"), WINDOWS)
def test_windows_and_types(
    image: tuple[int, ...], block: tuple[int, ...], blocks: int, rest: str, dtype: str
) -> None:
    text, rows = text_of(dtype, image, block, blocks, rest), 3 * int(np.prod(block))
    feeds = [{"x": (normal(n, rows, blocks) * 9).clip(0).astype(TYPES[dtype])} for n in (2, 1, 0)]
    assert_engines_agree(text, *feeds)
