import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import find

F, D, H = np.float32, np.float64, np.float16
B = ml_dtypes.bfloat16
E4M3, E4M3Z = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz
E5M2, E5M2Z = ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz
E8M0, E2M1 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn
E2M3, E3M2 = ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn
NAN, INF = np.nan, np.inf


def codes(dtype: type, *values: int) -> Array:
    """Elements of the type by their bits, which distinguish -0 from 0 and NaNs from each other."""
    return np.array(values, np.uint8).view(dtype)


def text(*values: str) -> Array:
    return np.array(values, object)


def case(version: int, x: Array, y: Array, label: str = "", **attributes: object) -> Case:
    to = DataType.of(y.dtype)
    return Case("Cast", version, [x], [y], {"to": to.name if version < 6 else int(to), **attributes}, label)


SPECIAL = np.array([0, -0.0, NAN, INF, -INF, 1e6, -1e6], F)

CASES = [
    case(1, np.array([1.9, -1.9], F), np.array([1, -1], np.int32), "type by name"),
    case(6, np.array([1.9, -1.9], F), np.array([1, -1], np.int32)),
    case(9, np.array([36, 0], np.int64), np.array([True, False])),
    case(9, text("3.14", "1000", "1e-5", "1E8"), np.array([3.14, 1000, 1e-5, 1e8], F)),
    case(9, text("+INF", "inf", "-Inf", "NAN"), np.array([INF, INF, -INF, NAN], F)),
    case(9, text("100.5", "-7"), np.array([100, -7], np.int64)),
    case(9, np.array([314.15926, 1.5], D), text("314.15926", "1.5")),
    case(13, np.array([[1, 2], [3, 4]], np.int64), np.array([[1, 2], [3, 4]], F)),
    case(13, np.array(200, np.int16), np.array(-56, np.int8), "high bits go"),
    case(13, np.array([-1, 2**40 + 3], np.int64), np.array([2**32 - 1, 3], np.uint32), "high bits go"),
    case(13, np.array([1e39, -1e39, 1e-50], D), np.array([INF, -INF, 0], F), "out of range"),
    case(13, np.array([70000, -70000], np.int32), np.array([INF, -INF], H), "out of range"),
    case(13, np.array([0.0, -0.0, NAN, 0.1], F), np.array([False, False, True, True])),
    case(13, np.array([True, False]), np.array([1, 0], F)),
    case(13, np.array([True, False]), np.array([1, 0], np.uint8)),
    case(13, np.zeros((0, 3), F), np.zeros((0, 3), np.int64), "empty"),
    case(13, np.array([1, 2], F), np.array([1, 2], F), "same type"),
    case(13, text("a"), text("a"), "same type"),
    case(13, np.array([1 + 2**-8, 1 + 3 * 2**-8], F), np.array([1, 1 + 2**-6], B), "ties to even"),
    case(13, np.array([1 + 2**-8 + 2**-40], D), np.array([1 + 2**-7], B), "rounded once"),
    case(13, np.array([2**62 + 2**54 + 1], np.int64), np.array([2.0**62 + 2**55], B), "rounded once"),
    case(13, np.array([2**63 + 2**55 + 1], np.uint64), np.array([2.0**63 + 2**56], B), "rounded once"),
    # The tables of float8, by bits.
    case(19, SPECIAL, codes(E4M3, 0, 0x80, 0x7F, 0x7E, 0xFE, 0x7E, 0xFE)),
    case(19, SPECIAL, codes(E5M2, 0, 0x80, 0x7E, 0x7B, 0xFB, 0x7B, 0xFB)),
    case(19, SPECIAL, codes(E4M3Z, 0, 0, 0x80, 0x80, 0x80, 0x7F, 0xFF), "infinity is NaN"),
    case(23, SPECIAL, codes(E5M2Z, 0, 0, 0x80, 0x80, 0x80, 0x7F, 0xFF), "infinity is NaN"),
    case(24, SPECIAL, codes(E4M3Z, 0, 0, 0x80, 0x7F, 0xFF, 0x7F, 0xFF), "infinity saturates"),
    case(28, SPECIAL, codes(E5M2Z, 0, 0, 0x80, 0x7F, 0xFF, 0x7F, 0xFF), "infinity saturates"),
    case(19, SPECIAL, codes(E4M3, 0, 0x80, 0x7F, 0x7F, 0xFF, 0x7F, 0xFF), "not saturated", saturate=0),
    case(19, SPECIAL, codes(E5M2, 0, 0x80, 0x7E, 0x7C, 0xFC, 0x7C, 0xFC), "not saturated", saturate=0),
    case(21, SPECIAL, codes(E4M3Z, 0, 0, *[0x80] * 5), "not saturated", saturate=0),
    case(25, SPECIAL, codes(E5M2Z, 0, 0, *[0x80] * 5), "not saturated", saturate=0),
    case(19, np.array([464, 464.1, -464], F), np.array([448, NAN, -448], E4M3), "in range when rounded", saturate=0),
    case(19, np.array([500], np.int32), np.array([448], E4M3)),
    case(19, np.array([448, NAN], E4M3), np.array([240, NAN], E4M3Z)),
    case(19, np.array([448, NAN], E4M3), np.array([448, NAN], H)),
    case(19, text("0.3", "1e9"), np.array([0.3125, 448], E4M3)),
    case(21, np.arange(-9, 16).astype(F), np.array([*range(7, 16), *range(16)], ml_dtypes.uint4)),
    case(21, np.array([7, 8, -9], np.int64), np.array([7, -8, 7], ml_dtypes.int4), "high bits go"),
    case(21, np.array([-8, 7], ml_dtypes.int4), np.array([8, 7], ml_dtypes.uint4), "high bits go"),
    case(21, np.array([-8, 7], ml_dtypes.int4), np.array([-8, 7], D)),
    case(21, np.array([-8, 7], ml_dtypes.int4), text("-8", "7")),
    case(23, np.array([0.25, 0.75, 2.5, 5, 7, -INF, NAN, -0.0], F), codes(E2M1, 0, 2, 4, 6, 7, 15, 8, 8)),
    case(23, np.array([6, -0.5], E2M1), np.array([6, 0], np.int32)),
    case(24, np.array([0, 0.1, 1, 1.1, 2, 1e38, INF, NAN], F), codes(E8M0, 0, 124, 127, 128, 128, 254, 254, 255)),
    case(24, np.array([1.9, 2], F), codes(E8M0, 127, 128), round_mode="down"),
    case(24, np.array([1.49, 1.5], F), codes(E8M0, 127, 128), round_mode="nearest"),
    case(24, np.array([0, 1e-39, 1.8e38, INF, NAN, 1], F), codes(E8M0, *[255] * 5, 127), round_mode="nearest", saturate=0),
    case(24, np.array([1e-300, 1e300, 1 + 2**-52], D), codes(E8M0, 0, 254, 128), "float64"),
    case(24, np.array([True, False]), codes(E8M0, 127, 0)),
    case(24, codes(E8M0, 0, 127, 255), np.array([2.0**-127, 1, NAN], F)),
    case(25, np.arange(-3, 4).astype(F), np.array([1, 2, 3, 0, 1, 2, 3], ml_dtypes.uint2)),
    case(25, np.arange(-3, 4), np.array([1, -2, -1, 0, 1, -2, -1], ml_dtypes.int2)),
    case(28, np.array([7.5, 8, 0.0625, 0.1875, NAN], F), codes(E2M3, 31, 31, 0, 2, 0x20)),
    case(28, np.array([28, 30, INF, 0.09375, -1], F), codes(E3M2, 31, 31, 31, 2, 0x2C)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
    (expected,) = case.expected
    if isinstance(expected, np.ndarray) and expected.dtype.itemsize == 1:
        assert run(case).view(np.uint8).tolist() == expected.view(np.uint8).tolist(), "not the same bits"


def run(case: Case) -> Array:
    from cases import model_of
    from sardonyx._src.interp.interpreter import Interpreter

    (result,) = Interpreter(model_of(case)).run({"x0": case.inputs[0]}).values()
    assert isinstance(result, np.ndarray)
    return result


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int8, [44, -1, 0, 0, 0, 0]),
        (np.uint8, [44, 255, 0, 0, 0, 0]),
        (np.int32, [300, -1, *[-(2**31)] * 4]),
        (np.uint32, [300, 2**32 - 1, 2**31, 0, 0, 0]),
        (np.int64, [300, -1, 2**33 + 2**31, *[-(2**63)] * 3]),
        (np.uint64, [300, 2**64 - 1, 2**33 + 2**31, 0, 0, 2**63]),
    ],
)
@pytest.mark.parametrize("source", [F, D])
def test_floats_beyond_an_integer_type_are_the_same_everywhere(
    source: type, dtype: type, expected: list[int]
) -> None:
    x: Array = np.array([300.9, -1.5, 2.0**33 + 2**31, 2.0**64, INF, NAN], source)
    assert_case(case(13, x, np.array(expected, dtype)))
    for element, value in zip(x, expected, strict=True):
        assert_case(case(13, np.array(element), np.array(value, dtype)))


