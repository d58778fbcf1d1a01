"""The official suite on the reference engine, run by the wheel's own runner, nothing excluded."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.official import OfficialCase, assert_case_passes, official_cases
from conformance.runner import EXPECTED_FAILURES, count_tests, runner_classes

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


@pytest.mark.parametrize("case", [c for c in official_cases() if c.name in EXPECTED_FAILURES], ids=str)
def test_bodies_of_bernoulli_contradict_their_expected_values(case: OfficialCase) -> None:
    """The body yields 1 where a uniform number exceeds the probability; the values were drawn the other way round."""
    model = case.load()
    drawn, exceeds, cast = model.graph.nodes
    assert [drawn.op_type, exceeds.op_type, cast.op_type] == ["RandomUniformLike", "Greater", "Cast"]
    assert exceeds.inputs == (drawn.outputs[0], model.graph.inputs[0])
    (((chances,), (expected,)),) = case.data_sets(model)
    assert isinstance(chances, np.ndarray)
    assert isinstance(expected, np.ndarray)
    likelihood = np.where(expected == 1, 1 - chances, chances).prod()
    assert 5e-6 < likelihood < 6e-6
