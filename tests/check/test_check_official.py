"""Models that are known to be good have no errors."""

from __future__ import annotations

from collections import Counter

import pytest

from proto.judge import SHARED
from proto.official_models import node_models, stored_models
from sardonyx._src.check import check


def errors(source: object) -> Counter[str]:
    return Counter(d.rule for d in check(source).of("error"))  # type: ignore[arg-type]


def test_the_models_of_the_official_suite_have_no_errors() -> None:
    models = {**node_models(), **stored_models()}
    assert len(models) > 2000
    assert {name: codes for name, data in models.items() if (codes := errors(data))} == {}


@pytest.mark.skipif(not SHARED.exists(), reason="the shared models are not available")
def test_the_real_models_have_no_errors() -> None:
    errors_by_model = {path.parent.name: errors(path) for path in sorted(SHARED.glob("*/model.onnx"))}
    assert {name: codes for name, codes in errors_by_model.items() if codes} == {}
