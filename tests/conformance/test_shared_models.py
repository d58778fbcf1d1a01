"""Shared models, compared with stored outputs of another runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.errors import UnsupportedOperator
from sardonyx._src.ir import Array

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
FOLDERS = sorted(p.name for p in MODELS.glob("*") if (p / "model.onnx").exists())
VENDOR = {
    "com.microsoft",
    "com.microsoft.nchwc",
    "org.pytorch.aten",
}  # operators that no specification defines

# The other runtime fuses quantized layers into integer arithmetic, and so differs from its own result without
# fusion by up to two steps of the output's scale; the operators' definitions give the unfused result.
STEPS = {"mobilenet_qdq_maui": 2 * 0.15309934}

pytestmark = pytest.mark.skipif(not FOLDERS, reason="the shared models are not available")


def reference(folder: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Inputs and outputs by name; strings and maps are in a JSON file."""
    arrays: dict[str, object] = dict(np.load(folder / "ref.npz"))
    if (folder / "ref.json").exists():
        arrays |= json.loads((folder / "ref.json").read_text())
    parts: dict[str, dict[str, object]] = {"in": {}, "out": {}}
    for key, value in arrays.items():
        kind, _, name = key.partition(":")
        parts[kind][name] = plain(value)
    return parts["in"], parts["out"]


def plain(value: object) -> object:
    if isinstance(value, dict) and "strings" in value:
        return np.array(value["strings"], object).reshape(value["shape"])
    return value


@pytest.mark.parametrize("name", FOLDERS)
def test_a_model_answers_as_another_runtime_does(name: str) -> None:
    folder = MODELS / name
    model = sx.load(folder / "model.onnx")
    inputs, outputs = reference(folder)
    try:
        session = sx.Session(model)
    except UnsupportedOperator as error:
        if error.domain not in VENDOR:
            raise
        pytest.skip(f"holds {error.domain}.{error.op_type}, an operator of a vendor")
    results = session.run(inputs)
    assert outputs, "nothing to compare with"
    for output, expected in outputs.items():
        if name in STEPS:
            np.testing.assert_allclose(np.asarray(results[output]), np.asarray(expected), 1e-6, STEPS[name])
        else:
            assert_outputs_equal(results[output], expected, f"{name} {output}")


def assert_outputs_equal(actual: object, expected: object, where: str) -> None:
    if isinstance(expected, list) and isinstance(actual, list):
        for a, e in zip(actual, expected, strict=True):
            assert_outputs_equal(a, e, where)
    elif isinstance(expected, dict):
        assert isinstance(actual, dict), where
        entries = {str(k): v for k, v in expected.items()}
        assert {str(k) for k in actual} == set(entries), where
        for key, value in actual.items():
            np.testing.assert_allclose(np.asarray(value), entries[str(key)], 1e-4, 1e-5, err_msg=where)
    else:
        assert_close(actual, np.asarray(expected), where)


def assert_close(actual: object, expected: Array, where: str) -> None:
    assert isinstance(actual, np.ndarray), where
    assert actual.shape == expected.shape, where
    if expected.dtype.kind in "OSU":
        assert actual.tolist() == expected.tolist(), where
        return
    scale = float(np.abs(expected).max(initial=1.0)) if expected.dtype.kind == "f" else 1.0
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=2e-5 * scale, err_msg=where)
