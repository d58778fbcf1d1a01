"""Pooling over three dims is native: maxima by two kernels of images, and global pooling by reductions of rows."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from compile.stages import stages_of
from sardonyx._src.compile.llvm.jit import host_target

WINDOWS = [
    "kernel_shape = [2, 2, 2], strides = [2, 2, 2]",
    "kernel_shape = [3, 2, 1], strides = [1, 2, 1], pads = [2, 0, 0, 1, 1, 0]",
    "kernel_shape = [2, 3, 2], dilations = [2, 1, 2], ceil_mode = 1, strides = [3, 2, 2]",
    'kernel_shape = [3, 3, 3], auto_pad = "SAME_UPPER", strides = [2, 1, 2]',
    'kernel_shape = [2, 2, 2], auto_pad = "VALID"',
]


@pytest.mark.parametrize("dims", ["N,C,D,H,W", "2,3,6,7,8"])
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(window: str, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[A,B,P,Q,R] y) {{ y = MaxPool <{window}> (x) }}"
    x = normal(2, 3, 6, 7, 8)
    x[0, 1, 2, 3, 4], x[1, 0, 0, 0, 0] = np.nan, -np.inf
    assert_engines_agree(text, {"x": x})


def test_max_pool_of_bytes() -> None:
    text = "g (uint8[1,2,4,6,6] x) => (uint8[A,B,P,Q,R] y) { y = MaxPool <kernel_shape = [2, 3, 2]> (x) }"
    assert_engines_agree(text, {"x": np.arange(288, dtype=np.uint8).reshape(1, 2, 4, 6, 6)})


def test_max_pool_has_kernels_of_images() -> None:
    text = f"g (float[1,16,8,32,32] x) => (float[A,B,P,Q,R] y) {{ y = MaxPool <{WINDOWS[0]}> (x) }}"
    keys = [step.kernel.key for step in stages_of(text, host_target()).program.steps]
    assert not [key for key in keys if key.startswith("pool_planes")]


def test_positions_of_maxima() -> None:
    text = f"g (float[1,2,4,6,6] x) => (float[A,B,P,Q,R] y, int64[A,B,P,Q,R] i) {{ y, i = MaxPool <{WINDOWS[0]}> (x) }}"
    assert_engines_agree(text, {"x": normal(1, 2, 4, 6, 6)})


@pytest.mark.parametrize("dims", ["N,3,D,H,W", "2,3,4,5,6"])
@pytest.mark.parametrize("pool", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pooling(pool: str, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[A,B,P,Q,R] y) {{ y = {pool} (x) }}"
    assert_engines_agree(text, {"x": normal(2, 3, 4, 5, 6)})
