import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    INT64,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    i64,
    infer_types,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

HANN = [0, 0.5, 1, 0.5]
HAMMING = [4 / 46, 25 / 46, 1, 25 / 46]
BLACKMAN = [0, 0.34, 1, 0.34]
ALL = {"HannWindow": HANN, "HammingWindow": HAMMING, "BlackmanWindow": BLACKMAN}
FLOATS = {1: np.float32, 10: np.float16, 11: np.float64, 16: ml_dtypes.bfloat16}
INTEGERS = {2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 12: "u4", 13: "u8"}
SYMMETRIC = {"periodic": 0}

CASES = [
    *(Case(op, 17, [i64(4)], [f32(w)]) for op, w in ALL.items()),
    *(Case(op, 17, [i64(5)], [f32([*w, w[0]])], SYMMETRIC, "symmetric") for op, w in ALL.items()),
    *(Case(op, 17, [np.array(4, np.int32)], [f32(w)], label="int32") for op, w in ALL.items()),
    *(Case(op, 17, [i64([4])], [f32(w)], label="vector") for op, w in ALL.items()),
    *(Case(op, 17, [i64(0)], [f32([])], label="empty") for op in ALL),
    *(Case(op, 17, [i64(0)], [f32([])], SYMMETRIC, "empty") for op in ALL),
    *(Case(op, 17, [i64(1)], [f32(w[:1])], label="one element") for op, w in ALL.items()),
    *(Case(op, 17, [i64(1)], [f32([1])], SYMMETRIC, "one element") for op in ALL),
    *(
        Case(op, 17, [i64(4)], [np.array(w).astype(d)], {"output_datatype": n}, np.dtype(d).name)
        for op, w in ALL.items()
        for n, d in FLOATS.items()
    ),
    *(
        Case(op, 17, [i64(4)], [np.array([0, 0, 1, 0], d)], {"output_datatype": n}, d)
        for op in ALL
        for n, d in INTEGERS.items()
    ),
    Case("HannWindow", 17, [i64(3)], [f32([0, 0.75, 0.75])], label="thirds of a circle"),
    Case("BlackmanWindow", 17, [i64(3)], [f32([0, 0.63, 0.63])], label="thirds of a circle"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", ALL)
def test_bad_sizes_and_types_are_refused(op: str) -> None:
    assert_refused(Case(op, 17, [i64(-1)], [f32([])]), "size must be >= 0; got -1")
    assert_refused(Case(op, 17, [i64([1, 2])], [f32([])]), "size must be a scalar; got 2 elements")
    assert_refused(
        Case(op, 17, [i64(1)], [f32([])], {"output_datatype": 9}), "output_datatype must .*; got 9"
    )
    assert_too_large(Case(op, 17, [i64(1 << 40)], [f32([])]))


@pytest.mark.parametrize("op", ALL)
def test_length_is_the_size(op: str) -> None:
    assert infer_types(make_inference(op, 17, [ints()], {0: vec(N).reshape(())})) == [
        TensorType(DataType.FLOAT, (N,))
    ]
    assert infer_types(make_inference(op, 17, [ints()], {0: i64(5)}, output_datatype=7)) == [
        TensorType(INT64, (5,))
    ]
    assert infer_types(make_inference(op, 17, [ints()])) == [TensorType(DataType.FLOAT, (None,))]
    assert_contradiction(make_inference(op, 17, [ints(2)]), "size must be a scalar; got 2 elements")
    assert_contradiction(make_inference(op, 17, [ints()], {0: i64(-1)}), "size must be >= 0; got -1")
    assert_contradiction(
        make_inference(op, 17, [ints()], output_datatype=8), "output_datatype must .*; got 8"
    )
