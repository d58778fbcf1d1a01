"""Official cases, networks and real models under other versions of their operator sets give the same results.

A sample of the official cases; `make conversions` runs each of them under every version.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

import sardonyx as sx
from conformance.conversions import Target, convert_to, targets_of
from conformance.official import OfficialCase, assert_case_passes, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, STEPS, VENDOR, assert_outputs_equal, reference
from sardonyx._src.convert.steps import step_method, steps
from sardonyx._src.errors import ConversionError

SAMPLE = 900
OLD = 13  # an operator set that many tools still target
CHECKED = 500


@cache
def sample() -> list[tuple[OfficialCase, Target]]:
    """Pairs of a case and a target version, drawn with a fixed seed."""
    draw = random.Random(7)
    cases = [case for case in official_cases() if case.kind != "real"]
    pairs = []
    for case in draw.choices(cases, k=SAMPLE):
        targets = targets_of(case.load())
        if targets:
            pairs.append((case, draw.choice(targets)))
    return pairs


def test_official_cases_hold_under_other_versions() -> None:
    held = 0
    for case, target in sample():
        try:
            model = convert_to(case.load(), target)
        except ConversionError:
            continue  # what a version cannot express is refused
        assert_case_passes(case, model)
        held += 1
    assert held > SAMPLE / 2


@pytest.mark.parametrize("case", [c for c in official_cases() if c.kind == "real"], ids=str)
@pytest.mark.parametrize("version", [OLD, 28])
def test_networks_hold_under_new_and_old_versions(case: OfficialCase, version: int) -> None:
    assert_case_passes(case, convert_to(case.load(), ("", version)))


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("version", [OLD, 28])
def test_real_models_hold_under_new_and_old_versions(name: str, version: int) -> None:
    model = sx.load(MODELS / name / "model.onnx")
    if VENDOR.intersection(node.domain for node in model.graph.nodes):
        pytest.skip("holds operators of a vendor")
    inputs, outputs = reference(MODELS / name)
    # The native engine would convert the model to the newest version first.
    results = sx.Session(convert_to(model, ("", version)), engine="reference").run(inputs)
    for output, expected in outputs.items():
        if name in STEPS:
            np.testing.assert_allclose(np.asarray(results[output]), np.asarray(expected), 1e-6, STEPS[name])
        else:
            assert_outputs_equal(results[output], expected, f"{name} {output}")


def test_every_step_up_can_be_taken() -> None:
    assert [str(step) for step in steps() if step.is_up and step_method(step) == "none"] == []


def test_conversion_introduces_no_violations() -> None:
    for case, target in sample()[:CHECKED]:
        original = case.load()
        try:
            model = convert_to(original, target)
        except ConversionError:
            continue
        before = {d.rule for d in sx.check(original).of("error")}
        after = [str(d) for d in sx.check(model).of("error") if d.rule not in before]
        assert after == [], f"{case.name} under {target}"
