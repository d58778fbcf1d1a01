"""Quantized operators: results may differ by one where a float lies between two integers."""

import numpy as np
import pytest

from ops.microsoft.judge import VendorCase, assert_agrees, assert_native_agrees, run

RNG = np.random.default_rng(4)
BYTES = (np.uint8, np.int8)


def draw(dtype: type, *shape: int) -> np.ndarray:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return RNG.integers(low, high, shape, dtype=dtype, endpoint=True)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def weights(*shape: int) -> np.ndarray:
    """int8 values whose sums of products do not saturate on processors without the integer dot product."""
    return RNG.integers(-60, 60, shape, dtype=np.int8)


def zero(dtype: type, value: int) -> np.ndarray:
    return np.array(value, dtype)


def params(dtype: type, factor: float) -> list[np.ndarray]:
    return [scale(factor), zero(dtype, 3 if dtype is np.int8 else 120)]


def elementwise(dtype: type) -> list[VendorCase]:
    x, y, q = draw(dtype, 2, 3, 8), draw(dtype, 3, 8), params(dtype, 0.03)
    name = np.dtype(dtype).name
    return [
        VendorCase(
            "QLinearAdd", [x, *q, y, *params(dtype, 0.05), *params(dtype, 0.07)], off_by=1, label=name
        ),
        VendorCase(
            "QLinearMul", [x, *q, y, *params(dtype, 0.05), *params(dtype, 0.02)], off_by=1, label=name
        ),
        VendorCase("QLinearLeakyRelu", [x, *q, *params(dtype, 0.02)], {"alpha": 0.2}, off_by=1, label=name),
        VendorCase("QLinearSigmoid", [x, *q, *params(dtype, 0.004)], off_by=1, label=name),
        VendorCase(
            "QLinearSoftmax",
            [x, *q, scale(1 / 256), zero(dtype, np.iinfo(dtype).min)],
            {"opset": 13},
            off_by=1,
            label=name,
        ),
        VendorCase(
            "QLinearSoftmax",
            [x, *q, scale(1 / 256), zero(dtype, np.iinfo(dtype).min)],
            {"opset": 12, "axis": 1},
            off_by=1,
            label=f"{name} flattened",
        ),
        VendorCase(
            "QLinearWhere",
            [RNG.random((2, 3, 8)) < 0.5, x, *q, y, *params(dtype, 0.05), *params(dtype, 0.06)],
            off_by=1,
            label=name,
        ),
        VendorCase(
            "QLinearConcat",
            [*params(dtype, 0.04), x, *q, draw(dtype, 2, 5, 8), *params(dtype, 0.05)],
            {"axis": 1},
            off_by=1,
            label=name,
        ),
    ]


def windows(dtype: type) -> list[VendorCase]:
    x, q, r = draw(dtype, 1, 4, 7, 7), params(dtype, 0.03), params(dtype, 0.02)
    last, name = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.dtype(dtype).name
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    filters = [weights(6, 4, 3, 3), scale(0.01), zero(np.int8, 0)]
    return [
        VendorCase("QLinearAveragePool", [x, *q, *r], pool, off_by=1, label=name),
        VendorCase(
            "QLinearAveragePool",
            [x, *q, *r],
            {**pool, "count_include_pad": 1, "ceil_mode": 1},
            off_by=1,
            label=f"{name} padding",
        ),
        VendorCase(
            "QLinearAveragePool", [last, *q, *r], {**pool, "channels_last": 1}, off_by=1, label=f"{name} last"
        ),
        VendorCase("QLinearGlobalAveragePool", [x, *q, *r], off_by=1, label=name),
        VendorCase(
            "QLinearGlobalAveragePool", [last, *q, *r], {"channels_last": 1}, off_by=1, label=f"{name} last"
        ),
        VendorCase(
            "QLinearConv",
            [x, *q, *filters, *params(dtype, 0.3)],
            {"pads": [1, 1, 1, 1]},
            off_by=1,
            label=name,
        ),
        VendorCase(
            "QLinearConv",
            [last, *q, *filters, *params(dtype, 0.3), np.arange(6, dtype=np.int32) * 100],
            {"channels_last": 1, "strides": [2, 2]},
            off_by=1,
            label=f"{name} last",
        ),
        VendorCase("NhwcMaxPool", [last], pool, label=name),
    ]


