from collections.abc import Mapping
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.inference import Known

REAL = f32([1, 2, 3, 4]).reshape(1, 4, 1)
SPECTRUM = f32([[10, 0], [-2, 2], [-2, 0], [-2, -2]])[None]  # of 1, 2, 3, 4
COMPLEX = f32([[0, 0], [1, 1], [0, 0], [0, 0]])[None]  # its transform rotates 1+i by quarter turns
TURNS = f32([[1, 1], [1, -1], [-1, -1], [-1, 1]])[None]
WITHOUT = np.zeros_like(REAL)
ODD = f32([1, 2, 3]).reshape(1, 3, 1)
ODD_HALF = f32([[6, 0], [-1.5, 0.8660254]])[None]


def dft(
    x: Array, result: Array, label: str, length: int | None = None, axis: int | None = None, **attributes: int
) -> list[Case]:
    """The same in both versions, along axis 1 unless another one is given."""
    sizes = None if length is None else i64(length)
    along = 1 if axis is None else axis
    return [
        Case("DFT", 17, [x, sizes], [result], {"axis": along, **attributes}, label),
        Case("DFT", 20, [x, sizes, i64(along)], [result], attributes, label),
    ]


CASES = [
    *dft(REAL, SPECTRUM, "real"),
    *dft(COMPLEX, TURNS, "complex"),
    *dft(SPECTRUM, np.concatenate([REAL, WITHOUT], -1), "inverse", inverse=1),
    *dft(TURNS, COMPLEX, "inverse of complex", inverse=1),
    *dft(REAL, f32([[2.5, 0], [-0.5, -0.5], [-0.5, 0], [-0.5, 0.5]])[None], "inverse of real", inverse=1),
    *dft(REAL, SPECTRUM[:, :3], "onesided", onesided=1),
    *dft(ODD, ODD_HALF, "onesided, odd", onesided=1),
    *dft(SPECTRUM[:, :3], REAL, "onesided inverse", onesided=1, inverse=1),
    *dft(ODD_HALF, ODD, "onesided inverse, odd", 3, onesided=1, inverse=1),
    *dft(REAL[:, :1], f32([[1, 0], [1, 0], [1, 0]])[None], "filled with zeros", 3),
    *dft(REAL, f32([[3, 0], [-1, 0]])[None], "cut", 2),
    *dft(REAL, f32([[3, 0], [-1, 0]])[None], "cut, onesided", 2, onesided=1),
    *dft(SPECTRUM[:, :3], f32([4, 6]).reshape(1, 2, 1), "cut inverse", 2, onesided=1, inverse=1),
    *dft(REAL.reshape(4, 1), SPECTRUM[0], "two axes", axis=0),
    *dft(REAL.reshape(4, 1), SPECTRUM[0], "axis from the back", axis=-2),
    *dft(REAL.reshape(1, 1, 4, 1), SPECTRUM[:, None], "three axes", axis=-2),
    *dft(REAL.reshape(4, 1, 1), SPECTRUM.reshape(4, 1, 2), "first axis", axis=-3),
    *dft(REAL[:0], SPECTRUM[:0], "no batches"),
    *dft(REAL.astype(np.float64), SPECTRUM.astype(np.float64), "double"),
    *dft(REAL.astype(np.float16), SPECTRUM.astype(np.float16), "float16"),
    *dft(REAL.astype(ml_dtypes.bfloat16), SPECTRUM.astype(ml_dtypes.bfloat16), "bfloat16"),
    *dft(REAL.astype(ml_dtypes.bfloat16), SPECTRUM[:, :3].astype(ml_dtypes.bfloat16), "bfloat16", onesided=1),
    Case("DFT", 17, [REAL], [SPECTRUM], label="axis 1 by default"),
    Case("DFT", 17, [REAL, np.array(4, np.int32)], [SPECTRUM], label="int32 length"),
    Case("DFT", 20, [REAL.reshape(1, 1, 4, 1)], [SPECTRUM[:, None]], label="axis -2 by default"),
    Case("DFT", 20, [REAL, i64([4]), i64([1])], [SPECTRUM], label="vectors of one element"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_transform_is_the_sum_of_its_definition(size: int) -> None:
    x = np.random.default_rng(size).random((3, size, 2))
    turns = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)
    z = (x[..., 0] + 1j * x[..., 1]) @ turns
    spectrum = np.stack([z.real, z.imag], -1)
    assert_case(Case("DFT", 20, [x], [spectrum]))
    assert_case(Case("DFT", 20, [spectrum], [x], {"inverse": 1}))


@pytest.mark.parametrize("version", [17, 20])
def test_what_does_not_fit_is_refused(version: int) -> None:
    def bad(x: Array, length: int = 4, **attributes: int) -> Case:
        return Case("DFT", version, [x, i64(length)], [x], attributes)

    assert_refused(bad(f32([1, 2, 3, 4])), "a last axis of size 1 or 2")
    assert_refused(bad(np.zeros((1, 4, 3), np.float32)), "a last axis of size 1 or 2")
    assert_refused(bad(COMPLEX, onesided=1), "onesided must have real input")
    assert_refused(bad(REAL, onesided=1, inverse=1), "onesided must have complex input")
    assert_refused(bad(REAL, 0), "dft_length must be >= 1; got 0")
    assert_refused(Case("DFT", version, [REAL, i64([4, 4])], [REAL]), "dft_length must be a scalar; got 2")
    assert_refused(Case("DFT", version, [REAL[:, :0]], [REAL]), "dft_length must be >= 1; got 0")
    assert_too_large(bad(REAL, 1 << 40))


def test_axis_of_the_parts_is_refused() -> None:
    for axis in (-1, 2):
        assert_refused(
            Case("DFT", 17, [REAL], [REAL], {"axis": axis}),
            "axis must not be that of real and imaginary parts",
        )
        assert_refused(
            Case("DFT", 20, [REAL, None, i64(axis)], [REAL]),
            "axis must not be that of real and imaginary parts",
        )
    assert_refused(Case("DFT", 17, [REAL], [REAL], {"axis": 3}), "axis 3 lies outside")


def inferred_shape(
    version: int, x: TensorType, known: Mapping[int, Known] | None = None, **attributes: int
) -> object:
    inputs = [x] if known is None else [x, ints(), ints()][: 1 + max(known)]
    inference = make_inference("DFT", version, inputs, known)
    return infer_shape(replace(inference, attributes={**inference.attributes, **attributes}))


def test_symbols_stay_in_the_shape() -> None:
    assert inferred_shape(17, floats(N, M, 1)) == (N, M, 2)
    assert inferred_shape(17, floats(N, M, 1), onesided=1) == (N, M // 2 + 1, 2)
    assert inferred_shape(17, floats(N, M, 2), onesided=1, inverse=1) == (N, M * 2 - 2, 1)
    assert inferred_shape(17, floats(N, M, 2), {1: i64(8)}) == (N, 8, 2)
    assert inferred_shape(17, floats(N, M, 1), {1: vec(N).reshape(())}, onesided=1) == (N, N // 2 + 1, 2)
    assert inferred_shape(17, floats(N, M, 1), axis=0) == (N, M, 2)
    assert inferred_shape(20, floats(N, 5, M, 1), onesided=1) == (N, 5, M // 2 + 1, 2)
    assert inferred_shape(20, floats(N, 5, M, None), {1: i64(8), 2: i64(1)}) == (N, 8, M, 2)
    assert inferred_shape(17, TensorType(FLOAT)) is None


def test_unknown_axes_and_lengths_leave_the_rest() -> None:
    assert infer_shape(make_inference("DFT", 20, [floats(N, M, 1), ints()])) == (N, None, 2)
    assert infer_shape(make_inference("DFT", 20, [floats(N, M, 1), None, None])) == (None, None, 2)


def test_what_contradicts_the_shape_is_found() -> None:
    assert_contradiction(
        make_inference("DFT", 17, [floats(N, M, 3)]), r"the input must .*; got float\[N,M,3\]"
    )
    assert_contradiction(make_inference("DFT", 17, [floats(2)]), r"the input must .*; got float\[2\]")
    assert_contradiction(
        make_inference("DFT", 17, [floats(N, M, 2)], onesided=1),
        "onesided must have real input; got a last axis of size 2",
    )
    assert_contradiction(make_inference("DFT", 17, [floats(N, M, 1)], axis=2), "real and imaginary parts")
    assert_contradiction(make_inference("DFT", 20, [floats(N, M, 1), None, ints()], {2: i64(5)}), "axis 5")
    assert_contradiction(
        make_inference("DFT", 17, [floats(N, M, 1), ints()], {1: i64(0)}), "dft_length must be >= 1; got 0"
    )
