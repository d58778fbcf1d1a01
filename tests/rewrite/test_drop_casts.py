"""drop-casts."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged
from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.passes.drop_casts import is_lossless

PASS = "drop-casts"


@pytest.mark.parametrize(
    ("source", "between", "to"),
    [("int8", 1, 10), ("bool", 7, 1), ("float16", 1, 11), ("float16", 1, 7), ("uint8", 3 + 2, 6)],
)
def test_a_step_that_loses_nothing_is_removed(source: str, between: int, to: int) -> None:
    kind = DataType.from_number(to).text
    assert_becomes(
        f"g ({source}[N] x) => ({kind}[] y) {{ a = Cast<to = {between}>(x) y = Cast<to = {to}>(a) }}",
        f"g ({source}[N] x) => ({kind}[] y) {{ y = Cast<to = {to}>(x) }}",
        PASS,
    )


@pytest.mark.parametrize(
    ("source", "between", "to"),
    [("float", 10, 1), ("float", 7, 1), ("int64", 1, 7), ("float", 9, 1), ("int8", 2, 1)],
)
def test_a_step_that_may_lose_something_is_kept(source: str, between: int, to: int) -> None:
    kind = DataType.from_number(to).text
    assert_unchanged(
        f"g ({source}[N] x) => ({kind}[] y) {{ a = Cast<to = {between}>(x) y = Cast<to = {to}>(a) }}", PASS
    )


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("INT32", "FLOAT", False),
        ("INT32", "DOUBLE", True),
        ("UINT16", "FLOAT", True),
        ("UINT8", "BFLOAT16", True),
        ("INT16", "FLOAT16", False),
        ("BFLOAT16", "FLOAT16", False),
        ("INT8", "UINT16", False),
        ("UINT8", "INT8", False),
        ("UINT8", "INT16", True),
        ("FLOAT", "INT64", False),
        ("STRING", "FLOAT", False),
        ("FLOAT8E5M2", "FLOAT", False),  # true, and left alone
        ("BOOL", "INT8", True),
    ],
)
def test_which_type_holds_every_value_of_another(source: str, target: str, expected: bool) -> None:
    assert is_lossless(DataType[source], DataType[target]) is expected
