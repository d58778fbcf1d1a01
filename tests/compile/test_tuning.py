"""Tables of tuning values: each fits the kernels that use it, and every value is documented."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import get_args

import pytest

from sardonyx._src.compile.kernels.tuning.tuning import (
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

FAMILIES = [type(getattr(tuning_for(host_target()), family.name)) for family in fields(Tuning)]


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
def test_every_value_is_documented_with_its_kind(family: type) -> None:
    """Fields come first; values that are equal for all targets follow after their reason."""
    own, _, equal = re.sub(r"(?m)^ {4}(Rounding|Shared)\b.*:$", "\0", family.__doc__ or "").partition("\0")
    assert documented_names(own) == [field.name for field in fields(family)]
    assert sorted(documented_names(equal)) == sorted(
        family.__annotations__.keys() - {f.name for f in fields(family)}
    )


def documented_names(text: str) -> list[str]:
    return [name for names in re.findall(r"(?m)^ {4}(\w+(?:, \w+)*): ", text) for name in names.split(", ")]
