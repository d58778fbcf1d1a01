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
# The cases of the sample that no library has, by what they need.
REFUSED = {
    "a value that is no tensor of numbers": {
        "test_ai_onnx_ml_label_encoder_string_int",
        "test_equal_string_broadcast",
        "test_optional_has_element_tensor_input",
    },
    "sizes that depend on elements": {
        "test_affine_grid_2d",
        "test_compress_1",
        "test_nonzero_example",
        "test_range_int32_type_negative_delta",
        "test_unique_length_1",
    },
    "a node without a kernel": {
        "test_bernoulli_double",
        "test_einsum_sum_bfloat16",
        "test_image_decoder_decode_bmp_rgb",
        "test_image_decoder_decode_jpeg_bgr",
    },
}


def sample() -> list[OfficialCase]:
    """Cases of one node, with networks of few nodes among them."""
    small = [case for case in official_cases() if case.kind != "real"]
    return random.Random(37).sample(small, CASES)


@pytest.mark.parametrize("group", range(GROUPS))
def test_cases_have_the_bits_of_the_session(group: int, tmp_path: Path) -> None:
    cases = sample()[group::GROUPS]
    refused = {case.name for case in cases if not run_case(case, tmp_path / case.name).is_equal}
    assert refused == {name for names in REFUSED.values() for name in names} & {case.name for case in cases}
