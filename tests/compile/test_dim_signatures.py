"""Dim signatures: what they require of shapes, and that every operator with a kernel has one or needs none."""

from __future__ import annotations

import pytest

from sardonyx._src.compile.layouts.dim_signatures import RULES, SIGNATURES, match_signature
from sardonyx._src.compile.partition.regions.registry import MATCHERS, import_matchers
from sardonyx._src.ops.registry import find

# Operators whose kernels take sizes of one operand only, or of their bodies.
WITHOUT_SIGNATURE = {
    "Col2Im", "Constant", "ConstantOfShape", "Expand", "If", "Loop", "NonZero", "OneHot", "Pad", "Range", "Resize", "Scan", "Slice", "TfIdfVectorizer", "Tile", "Unique",
}  # fmt: skip


@pytest.mark.parametrize(
    ("signature", "inputs", "results", "expected"),
    [
        (
            "n c *s, c -> n c *s",
            [(2, 3, 4, 5), (6,)],
            [(7, 8, 9, 1)],
            [(3, 6), (2, 7), (3, 8), (4, 9), (5, 1)],
        ),
        ("n c *s, c -> n c *s", [(2, 3), (6,)], [(7, 8)], [(3, 6), (2, 7), (3, 8)]),
        ("... m m -> ...", [(9, 8, 2, 3)], [(9, 7)], [(2, 3)]),
        ("n ? 4, r", [(1, 2, 3), (5,)], [], [(3, 4)]),
        ("*s, *s", [(1, 2), (1, 2, 3)], [], []),  # another rank
        ("n c ..., c", [(1,), (2,)], [], []),  # a rank that the signature does not have
    ],
)
def test_dims_of_one_name_are_paired_with_the_first(
    signature: str,
    inputs: list[tuple[int, ...]],
    results: list[tuple[int, ...]],
    expected: list[tuple[int, int]],
) -> None:
    assert list(match_signature(signature, inputs, results)) == expected


def test_every_operator_with_a_kernel_has_a_signature_or_needs_none() -> None:
    import_matchers()
    operators = [find(domain, name) for domain, name, _ in MATCHERS]
    names = {op.name for op in operators if op is not None and not (op.elementwise or op.reduction)}
    assert names - SIGNATURES.keys() - RULES.keys() == WITHOUT_SIGNATURE
