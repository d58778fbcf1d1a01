"""Inference over every model of the official suite and the shared models.

Types are compared with onnx.shape_inference (strict, with data propagation), and with the results of every node in runs
of the reference engine, with numbers and with variables for the dims of inputs.  A seeded sample of the suite is run;
with SARDONYX_FULL=1 in the environment, all of it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest

from conformance.inference import compare_types, observe_run, read, with_variables, without_hints
from conformance.official import OfficialCase, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, VENDOR, reference
from models import parse_model as model_of
from sardonyx._src.errors import UnsupportedOperator
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

SAMPLE = 250  # of about two thousand
SIZES = ("numbers", "shared variables", "variables")


def five_in_four(case: str) -> tuple[set[str], str]:
    """Exceptions for the branch for images in the body of AffineGrid, in a case of volumes."""
    body = f"AffineGrid_{case}_function"
    parts = {"N": "2", "C": "2", "H": "2", "W": "?"}
    lines = {
        f"{body}_N.then_branch.{body}_{name}_then: less: nothing for int64[{n}]" for name, n in parts.items()
    }
    return (
        lines,
        "five sizes are split in four parts, in a branch that is not taken; onnx splits them 2, 2, 2, -1",
    )


# Cases for which onnx infers wrong types.
EXCEPTIONS = {
    "test_affine_grid_3d_expanded": five_in_four("test_affine_grid_3d_expanded"),
    "test_affine_grid_3d_align_corners_expanded": five_in_four("test_affine_grid_3d_align_corners_expanded"),
    "test_loop13_seq": (
        {"seq_res: less: float[...] for float[]"},
        "vectors are inserted into a sequence that is declared to hold scalars; onnx uses the declaration alone",
    ),
    "test_loop16_seq_none": (
        {"seq_res: less: nothing for seq(float[...])"},
        "without any trip the optional that goes in comes out; onnx takes it for the sequence that a trip makes",
    ),
}
# Models that onnx rejects, which leaves nothing to compare.
REFUSED = {
    "test_mvn": "the default of axes is lost on the way into the body of MeanVarianceNormalization-9",
    "ort_nuphar_loop": "a Loop whose body returns values of unknown type",
    "squeezenet_winml_imagescaler": "a Constant of strings in version 1, which allowed floats alone",
}
# Models that declare wrong types in a subgraph.
UNTRUE = {"test_loop16_seq_none": "the body declares a sequence of scalars, and inserts vectors"}


def bytes_of(case: OfficialCase) -> bytes:
    return case.model if isinstance(case.model, bytes) else case.model.read_bytes()


# --- against onnx.shape_inference ------------------------------------------------------------


@pytest.mark.parametrize("case", official_cases(), ids=str)
def test_nothing_is_contradicted_and_nothing_is_missed(case: OfficialCase) -> None:
    data = bytes_of(case)
    (lines, is_compared), (bare_lines, bare_is_compared) = (
        compare_types(data),
        compare_types(without_hints(data)),
    )
    assert {*lines, *bare_lines} == EXCEPTIONS.get(case.name, (set(), ""))[0]
    assert is_compared == bare_is_compared == (case.name not in REFUSED)


@pytest.mark.parametrize("name", FOLDERS)
def test_nothing_is_missed_in_real_models(name: str) -> None:
    data = (MODELS / name / "model.onnx").read_bytes()
    assert compare_types(data) == ([], name not in REFUSED)
    assert compare_types(without_hints(data)) == ([], name not in REFUSED)


def test_exceptions_are_cases() -> None:
    official = {case.name for case in official_cases()}
    named = {*EXCEPTIONS, *UNTRUE, *REFUSED}
    assert named - official <= set(FOLDERS) or not FOLDERS  # the shared models are optional
    assert {name for name in named if name.startswith("test_")} <= official


def test_the_stored_networks_are_among_the_cases() -> None:
    assert sum(case.kind == "real" for case in official_cases()) == 9


# --- against results of runs -----------------------------------------------------------------


def runs() -> list[OfficialCase]:
    """The cases to run: all but those of Gradient, which has no kernel, or a fixed sample."""
    cases = [case for case in official_cases() if not case.name.startswith("test_gradient")]
    if os.environ.get("SARDONYX_FULL"):
        return cases
    return random.Random(28).sample([case for case in cases if case.kind != "real"], SAMPLE)


def feeds_of(case: OfficialCase, model: Model) -> Iterator[dict[str, RuntimeValue]]:
    names = [v.name for v in model.graph.inputs if case.kind != "real" or v.initializer is None]
    for inputs, _ in case.data_sets(model):
        yield dict(zip(names, inputs, strict=False))  # type: ignore[arg-type]


def infer_with_sizes(data: bytes, sizes: str) -> tuple[Model, dict[str, int]]:
    """The model with inferred types, and the values of the variables among the dims of its inputs."""
    if sizes == "numbers":
        return infer(read(data)), {}
    model = read(without_hints(data))
    lengths = with_variables(model, shared=sizes == "shared variables")
    return infer(model), lengths


@pytest.mark.parametrize("case", runs(), ids=str)
@pytest.mark.parametrize("sizes", SIZES)
def test_what_comes_out_is_of_the_inferred_type(case: OfficialCase, sizes: str) -> None:
    data = bytes_of(case)
    data_sets = list(feeds_of(case, read(data)))
    model, lengths = infer_with_sizes(data, sizes)
    errors = [error for feeds in data_sets for error in observe_run(model, feeds, lengths).errors]
    assert bool(errors) == (case.name in UNTRUE), errors


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("sizes", SIZES)
def test_sizes_in_real_models_are_what_their_expressions_say(name: str, sizes: str) -> None:
    model, lengths = infer_with_sizes((MODELS / name / "model.onnx").read_bytes(), sizes)
    try:
        observer = observe_run(model, reference(MODELS / name)[0], lengths)  # type: ignore[arg-type]
    except UnsupportedOperator as error:
        if error.domain not in VENDOR:
            raise
        pytest.skip(f"holds {error.domain}.{error.op_type}, an operator of a vendor")
    assert observer.errors == []
    if lengths:
        assert observer.evaluated > 0


def test_a_wrong_expression_is_found() -> None:
    model = infer(model_of("g (float[N,2] x) => (float[] y) { y = Concat<axis = 0>(x, x) }"))
    (y,) = model.graph.outputs
    feeds: dict[str, RuntimeValue] = {"x": np.zeros((3, 2), np.float32)}
    assert observe_run(model, feeds, {}).errors == []
    assert isinstance(y.type, TensorType)
    y.type = TensorType(y.type.dtype, (3 * symbol("N"), 2))
    assert observe_run(model, feeds, {}).errors == [
        "Concat 'y': float[3*N,2] for shape (6, 2), where {'N': 3}"
    ]
