"""Shapes of the operators of versions 1 and 6, as far as they are known before a model runs."""

import pytest

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.limited_broadcast import fitted, limited_broadcasting

N, M = symbol("N"), symbol("M")


def inferred(a: Shape | None, b: Shape | None, **attributes: int) -> object:
    types = [TensorType(DataType.FLOAT, a), TensorType(DataType.FLOAT, b)]
    given = {"broadcast": 0, **attributes}
    found = limited_broadcasting()(Inference("Add", 6, types, [True, True], given, 1, where="node[0]"))
    assert isinstance(found, TensorType)
    return found.shape


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
    assert fitted((2, 3, 4, 5), b, axis, 1) == expected


def test_nothing_is_stretched_without_being_asked() -> None:
    assert fitted((2, 3), (3,), None, 0) is None
    assert fitted((2, 3), (), None, 0) == ()  # a scalar is taken all the same
    assert fitted((2, 3), (2, 3), None, 0) == (2, 3)


def test_without_broadcast_both_shapes_are_one() -> None:
    assert inferred((N, None), (2, 3)) == (2, 3)
    assert inferred(None, (N, 3)) == (N, 3)


def test_the_result_has_the_shape_of_a() -> None:
    assert inferred((N, 3, M), (), broadcast=1) == (N, 3, M)
    assert inferred((N, 3), None, broadcast=1) == (N, 3)
    assert inferred(None, (3,), broadcast=1) is None
    assert inferred((N, M), (None,), broadcast=1) == (N, M)


def test_b_tells_sizes_of_a() -> None:
    assert inferred((N, M), (4,), broadcast=1) == (N, 4)
    assert inferred((N, M, 2), (4, 5), broadcast=1, axis=0) == (4, 5, 2)
    assert inferred((N, M, 2), (4, 1), broadcast=1, axis=0) == (4, M, 2)
    assert inferred((N, 7), (3, M), broadcast=1) == (3, 7)


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
def test_contradictions_are_told_before_a_run(a: Shape, b: Shape, attributes: dict[str, int]) -> None:
    with pytest.raises(InferenceError, match=r"^node\[0\]: Add: "):
        inferred(a, b, **attributes)
