"""The backend cases of the installed onnx package, on both engines."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

from conformance.official import assert_case_passes, official_cases, open_native, open_reference
from conformance.runner import EXPECTED_FAILURES
from sardonyx._src.errors import SardonyxError

# Cases to which the development release gives other results than the newest release, for the same version of an operator.
# The released suite counts until the release: these differ from it, and no others may.
CORRECTED: Mapping[str, str] = {
    "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True": "elements past the padding count",
    "test_maxunpool_export_with_output_shape": "indices count in output_shape",
    "test_resize_downsample_scales_cubic_align_corners": "corners are those of the rounded size",
    "test_resize_downsample_scales_linear_align_corners": "corners are those of the rounded size",
}
ENGINES = {"reference": open_reference, "native": open_native}


def compare_cases() -> Iterator[str]:
    warnings.simplefilter("ignore")
    cases = official_cases()
    missing = CORRECTED.keys() - {case.name for case in cases}
    yield from (f"{name} is no case of the package" for name in sorted(missing))
    for engine, open_session in ENGINES.items():
        for case in cases:
            if case.name in EXPECTED_FAILURES:
                continue
            try:
                assert_case_passes(case, open_session=open_session)
            except (SardonyxError, AssertionError) as error:
                if case.name not in CORRECTED:
                    yield f"{case.name} ({engine}): {' '.join(str(error).split())[:200]}"
            else:
                if case.name in CORRECTED:
                    yield f"{case.name} ({engine}) passes: remove it from CORRECTED"
