"""Integer products in AMX tiles: exact sums for every shape of tiles, and the same results as without AMX.

Where the processor has no AMX, or the system refuses it, tiles are emulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from compile import guarded
from compile.amx_features import without_amx
from compile.emulated_amx import emulated_amx, with_emulated_amx
from compile.test_integer_matmul import compile_for, draw, pad_to_int8x4
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps, sign_correction
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant, pack_int32_bias
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import has_amx_int8
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.tile.register_tile import choose_int8_tile
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Window
from sardonyx._src.ir import Array

HOST = host_target()
AMX_TARGET = replace(HOST, lanes=16, registers=32, features="+amx-tile,+amx-int8")
SIZES = [
    (4, 192, 16),
    (16, 192, 32),
    (17, 256, 33),
    (31, 288, 48),
    (32, 200, 20),
    (33, 2304, 65),
    (100, 250, 7),
    (400, 192, 70),
]
TARGETS = [
    HOST if has_amx_int8(HOST) else with_emulated_amx(HOST),
    replace(HOST, features=without_amx(HOST.features)),
]


@pytest.fixture(autouse=True)
def tiles() -> Iterator[None]:
    with nullcontext() if has_amx_int8(HOST) else emulated_amx():
        yield


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_are_exact(size: tuple[int, int, int], dtype: str, has_bias: bool) -> None:
    m, k, n = size
    a, b = draw(m, k, dtype=dtype), draw(k, n, dtype="i1", seed=1)
    is_signed = dtype == "i1"
    bias = np.arange(n, dtype=np.int32) - 5 if has_bias else np.zeros(n, np.int32)
    expected = (a.astype(np.int64) + 128 * is_signed) @ b.astype(np.int64) + bias
    for target in TARGETS:
        panels = pack_int8_constant(b, target, rows=m)
        assert bool(panels.tile.amx_words) == has_amx_int8(target)
        initial = bias + sign_correction(b, panels.tile, a_is_signed=is_signed)
        added = make_constant(pack_int32_bias(initial, panels.tile)) if initial.any() else None
        packed, memory = pad_to_int8x4(a)
        actual = np.zeros((m, n), np.int32)
        y, buffer = guarded.tensor(actual)
        steps = integer_matmul_steps(packed, panels, y, added, IntegerEpilogue(), a_is_signed=is_signed)
        guarded.run([compile_for(step, target) for step in steps], {packed.buffer: memory, buffer: actual})
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("channels", [(192, 64), (288, 33), (200, 144), (5000, 16), (212, 20)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_pointwise_convolutions_are_exact(channels: tuple[int, int], dtype: str) -> None:
    x, w = draw(2, 7, 9, channels[0], dtype=dtype), draw(channels[1], channels[0], 1, 1, dtype="i1", seed=1)
    is_signed = dtype == "i1"
    start = np.arange(channels[1], dtype=np.int32)
    expected = (x.astype(np.int64) + 128 * is_signed) @ w[:, :, 0, 0].T.astype(np.int64) + start
    for target in TARGETS:
        weights = pack_integer_weights(
            w, start, Window(), target, 1, 126, is_matrix=True, a_is_signed=is_signed
        )
        assert bool(weights.tile.amx_words) == has_amx_int8(target)
        packed, memory = pad_to_int8x4(x)
        actual = np.zeros((*x.shape[:3], channels[1]), np.int32)
        y, buffer = guarded.tensor(actual)
        point = make_constant(np.zeros((), x.dtype))
        step = integer_convolution_step(packed, point, weights, y, IntegerEpilogue(), a_is_signed=is_signed)
        guarded.run(compile_for(step, target), {packed.buffer: memory, buffer: actual})
        np.testing.assert_array_equal(actual, expected)


Pair = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """image: N, H, W; channels: of x and of the output; pads: top, left, bottom, right."""

    image: tuple[int, int, int]
    channels: Pair
    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1

    @property
    def size(self) -> Pair:
        """Height and width of the output."""
        _, h, w = self.image
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        height = (h + self.pads[0] + self.pads[2] - spans[0]) // self.strides[0] + 1
        return height, (w + self.pads[1] + self.pads[3] - spans[1]) // self.strides[1] + 1


def reference_sums(x: Array, w: Array, zero: int, case: Case, groups: int) -> Array:
    """Sums [N, Ho, Wo, Co] int64 of x [N, H, W, C], minus its zero point, times w [Co, C / groups, h, w]."""
    top, left, bottom, right = case.pads
    padded = np.pad(x.astype(np.int64) - zero, ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = case.size
    result = np.zeros((len(x), height, width, len(w)), np.int64)
    group_columns, share = len(w) // groups, w.shape[1]
    for group in range(groups):
        group_input = padded[..., group * share : (group + 1) * share]
        for ky, kx in np.ndindex(*case.kernel):
            y, z = ky * case.dilations[0], kx * case.dilations[1]
            rows = slice(y, y + (height - 1) * case.strides[0] + 1, case.strides[0])
            columns = slice(z, z + (width - 1) * case.strides[1] + 1, case.strides[1])
            tap_weights = w[group * group_columns : (group + 1) * group_columns, :, ky, kx].astype(np.int64)
            result[..., group * group_columns : (group + 1) * group_columns] += (
                group_input[:, rows, columns] @ tap_weights.T
            )
    return result


WINDOWS = [
    Case((2, 7, 9), (24, 33), (3, 3), pads=(1, 1, 1, 1)),
    Case((1, 9, 11), (33, 16), (3, 3), (2, 2), pads=(1, 1, 1, 1)),  # pixels are not whole words
    Case((1, 12, 10), (24, 40), (3, 3), dilations=(2, 2), pads=(2, 2, 2, 2)),
    Case((2, 6, 5), (200, 20), strides=(2, 2)),
    Case((1, 5, 40), (8, 8), (1, 40), pads=(0, 20, 0, 19)),  # lines that begin and end outside of the image
]


@pytest.mark.parametrize("case", WINDOWS, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_convolutions_of_packed_rows_are_exact(case: Case, dtype: str) -> None:
    (n, height, width), (channels, columns) = case.image, case.channels
    x = draw(n, height, width, channels, dtype=dtype)
    w = draw(columns, channels, *case.kernel, dtype="i1", seed=1)
    zero, is_signed = -77 if dtype == "i1" else 200, dtype == "i1"
    start = np.arange(columns, dtype=np.int32)
    raw = reference_sums(
        x, w, zero, case, 1
    )  # x minus its zero point, which the initial sums of callers correct
    offset = (zero + 128 * is_signed) * w.astype(np.int64).sum((1, 2, 3))
    expected = raw + offset + start
    for target in TARGETS:
        window = Window(case.kernel, case.strides, case.dilations, case.pads[:2])
        pixels = n * case.size[0] * case.size[1]
        weights = pack_integer_weights(w, start, window, target, 1, pixels, a_is_signed=is_signed)
        assert weights.packs_rows == bool(weights.tile.amx_words) == has_amx_int8(target)
        packed, memory = pad_to_int8x4(x)
        actual = np.zeros(expected.shape, np.int32)
        y, buffer = guarded.tensor(actual)
        point = make_constant(np.array(zero, x.dtype))
        step = integer_convolution_step(packed, point, weights, y, IntegerEpilogue(), a_is_signed=is_signed)
        guarded.run(compile_for(step, target), {packed.buffer: memory, buffer: actual})
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("columns", "words", "rows", "expected"),
    [
        (64, 48, 100, (32, 2, 16)),
        (16, 60, 100, (32, 1, 15)),
        (64, 53, 100, None),  # no words of a tile divide those of a row
        (64, 16, 100, None),
        (64, 0, 100, None),
        (64, 48, 3, None),
    ],
)
def test_tiles_of_amx_divide_rows(
    columns: int, words: int, rows: int, expected: tuple[int, int, int] | None
) -> None:
    tile = choose_int8_tile(columns, words, rows, AMX_TARGET)
    assert (None if not tile.amx_words else (tile.rows, tile.vectors, tile.amx_words)) == expected


@pytest.mark.parametrize("missing", ["+amx-tile", "+amx-int8"])
def test_no_target_without_the_features_has_amx(missing: str) -> None:
    others = replace(AMX_TARGET, features=AMX_TARGET.features.replace(missing, missing.replace("+", "-")))
    targets: list[Target] = [others, replace(AMX_TARGET, features=without_amx(AMX_TARGET.features))]
    assert has_amx_int8(AMX_TARGET) and not any(map(has_amx_int8, targets))
    assert not any(choose_int8_tile(64, 48, 100, target).amx_words for target in targets)


@pytest.mark.parametrize("is_granted", [False, True])
def test_features_of_the_host_have_amx_only_with_permission(
    is_granted: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags\t: avx512f amx_tile amx_int8\n", "utf-8")
    monkeypatch.setattr(features, "request_amx", lambda: is_granted)
    expected = {"avx512f", "amx_tile", "amx_int8"} if is_granted else {"avx512f"}
    assert features.host_features(cpuinfo) == expected
