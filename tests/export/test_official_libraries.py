"""A sample of the official suite as libraries, with the bits of the session; `tools/library_suite.py` runs all of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.official import OfficialCase, official_cases
from export.library_suite import run_case
from sardonyx._src.compile.linker.features import saved_program_machine

pytestmark = pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not loaded here")
CASES, GROUPS = 150, 10
# What no library has.
REASONS = (
    "feeds that are no tensors of numbers",
    "must have kernels and fixed sizes",
    "must be tensors of numbers",
)


def sample() -> list[OfficialCase]:
    """Cases of one node, with networks of few nodes among them."""
    small = [case for case in official_cases() if case.kind != "real"]
    return random.Random(37).sample(small, CASES)


@pytest.mark.parametrize("group", range(GROUPS))
def test_cases_have_the_bits_of_the_session(group: int, tmp_path: Path) -> None:
    results = [run_case(case, tmp_path / case.name) for case in sample()[group::GROUPS]]
    refused = [result for result in results if not result.is_equal]
    assert all(any(reason in result.reason for reason in REASONS) for result in refused), refused
    assert len(refused) <= len(results) // 3, f"a third at most has no library; got {refused}"
