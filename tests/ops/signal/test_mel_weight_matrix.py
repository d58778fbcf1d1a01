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
    i64,
    infer_types,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType

OP = "MelWeightMatrix"
# 500 Hz are 607.4 mel; quarters of that are 101.0, 216.5 and 348.7 Hz: bins 0, 0, 1 and 3 of 9 per 1000 Hz.
INPUTS = [i64(2), i64(8), i64(1000), f32(0), f32(500)]
MATRIX = f32([[1, 0], [0, 1], [0, 0.5], [0, 0], [0, 0]])
# 4000 Hz are 2146.1 mel; thirds of that are 620.6 and 1791.3 Hz: bins 0, 3 and 11 of 51 per 8000 Hz.
ONE_BAND = [i64(1), i64(50), i64(8000), f32(0), f32(4000)]
TRIANGLE = np.array([0, 1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])

CASES = [
    Case(OP, 17, INPUTS, [MATRIX]),
    Case(OP, 17, [x.astype(np.int32) for x in INPUTS[:3]] + [x.astype(np.float64) for x in INPUTS[3:]], [MATRIX], label="int32 and double"),
    Case(OP, 17, [x.reshape(1) for x in INPUTS], [MATRIX], label="vectors"),
    Case(OP, 17, [*INPUTS[:3], *(x.astype(ml_dtypes.bfloat16) for x in INPUTS[3:])], [MATRIX], label="bfloat16 edges"),
    Case(OP, 17, ONE_BAND, [np.pad(TRIANGLE, (0, 14))[:, None].astype(np.float32)], label="one band"),
    Case(OP, 17, [i64(0), *INPUTS[1:]], [MATRIX[:, :0]], label="no bands"),
    Case(OP, 17, [*INPUTS[:3], f32(0), f32(0)], [f32([[1, 1], [0, 0], [0, 0], [0, 0], [0, 0]])], label="all in one bin"),
    Case(OP, 17, INPUTS, [MATRIX.astype(np.float16)], {"output_datatype": 10}),
    Case(OP, 17, INPUTS, [MATRIX.astype(np.float64)], {"output_datatype": 11}),
    Case(OP, 17, INPUTS, [MATRIX.astype(ml_dtypes.bfloat16)], {"output_datatype": 16}),
    *(
        Case(OP, 17, INPUTS, [np.array([[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], d)], {"output_datatype": n}, "halves are cut off")
        for n, d in {2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 12: "u4", 13: "u8"}.items()
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_bad_values_are_refused() -> None:
    def bad(i: int, x: Array) -> Case:
        return Case(OP, 17, [*INPUTS[:i], x, *INPUTS[i + 1 :]], [MATRIX])

    assert_refused(bad(0, i64(-1)), "num_mel_bins must be >= 0; got -1")
    assert_refused(bad(0, i64([1, 2])), "num_mel_bins must be a scalar; got 2 elements")
    assert_refused(bad(1, i64(-1)), "dft_length must be >= 0; got -1")
    assert_refused(bad(2, i64(0)), "sample_rate must be >= 1; got 0")
    assert_refused(bad(3, f32(600)), "edges must satisfy .*; got 600.0 and 500.0")
    assert_refused(bad(3, f32(-1)), "got -1.0 and")
    assert_refused(bad(4, f32(np.nan)), "and nan")
    assert_refused(Case(OP, 17, INPUTS, [MATRIX], {"output_datatype": 9}), "output_datatype must .*; got 9")
    assert_too_large(bad(0, i64(1 << 40)))


def test_shape_is_bins_by_bands() -> None:
    inputs = [ints(), ints(), ints(), None, None]
    known = {0: vec(N).reshape(()), 1: vec(M).reshape(())}
    assert infer_types(make_inference(OP, 17, inputs, known)) == [TensorType(FLOAT, (M // 2 + 1, N))]
    assert infer_types(make_inference(OP, 17, inputs, {0: i64(3), 1: i64(7)}, output_datatype=10)) == [
        TensorType(DataType.FLOAT16, (4, 3))
    ]
    assert infer_types(make_inference(OP, 17, inputs)) == [TensorType(FLOAT, (None, None))]
    assert_contradiction(make_inference(OP, 17, inputs, {0: i64(-3)}), "num_mel_bins must be >= 0; got -3")
    assert_contradiction(make_inference(OP, 17, inputs, output_datatype=9), "output_datatype must .*; got 9")
