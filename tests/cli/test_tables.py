"""Tables in narrow terminals, and numbers with nouns."""

from __future__ import annotations

import pytest

from sardonyx._src.cli.output.tables import format_table
from sardonyx._src.measure.quantities import pluralize, quantity

HEADERS = ("time", "share", "kernel", "nodes")
ROWS = [
    ("0.123 ms", "12.5%", "gemm_f32_tile_6x16", "MatMul_1+Add_2+Relu_3"),
    ("1.000 ms", "87.5%", "copy", "y"),
]


def test_a_wide_table_is_whole() -> None:
    assert list(format_table(HEADERS, ROWS, 2, None)) == [
        "    time  share  kernel              nodes",
        "0.123 ms  12.5%  gemm_f32_tile_6x16  MatMul_1+Add_2+Relu_3",
        "1.000 ms  87.5%  copy                y",
    ]


def test_texts_are_shortened_from_the_last_column() -> None:
    assert list(format_table(HEADERS, ROWS, 2, 50))[1] == "0.123 ms  12.5%  gemm_f32_tile_6x16  MatMul_1+A..."
    assert list(format_table(HEADERS, ROWS, 2, 44))[1] == "0.123 ms  12.5%  gemm_f32_t...  MatMul_1+..."


@pytest.mark.parametrize("width", [1, 10, 20, 40])
def test_numbers_are_never_cut(width: int) -> None:
    for row, line in zip(ROWS, list(format_table(HEADERS, ROWS, 2, width))[1:], strict=True):
        assert line.split()[:3] == [*row[0].split(), row[1]]


def test_nouns_agree_with_their_numbers() -> None:
    assert [pluralize(n, "node") for n in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert quantity(25_600_000, "B") == "25.6 MB"