def products() -> list[VendorCase]:
    a, b = draw(np.uint8, 3, 16), weights(16, 5)
    per_column = [(np.abs(floats(5)) + 0.01).astype(np.float32), weights(5) // 8]
    ten, out = zero(np.int8, 10), params(np.uint8, 2.0)
    c = np.arange(15, dtype=np.int32).reshape(3, 5) * 50
    f = floats(2, 3, 16)
    return [
        VendorCase("MatMulIntegerToFloat", [a, b, scale(0.02), scale(0.03)]),
        VendorCase(
            "MatMulIntegerToFloat",
            [a, b, scale(0.02), per_column[0], zero(np.uint8, 7), per_column[1], floats(5)],
            label="columns",
        ),
        VendorCase(
            "MatMulIntegerToFloat",
            [
                a,
                b,
                scale(0.02).reshape(1),
                scale(0.1).reshape(1),
                zero(np.uint8, 7).reshape(1),
                ten.reshape(1),
            ],
            label="vectors",
        ),
        VendorCase("DynamicQuantizeMatMul", [f, b, scale(0.03)], rtol=1e-3, atol=1e-3),
        VendorCase(
            "DynamicQuantizeMatMul", [f, b, *per_column, floats(5)], rtol=1e-3, atol=1e-3, label="columns"
        ),
        VendorCase(
            "DynamicQuantizeMatMul",
            [f, draw(np.uint8, 16, 5) // 2, scale(0.03), zero(np.uint8, 60)],
            rtol=1e-3,
            atol=1e-3,
            label="uint8",
        ),
        VendorCase("MatMulInteger16", [draw(np.int16, 3, 4) // 64, draw(np.int16, 4, 5) // 64]),
        VendorCase("QGemm", [a, scale(0.02), zero(np.uint8, 7), b, scale(0.03), ten]),
        VendorCase(
            "QGemm",
            [a.T.copy(), scale(0.02), zero(np.uint8, 7), b.T.copy(), scale(0.03), ten, c],
            {"transA": 1, "transB": 1, "alpha": 0.5},
            label="transposed",
        ),
        VendorCase(
            "QGemm",
            [a, scale(0.02), zero(np.uint8, 7), b, per_column[0], per_column[1], c, *out],
            off_by=1,
            label="quantized",
        ),
        VendorCase("DequantizeLinear", [draw(np.int16, 3, 4), scale(0.1), zero(np.int16, 5)]),
        VendorCase(
            "DequantizeLinear",
            [draw(np.uint8, 3, 4), floats(4), draw(np.uint8, 4)],
            {"axis": 1},
            label="axis",
        ),
        VendorCase("QuantizeLinear", [floats(3, 4), scale(0.01), zero(np.uint16, 500)]),
        VendorCase(
            "QuantizeLinear",
            [floats(3, 4), np.abs(floats(3)) + np.float32(0.1), draw(np.int8, 3) // 8],
            {"axis": 0},
            label="axis",
        ),
    ]


CASES = [*(case for t in BYTES for case in (*elementwise(t), *windows(t))), *products()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees(case: VendorCase) -> None:
    assert_agrees(case)


@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_native(case: VendorCase) -> None:
    assert_native_agrees(case)


@pytest.mark.parametrize("dtype", BYTES)
def test_an_omitted_zero_point_is_zero(dtype: type) -> None:
    x = draw(dtype, 2, 8)  # onnxruntime itself aborts without zero points
    none, given = (
        VendorCase("QLinearSigmoid", [x, scale(0.03), point, scale(0.004)])
        for point in (None, zero(dtype, 0))
    )
    np.testing.assert_array_equal(run(none), run(given))