def test_uint64_holds_floats_beyond_int64() -> None:
    assert_case(case(13, np.array([2.0**63 + 2**40], D), np.array([2**63 + 2**40], np.uint64)))


@pytest.mark.parametrize("to", [14, 15])
def test_types_that_nothing_can_be_cast_to_are_refused(to: int) -> None:
    with pytest.raises(EvaluationError, match="to"):
        assert_case(Case("Cast", 13, [np.zeros(1, F)], [...], {"to": to}))
    with pytest.raises(InferenceError):
        infer_node("Cast", 13, [floats(1)], {"to": to})


def test_types_of_results() -> None:
    assert infer_node("Cast", 13, [floats("N", None)], {"to": 7}) == [
        TensorType(DataType.INT64, floats("N", None).shape)
    ]
    assert infer_node("Cast", 13, [None], {"to": 7}) == [TensorType(DataType.INT64)]
    assert infer_node("Cast", 1, [floats(3)], {"to": "BOOL"}) == [TensorType(DataType.BOOL, (3,))]


def known(source: DataType, to: DataType, *elements: object) -> list[object] | None:
    op = find("", "Cast")
    assert op is not None
    values = np.empty(len(elements), object)
    values[:] = elements
    inference = Inference(
        "Cast", 13, [TensorType(source, (len(elements),))], [True], {"to": int(to)}, 1, [values]
    )
    known_elements = op.values[13](inference)
    return None if known_elements is None else known_elements.tolist()


def test_sizes_pass_through_the_types_that_models_calculate_them_in() -> None:
    n = symbol("N")
    for to in (DataType.INT32, DataType.FLOAT, DataType.DOUBLE):
        assert known(DataType.INT64, to, n, 3, None) == [n, 3, None]
    assert known(DataType.FLOAT, DataType.INT64, n + 1) == [n + 1]
    assert known(DataType.INT64, DataType.INT32, n, 2**31, -(2**31) + 1) == [n, None, -(2**31) + 1]
    assert known(DataType.INT64, DataType.FLOAT, n, 2**24 + 1) == [n, None]
    assert known(DataType.INT64, DataType.UINT8, n) is None
    assert known(DataType.INT64, DataType.FLOAT16, n) is None
    assert known(DataType.UINT8, DataType.INT64, n) is None


def test_a_size_is_true_when_it_cannot_be_0() -> None:
    n = symbol("N")
    assert known(DataType.INT64, DataType.BOOL, n, n + 1, 0, 2, None) == [None, True, False, True, None]
    assert known(DataType.BOOL, DataType.INT64, True, None) == [1, None]
