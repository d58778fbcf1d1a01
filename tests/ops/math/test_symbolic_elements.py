"""Value facets of elementwise operators on inputs with symbolic elements."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim, Expr, dim_max, dim_min, evaluate, symbol
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.ratios import Ratio
from sardonyx._src.ops.registry import find

N, M = symbol("N"), symbol("M")


def elements(*dims: Dim | bool) -> Known:
    result = np.empty(len(dims), np.object_)
    result[:] = dims
    return result


def value(
    op: str,
    version: int,
    known: Sequence[Known | None],
    dtypes: Sequence[DataType] | DataType = DataType.INT64,
    attributes: Mapping[str, object] | None = None,
) -> list[object] | None:
    """The flat result of the value facet; None if it knows nothing."""
    operator = find("", op)
    assert operator is not None
    kinds = [dtypes] * len(known) if isinstance(dtypes, DataType) else dtypes
    types = [TensorType(d, None if k is None else k.shape) for d, k in zip(kinds, known, strict=True)]
    inference = Inference(op, version, types, [True] * len(known), attributes or {}, 1, known)
    elements = operator.values[version](inference)
    return None if elements is None else list(elements.reshape(-1).tolist())


ARITHMETIC = [
    ("Add", [elements(N, 3), np.array([1, 2])], [N + 1, 5]),
    ("Add", [elements(N, M), np.array(2)], [N + 2, M + 2]),
    ("Add", [elements(N, None), elements(M, 1)], [N + M, None]),
    ("Sub", [elements(N, M), elements(N, 1)], [0, M - 1]),
    ("Mul", [elements(N, M), elements(M, 0)], [N * M, 0]),
    (
        "Div",
        [elements(4 * N, N, 1 - 4 * N), np.array([2, 2, 2])],
        [2 * N, N // 2, -(dim_max(4 * N - 1, 0) // 2)],
    ),
    ("Div", [elements(2 * N - 4, N, -N), np.array([2, 0, 2])], [N - 2, None, -(N // 2)]),
    ("Div", [elements(N, 7, -7), elements(M, 2, 2)], [N // M, 3, -3]),
    ("Neg", [elements(N, -3)], [-N, 3]),
    ("Abs", [elements(N, -N, N - M, -3)], [N, N, dim_max(N - M, M - N), 3]),
    ("Max", [elements(N, 1), elements(M, 5), np.array([3, 4])], [dim_max(N, M, 3), 5]),
    ("Min", [elements(N, N), elements(N + 1, M)], [N, dim_min(N, M)]),
    ("Pow", [elements(N, N, N, N), np.array([0, 1, 2, 9])], [1, N, N * N, None]),
]


@pytest.mark.parametrize(("op", "known", "expected"), ARITHMETIC)
def test_arithmetic_follows_expressions(op: str, known: list[Known], expected: list[object]) -> None:
    version = {"Abs": 13, "Neg": 13, "Max": 13, "Min": 13, "Pow": 15}.get(op, 14)
    assert value(op, version, known) == expected


def test_mod_follows_the_attribute() -> None:
    known = [elements(N, 2 * N, -N, N - M, -7), np.array([3, 2, 3, 3, 3])]
    assert value("Mod", 28, known, attributes={"fmod": 0}) == [N % 3, 0, -N % 3, (N - M) % 3, 2]
    assert value("Mod", 28, known, attributes={"fmod": 1}) == [
        N % 3, 0, -(N % 3), N - M - 3 * (dim_max(N - M, 0) // 3) + 3 * (dim_max(M - N, 0) // 3), -1,
    ]  # fmt: skip
    assert value("Mod", 28, [elements(N), np.array([0])], attributes={"fmod": 0}) == [None]


def test_sizes_are_followed_through_floats_as_long_as_they_are_whole() -> None:
    kind = DataType.FLOAT
    assert value("Sum", 13, [elements(N, M), elements(M, 1), elements(N, 0)], kind) == [2 * N + M, M + 1]
    assert value("Mul", 14, [elements(N, 3), np.array([2, 0.5], np.float32)], kind) == [
        2 * N, Ratio(3, 2),
    ]  # fmt: skip
    assert value("Div", 14, [elements(4 * N, N), np.array([2, 2], np.float32)], kind) == [2 * N, Ratio(N, 2)]
    assert value("Div", 14, [elements(N, 7), elements(M, M)], kind) == [None, None]
    assert value("Floor", 13, [elements(N, 3)], kind) == [N, 3]


def test_a_number_beyond_the_type_is_not_known() -> None:
    """It would wrap around."""
    assert value("Add", 14, [elements(N, 2**63 - 1), np.array(1)]) == [N + 1, None]
    assert value("Mul", 14, [elements(N, 2**20), np.array([2, 2**20])], DataType.INT32) == [2 * N, None]


def test_small_types_and_unsigned_ones_are_not_followed() -> None:
    for dtype in (DataType.UINT8, DataType.INT16, DataType.UINT64, DataType.FLOAT16):
        assert value("Sub", 14, [elements(N), np.array([1])], dtype) is None


def test_numbers_alone_are_left_to_the_kernel() -> None:
    assert value("Add", 14, [np.array([1]), np.array([2])]) is None


def test_unknown_elements_of_known_number_count() -> None:
    types = [TensorType(DataType.INT64, (2,)), TensorType(DataType.INT64, (2,))]
    add = find("", "Add")
    assert add is not None
    sums = add.values[14](Inference("Add", 14, types, [True, True], {}, 1, [elements(N, M), None]))
    assert sums is not None and sums.tolist() == [None, None]


def test_too_many_elements_are_declined() -> None:
    column = np.empty((4096, 1), np.object_)
    column[:] = N
    assert value("Add", 14, [column, np.array([1, 2])]) is None


def test_shapes_that_do_not_broadcast_say_nothing() -> None:
    assert value("Add", 14, [elements(N, M), np.array([1, 2, 3])]) is None
    assert value("Add", 6, [elements(N, M), np.array([1, 2, 3])], attributes={"broadcast": 1}) is None


def test_the_first_versions_broadcast_b_at_the_axis() -> None:
    a = elements(N, M, N, M).reshape(2, 2)
    sums = value("Add", 6, [a, np.array([1, 2])], attributes={"broadcast": 1, "axis": 0})
    assert sums == [N + 1, M + 1, N + 2, M + 2]


RELATIONS = [
    ("Equal", [elements(N, N, N), elements(N, N + 1, M)], [True, False, None]),
    ("Less", [elements(N, N + 1, N), elements(N + 1, N, M)], [True, False, dim_min(dim_max(M - N, 0), 1)]),
    ("Greater", [elements(N, N + 1, N), elements(N + 1, N, M)], [False, True, dim_min(dim_max(N - M, 0), 1)]),
    ("GreaterOrEqual", [elements(N, -1 - N, N), elements(0, 0, 1)], [True, False, 1 - dim_max(1 - N, 0)]),
    (
        "LessOrEqual",
        [elements(N, -1 - N, N), elements(0, 0, 0)],
        [1 - dim_min(N, 1), True, 1 - dim_min(N, 1)],
    ),
]


@pytest.mark.parametrize(("op", "known", "expected"), RELATIONS)
def test_relations_are_known_or_expressions_that_are_1_or_0(
    op: str, known: list[Known], expected: list[object]
) -> None:
    version = {"Equal": 19, "Less": 13, "Greater": 13}.get(op, 16)
    assert value(op, version, known) == expected


def test_logic_knows_what_one_side_decides() -> None:
    a = elements(True, False, None, None, None)
    b = elements(None, None, True, False, None)
    assert value("And", 7, [a, b], DataType.BOOL) == [None, False, None, False, None]
    assert value("Or", 7, [a, b], DataType.BOOL) == [True, None, True, None, None]
    assert value("Xor", 7, [a, elements(True, True, True, False, None)], DataType.BOOL) == [
        False, True, None, None, None,
    ]  # fmt: skip
    assert value("Not", 1, [elements(True, False, None)], DataType.BOOL) == [False, True, None]


def test_where_chooses_by_a_known_condition_or_takes_what_both_are() -> None:
    condition = elements(True, False, None, None)
    kinds = [DataType.BOOL, DataType.INT64, DataType.INT64]
    chosen = value("Where", 16, [condition, elements(N, N, N, N), elements(M, M, M, N)], kinds)
    assert chosen == [N, M, None, N]
    at_least_two = dim_min(dim_max(N - 1, 0), 1)
    condition = elements(at_least_two, dim_min(dim_max(N - M, 0), 1), 1 - dim_min(dim_max(N - M, 0), 1))
    chosen = value("Where", 16, [condition, elements(N, N, N), elements(5, M, M)], kinds)
    assert chosen == [
        dim_max(at_least_two * N, 5 - 5 * at_least_two), dim_max(N, M), dim_min(N, M),
    ]  # fmt: skip
    assert value("Where", 16, [condition[:1], elements(N), elements(-M)], kinds) == [
        at_least_two * (N + M) - M,
    ]  # fmt: skip
    numbers = np.array([True, False])
    assert value("Where", 9, [numbers, np.array([1, 2]), elements(N, M)], kinds) == [1, M]


affine = st.tuples(st.integers(-20, 20), st.integers(-6, 6))


def truncating(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@given(affine, affine, st.integers(0, 30))
def test_what_is_known_of_quotients_is_so_for_every_size(
    a: tuple[int, int], b: tuple[int, int], n: int
) -> None:
    """a and b are c + k * N; the answer at N = n is that of the numbers."""
    x, y = a[0] + a[1] * n, b[0] + b[1] * n
    if y == 0:
        return
    known = [elements(a[0] + a[1] * N, N), elements(b[0] + b[1] * N, 1)]
    for op, version, attributes, expected in (
        ("Div", 14, {}, truncating(x, y)),
        ("Mod", 28, {"fmod": 0}, x % y),
        ("Mod", 28, {"fmod": 1}, x - y * truncating(x, y)),
    ):
        quotients = value(op, version, known, attributes=attributes)
        assert quotients is not None
        first = quotients[0]
        if isinstance(first, Expr | int):
            assert evaluate(first, {"N": n}) in (expected, None), (op, attributes)


def infer(op: str, version: int, types: Sequence[TensorType | None], **attributes: object) -> object:
    operator = find("", op)
    assert operator is not None
    return operator.infers[version](Inference(op, version, types, [True] * len(types), attributes, 1))


def of(*shape: Dim, dtype: DataType = DataType.FLOAT) -> TensorType:
    return TensorType(dtype, shape)


def test_shapes_broadcast_symbolically() -> None:
    assert infer("Add", 14, [of(N, 1, 4), of(3, 1)]) == of(N, 3, 4)
    assert infer("Max", 13, [of(N, 1), of(1, M), of()]) == of(N, M)
    assert infer("Less", 13, [of(N), of(3)]) == of(3, dtype=DataType.BOOL)
    assert infer("Add", 14, [of(N), None]) == TensorType(DataType.FLOAT)


def test_pow_has_the_type_of_its_base() -> None:
    assert infer("Pow", 15, [of(N, dtype=DataType.INT32), of(3, 1)]) == of(3, N, dtype=DataType.INT32)
    assert infer("Pow", 15, [None, of(3, 1)]) is None


def test_where_has_the_type_of_its_branches() -> None:
    condition = of(N, 1, dtype=DataType.BOOL)
    assert infer("Where", 16, [condition, None, of(M)]) == TensorType(DataType.FLOAT)
    assert infer("Where", 16, [condition, of(M), None]) == TensorType(DataType.FLOAT)
    assert infer("Where", 16, [condition, of(M), of(1, 1, 1)]) == of(1, N, M)
    assert infer("Where", 16, [condition, None, None]) is None


def test_inputs_of_one_shape_complete_each_other() -> None:
    assert infer("Sum", 6, [of(N, 3), of(None, None), of(2, None)]) == of(2, 3)
    assert infer("SwiGLU", 28, [TensorType(DataType.FLOAT), of(N, M)]) == of(N, M)
