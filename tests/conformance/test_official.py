"""The official suite on the reference engine, run by the wheel's own runner, nothing excluded."""

from __future__ import annotations

import pytest

from conformance.official import OfficialCase, assert_case_passes, official_cases
from conformance.runner import count_tests, runner_classes

CLASSES = runner_classes("reference", __name__)
globals().update(CLASSES)


def test_the_suite_is_whole() -> None:
    assert count_tests(CLASSES) == {
        "OnnxBackendNodeModelTest": 1884,
        "OnnxBackendRealModelTest": 9,
        "OnnxBackendSimpleModelTest": 23,
        "OnnxBackendPyTorchConvertedModelTest": 82,
        "OnnxBackendPyTorchOperatorModelTest": 35,
    }
    assert len(official_cases()) == 2033


@pytest.mark.parametrize("case", [c for c in official_cases() if "bernoulli" in c.name], ids=str)
def test_bernoulli_is_0_or_1_and_repeats_with_a_seed(case: OfficialCase) -> None:
    assert_case_passes(case)
