"""Tables of tuning values: each fits the kernels that use it, and every value is documented."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from typing import get_args

import pytest

from sardonyx._src.compile.kernels import tuning
from sardonyx._src.compile.kernels.tuning import (
    TUNINGS,
    AttentionTuning,
    GemmTuning,
    ReductionTuning,
    TargetClass,
    Tuning,
    target_class,
    tuning_for,
)
from sardonyx._src.compile.llvm.jit import host_target

FAMILIES = [value for name, value in vars(tuning).items() if name.endswith("Tuning") and name != "Tuning"]


@pytest.mark.parametrize(
    ("lanes", "registers", "name"),
    [(16, 32, "avx512"), (8, 16, "avx2"), (4, 32, "neon"), (4, 16, "plain"), (1, 16, "scalar")],
)
def test_each_class_of_targets_has_a_table(lanes: int, registers: int, name: TargetClass) -> None:
    target = replace(host_target(), lanes=lanes, registers=registers)
    assert target_class(target) == name
    assert tuning_for(target) is TUNINGS[name]
    assert TUNINGS.keys() == set(get_args(TargetClass))


@pytest.mark.parametrize("table", TUNINGS.values(), ids=TUNINGS)
def test_values_fit_the_kernels(table: Tuning) -> None:
    gemm, attention = table.gemm, table.attention
    assert max(gemm.tile_rows.values()) <= GemmTuning.spare_rows, "rows past a unit must be in scratch"
    assert gemm.dynamic_tile_vectors in gemm.tile_rows
    assert list(attention.tile_rows) == sorted(attention.tile_rows, reverse=True), "the widest must be first"
    assert 1 in attention.tile_rows and attention.remainder_tile_rows[-1] == 1
    assert AttentionTuning.query_block % 16 == 0, "a block must be whole vectors of any target"


def test_unrolled_accumulators_are_combined_pairwise() -> None:
    assert ReductionTuning.row_unroll.bit_count() == 1


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_comment_says_what_each_value_decides(family: type) -> None:
    """Fields of tables come first; values that are equal for all targets follow after their reason."""
    lines = [line.strip() for line in inspect.getsource(family).splitlines()]
    values = {m[1]: i for i, line in enumerate(lines) if (m := re.match(r"(\w+): .+", line))}
    assert values.keys() == family.__annotations__.keys()
    without = [name for name, i in values.items() if not re.match(r"# \w", lines[i - 1])]
    assert without == [], f"{family.__name__} must have a comment above each value"
    kinds = [re.match(r"# --- (Rounding|Shared)\b", line) for line in lines]
    first_equal = next((i for i, kind in enumerate(kinds) if kind), len(lines))
    assert {name for name, i in values.items() if i < first_equal} == {field.name for field in fields(family)}


def test_each_family_has_a_file() -> None:
    assert len({family.__module__ for family in FAMILIES}) == len(FAMILIES) > 10
