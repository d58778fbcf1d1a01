"""Every official case with floats converts to half precision and back, is valid, and is within the bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import onnx
import pytest

import sardonyx as sx
from conformance.official import OfficialCase, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, reference
from quantize.precision_claims import assert_holds, change, has_floats
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Model
from sardonyx._src.ops.api import RuntimeValue

GROUP = 40  # cases of a test
CASES = [case for case in official_cases() if case.kind != "real"]
HALF = (DataType.FLOAT16, DataType.BFLOAT16)


def feeds_of(case: OfficialCase, model: Model) -> list[Mapping[str, RuntimeValue]]:
    names = [value.name for value in model.graph.inputs]
    return [
        dict(zip(names, cast("list[RuntimeValue]", inputs), strict=False))
        for inputs, _ in case.data_sets(model)
    ]


@pytest.mark.parametrize("scheme", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("first", range(0, len(CASES), GROUP))
def test_official_cases_change_their_element_types(scheme: str, first: int) -> None:
    for case in CASES[first : first + GROUP]:
        model = case.load()
        if has_floats(model, HALF if scheme == "float32" else (DataType.FLOAT,)):
            runs = feeds_of(case, model)
            result = change(model, scheme, runs)
            assert_holds(model, result, scheme, runs)


@pytest.mark.parametrize("name", FOLDERS)
def test_shared_models_change_their_element_types(name: str, tmp_path: object) -> None:
    model, (inputs, _) = sx.load(MODELS / name / "model.onnx"), reference(MODELS / name)
    try:
        session = sx.Session(model)
    except SardonyxError:
        pytest.skip("holds operators of a vendor")
    runs = [{port.name: inputs[port.name] for port in session.inputs if port.name in inputs}]
    result = change(model, "float16", runs)  # type: ignore[arg-type]
    assert_holds(model, result, "float16", runs)  # type: ignore[arg-type]
    path = f"{tmp_path}/half.onnx"
    sx.save(result.model, path)
    if onnx_accepts(str(MODELS / name / "model.onnx")):
        onnx.checker.check_model(path, full_check=True)


def onnx_accepts(path: str) -> bool:
    """Whether the checker of the onnx package has nothing against a model."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True
