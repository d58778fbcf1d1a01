import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol

F, H, U8, I8 = np.float32, np.float16, np.uint8, np.int8
E4M3 = ml_dtypes.float8_e4m3fn
A, B = np.array([[1, 2], [3, 4]], U8), np.array([[1, 0], [0, 1]], I8)
ONE, HALF = np.array(1, F), np.array(0.5, F)
ZA, ZB, ZY = np.array(0, U8), np.array(0, I8), np.array(0, U8)


def inputs(**changed: Array) -> list[Array | None]:
    """A times the unit matrix, with all scales 1 and all zero points 0 unless overridden."""
    plain: dict[str, Array] = {"a": A, "sa": ONE, "za": ZA, "b": B, "sb": ONE, "zb": ZB, "sy": ONE, "zy": ZY}
    return list((plain | changed).values())


def case(version: int, values: list[Array | None], y: Array, label: str = "") -> Case:
    return Case("QLinearMatMul", version, values, [y], label=label)


CASES = [
    case(10, inputs(), A),
    case(10, inputs(za=np.array(1, U8)), np.array([[0, 1], [2, 3]], U8)),
    case(10, inputs(zb=np.array(-1, I8)), np.array([[4, 5], [10, 11]], U8)),
    case(10, inputs(sa=HALF), np.array([[0, 1], [2, 2]], U8), "halves to even"),
    case(10, inputs(sy=HALF, zy=np.array(250, U8)), np.array([[252, 254], [255, 255]], U8), "saturated"),
    case(10, inputs(zy=np.array(-126, I8), za=np.array(4, U8)), np.array([[-128, -128], [-127, -126]], I8), "saturated"),
    case(10, inputs(sa=np.array([1, 2], F), za=np.array([0, 1], U8)), np.array([[1, 2], [4, 6]], U8), "by row"),
    case(10, inputs(sb=np.array([1, 2], F), zb=np.array([0, 1], I8)), np.array([[1, 0], [3, 0]], U8), "by column"),
    case(10, inputs(a=A[None], sa=np.array([[[1], [2]]], F), za=np.zeros((1, 2, 1), U8)), np.array([[[1, 2], [6, 8]]], U8), "all axes"),
    case(10, inputs(a=A[0]), A[0], "a vector"),
    case(10, inputs(a=A[:0]), A[:0], "empty"),
    case(21, inputs(sa=np.array(2, H), sb=np.array(1, H), sy=np.array(1, H)), np.array([[2, 4], [6, 8]], U8)),
    case(21, inputs(a=np.array([[1.5, 300]], E4M3), za=np.array(0, E4M3), b=np.array([[1], [2]], E4M3),
                    zb=np.array(0, E4M3), zy=np.array(0, E4M3)), np.array([[448]], E4M3), "float8 saturates"),
    case(21, inputs(a=np.array([[1.5, 0.25]], E4M3), za=np.array(0, E4M3), zy=np.array(0, E4M3)), np.array([[1.5, 0.25]], E4M3)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(st.integers(0, 2**32), st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0]))
def test_results_are_rounded_once(seed: int, scale: float) -> None:
    """Powers of two scale exactly, so that the expected values follow from Python's integers and round-to-even."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 256, (2, 3), U8), rng.integers(-128, 128, (3, 2), I8)
    za, zb, zy = (int(rng.integers(low, low + 256)) for low in (0, -128, -128))
    sums = (a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)
    y = [[max(-128, min(127, round(int(v) * scale / 4096) + zy)) for v in row] for row in sums]
    values = inputs(
        a=a,
        sa=np.array(scale, F),
        za=np.array(za, U8),
        b=b,
        sb=np.array(1 / 4096, F),
        zb=np.array(zb, I8),
        zy=np.array(zy, I8),
    )
    assert_case(case(10, values, np.array(y, I8)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sy": np.ones(2, F)}, r"y_scale must be a scalar; got shape \[2\]"),
        ({"zy": np.zeros(2, U8)}, r"y_zero_point must be a scalar; got shape \[2\]"),
        ({"sa": np.ones(3, F)}, r"a_scale must be a scalar or have shape \[2\] or \[2, 1\]; got shape \[3\]"),
        ({"sb": np.ones(3, F)}, r"b_scale must be a scalar or have shape \[2\] or \[1, 2\]; got shape \[3\]"),
        ({"b": B[:1]}, r"a and b must agree in the reduced dimension; got shapes \[2, 2\] and \[1, 2\]"),
    ],
)
def test_bad_shapes_are_refused(changed: dict[str, Array], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(10, inputs(**changed), ...))  # type: ignore[arg-type]


def test_types_of_results() -> None:
    n, k = symbol("N"), symbol("K")
    a, b, s = TensorType(DataType.UINT8, (n, k)), TensorType(DataType.INT8, (k, 4)), floats()
    u8, i8 = TensorType(DataType.UINT8, ()), TensorType(DataType.INT8, ())
    assert infer_node("QLinearMatMul", 10, [a, s, u8, b, s, i8, s, i8]) == [TensorType(DataType.INT8, (n, 4))]
    assert infer_node("QLinearMatMul", 10, [a, s, u8, b, s, i8, s, None]) == [None]
