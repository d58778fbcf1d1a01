"""Models of the official suite, optimized, give the outputs that the suite expects."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import sardonyx as sx
from conformance.official import OfficialCase, assert_case_passes, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, reference
from sardonyx._src.errors import UnsupportedOperator
from sardonyx._src.ir import Model
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.rewrite.proof.compare import difference

EVERY = 9  # of the node cases


@dataclass(frozen=True)
class Optimized(OfficialCase):
    """A case whose model is optimized after loading."""

    def load(self) -> Model:
        return optimize(OfficialCase.load(self), debug=True)


def optimize_case(case: OfficialCase) -> Optimized:
    return Optimized(case.name, case.kind, case.model, case.data, case.rtol, case.atol)


def sample() -> list[OfficialCase]:
    """All stored models but the networks, which take long, and a part of the node cases."""
    cases = list(official_cases())
    nodes = [c for c in cases if c.kind == "node"][::EVERY]
    return nodes + [c for c in cases if c.kind not in ("node", "real")]


@pytest.mark.parametrize("part", range(4))
def test_optimized_models_give_the_expected_outputs(part: int) -> None:
    for case in sample()[part::4]:
        assert_case_passes(optimize_case(case))


@pytest.mark.skipif(not FOLDERS, reason="the shared models are not available")
@pytest.mark.parametrize("name", FOLDERS)
def test_real_models_answer_as_before(name: str) -> None:
    original = sx.load(MODELS / name / "model.onnx")
    optimized = optimize(original, debug=True)
    inputs, _ = reference(MODELS / name)
    try:
        before = sx.Session(original, engine="reference").run(inputs)
    except UnsupportedOperator:
        pytest.skip("holds an operator of a vendor")
    after = sx.Session(optimized, engine="reference").run(inputs)
    result = {output: difference(after[output], expected) for output, expected in before.items()}
    assert result == dict.fromkeys(before, "")
