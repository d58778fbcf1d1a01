"""Every case of the official backend suite on the native engine, by the case's own tolerances."""

from __future__ import annotations

import pytest

from conformance.official import OfficialCase, assert_case_passes, official_cases
from conformance.test_official import FAILURES
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.engine import NativeEngine


@pytest.mark.parametrize("case", official_cases(), ids=str)
def test_official_on_the_native_engine(case: OfficialCase) -> None:
    if case.name in FAILURES:
        with pytest.raises(SardonyxError, match=FAILURES[case.name]):
            assert_case_passes(case, engine=NativeEngine)
    else:
        assert_case_passes(case, engine=NativeEngine)
