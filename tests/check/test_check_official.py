"""Models that are known to be good have no errors, except for genuine ones."""

from __future__ import annotations

from collections import Counter

import pytest

from proto.judge import SHARED
from proto.official_models import node_models, stored_models
from sardonyx._src.check import check

# Genuine errors of these models.
KNOWN = {
    # Branches of functions declare outputs with an empty TypeProto, as an exporter of that time wrote for "unknown".
    "ort_gh18338_functions": Counter({"SX365": 14}),
}


def errors(source: object) -> Counter[str]:
    return Counter(d.rule for d in check(source).of("error"))  # type: ignore[arg-type]


def test_the_models_of_the_official_suite_have_no_errors() -> None:
    models = {**node_models(), **stored_models()}
    assert len(models) > 2000
    assert {name: codes for name, data in models.items() if (codes := errors(data))} == {}


@pytest.mark.skipif(not SHARED.exists(), reason="the shared models are not available")
def test_the_real_models_have_only_these_errors() -> None:
    errors_by_model = {path.parent.name: errors(path) for path in sorted(SHARED.glob("*/model.onnx"))}
    assert {name: codes for name, codes in errors_by_model.items() if codes} == KNOWN
