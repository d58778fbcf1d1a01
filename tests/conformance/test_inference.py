"""Inference over every model of the official suite and the models that stand beside the project.

Beside onnx.shape_inference (strict, with data propagation), and beside what the reference engine hands out at every
node, with numbers and with variables for the sizes of inputs.  Of the runs a seeded sample stands for all in ordinary
runs; SARDONYX_FULL=1 in the environment takes every one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from conformance.inference import compared, observed, read, with_variables, without_hints
from conformance.official import OfficialCase, official_cases
from sardonyx.infer.walk import infer
from sardonyx.ir.graph import Model
from sardonyx.ops.api import RuntimeValue

SAMPLE = 250  # of about two thousand

# Where onnx says more than holds, or where what it says is wrong.
EXCEPTIONS = {
    "test_loop13_seq": (
        {"seq_res: less: float[...] for float[]"},
        "vectors are inserted into a sequence that is declared to hold scalars; onnx goes by the declaration alone",
    ),
    "test_loop16_seq_none": (
        {"seq_res: less: nothing for seq(float[...])"},
        "without any trip the optional that goes in comes out; onnx takes it for the sequence that a trip makes",
    ),
}


def bytes_of(case: OfficialCase) -> bytes:
    return case.model if isinstance(case.model, bytes) else case.model.read_bytes()


@pytest.mark.parametrize("case", official_cases(), ids=str)
def test_nothing_is_contradicted_and_nothing_is_missed(case: OfficialCase) -> None:
    data = bytes_of(case)
    found = {*compared(data)[0], *compared(without_hints(data))[0]}
    assert found == EXCEPTIONS.get(case.name, (set(), ""))[0]


def test_exceptions_are_cases() -> None:
    assert EXCEPTIONS.keys() <= {case.name for case in official_cases()}


def runs() -> list[OfficialCase]:
    """The cases to run: all, or a sample that is the same every day."""
    cases = [case for case in official_cases() if case.kind != "real"]
    if os.environ.get("SARDONYX_FULL"):
        return list(official_cases())
    return random.Random(28).sample(cases, SAMPLE)


def feeds_of(case: OfficialCase, model: Model) -> Iterator[dict[str, RuntimeValue]]:
    names = [v.name for v in model.graph.inputs if case.kind != "real" or v.initializer is None]
    for inputs, _ in case.data_sets(model):
        yield dict(zip(names, inputs, strict=False))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", runs(), ids=str)
@pytest.mark.parametrize("sizes", ["numbers", "shared variables", "variables"])
def test_what_comes_out_is_of_the_inferred_type(case: OfficialCase, sizes: str) -> None:
    data = bytes_of(case)
    model = read(data)
    data_sets = list(feeds_of(case, model))
    lengths: dict[str, int] = {}
    if sizes != "numbers":
        model = read(without_hints(data))
        lengths = with_variables(model, shared=sizes == "shared variables")
    infer(model)
    for feeds in data_sets:
        assert not observed(model, feeds, lengths).faults
