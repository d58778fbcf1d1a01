"""Shape inference of legacy broadcasting, in versions 1 and 6 of operators."""

import pytest

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import Shape, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.legacy_broadcast import broadcastable_shape, infer_legacy_broadcast

N, M = symbol("N"), symbol("M")


def inferred_shape(a: Shape | None, b: Shape | None, **attributes: int) -> object:
    types = [TensorType(DataType.FLOAT, a), TensorType(DataType.FLOAT, b)]
    given = {"broadcast": 0, **attributes}
    type = infer_legacy_broadcast()(Inference("Add", 6, types, [True, True], given, 1, where="node[0]"))
    assert isinstance(type, TensorType)
    return type.shape


@pytest.mark.parametrize(
    ("b", "axis", "expected"),
    [
        ((), None, ()),
        ((1, 1), None, ()),
        ((5,), None, (5,)),
        ((4, 5), None, (4, 5)),
        ((3, 4), 1, (3, 4, 1)),
        ((2,), 0, (2, 1, 1, 1)),
        ((3, 4), -3, (3, 4, 1)),
        ((2, 3, 4, 5), None, (2, 3, 4, 5)),
        ((4,), None, None),
        ((3, 1), 1, (3, 1, 1)),
        ((2, 1, 4, 5), None, (2, 1, 4, 5)),
        ((2, 1), None, None),
        ((5,), 4, None),
        ((5,), -5, None),
        ((1, 1, 1, 1, 1), None, None),
    ],
)
def test_b_is_a_run_of_the_dims_of_a_or_one_element(
    b: tuple[int, ...], axis: int | None, expected: tuple[int, ...] | None
) -> None:
    assert broadcastable_shape((2, 3, 4, 5), b, axis, 1) == expected


def test_nothing_is_broadcast_without_the_attribute() -> None:
    assert broadcastable_shape((2, 3), (3,), None, 0) is None
    assert broadcastable_shape((2, 3), (), None, 0) == ()  # a scalar is taken all the same
    assert broadcastable_shape((2, 3), (2, 3), None, 0) == (2, 3)


def test_without_broadcast_both_shapes_are_one() -> None:
    assert inferred_shape((N, None), (2, 3)) == (2, 3)
    assert inferred_shape(None, (N, 3)) == (N, 3)


def test_the_result_has_the_shape_of_a() -> None:
    assert inferred_shape((N, 3, M), (), broadcast=1) == (N, 3, M)
    assert inferred_shape((N, 3), None, broadcast=1) == (N, 3)
    assert inferred_shape(None, (3,), broadcast=1) is None
    assert inferred_shape((N, M), (None,), broadcast=1) == (N, M)


def test_b_gives_sizes_of_a() -> None:
    assert inferred_shape((N, M), (4,), broadcast=1) == (N, 4)
    assert inferred_shape((N, M, 2), (4, 5), broadcast=1, axis=0) == (4, 5, 2)
    assert inferred_shape((N, M, 2), (4, 1), broadcast=1, axis=0) == (4, M, 2)
    assert inferred_shape((N, 7), (3, M), broadcast=1) == (3, 7)


@pytest.mark.parametrize(
    ("a", "b", "attributes"),
    [
        ((2, 3), (3,), {}),
        ((2, 3), (2,), {"broadcast": 1}),
        ((2, 3), (3,), {"broadcast": 1, "axis": 0}),
        ((2, 3), (3,), {"broadcast": 1, "axis": 2}),
        ((3,), (N, 3), {"broadcast": 1}),
    ],
)
def test_contradictions_are_reported_before_a_run(a: Shape, b: Shape, attributes: dict[str, int]) -> None:
    with pytest.raises(InferenceError, match=r"^node\[0\]: Add: "):
        inferred_shape(a, b, **attributes)
