"""Models that are known to be good have no errors, but for those that are really there."""

from __future__ import annotations

from collections import Counter

import pytest

from proto.judge import SHARED
from proto.official_models import node_models, stored_models
from sardonyx._src.check import check

# Why each is a fault, and not ours.
KNOWN = {
    # Branches of functions declare outputs with an empty TypeProto, as an exporter of that time wrote for "unknown".
    "ort_gh18338_functions": Counter({"SX365": 14}),
}


def errors(source: object) -> Counter[str]:
    return Counter(d.rule for d in check(source).of("error"))  # type: ignore[arg-type]


def test_the_models_of_the_official_suite_have_no_errors() -> None:
    models = {**node_models(), **stored_models()}
    assert len(models) > 2000
    assert {name: found for name, data in models.items() if (found := errors(data))} == {}


@pytest.mark.skipif(not SHARED.exists(), reason="the models do not stand beside the project")
def test_the_real_models_have_these_errors_alone() -> None:
    found = {path.parent.name: errors(path) for path in sorted(SHARED.glob("*/model.onnx"))}
    assert {name: faults for name, faults in found.items() if faults} == KNOWN
