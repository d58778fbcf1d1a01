"""Shared models on the native engine, compared with stored outputs of another runtime."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from conformance.test_shared_models import FOLDERS, MODELS, STEPS, VENDOR, assert_outputs_equal, reference
from sardonyx._src.errors import UnsupportedOperator

pytestmark = pytest.mark.skipif(not FOLDERS, reason="the shared models are not available")


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_model_answers_natively_as_another_runtime_does(name: str, threads: int) -> None:
    model = sx.load(MODELS / name / "model.onnx")
    inputs, outputs = reference(MODELS / name)
    try:
        session = sx.Session(model, engine="native", threads=threads)
    except UnsupportedOperator as error:
        if error.domain not in VENDOR:
            raise
        pytest.skip(f"holds {error.domain}.{error.op_type}, an operator of a vendor")
    assert outputs, "nothing to compare with"
    for _ in range(3):  # runs like an earlier one use the fast path
        results = session.run(inputs)
        for output, expected in outputs.items():
            if name in STEPS:
                np.testing.assert_allclose(
                    np.asarray(results[output]), np.asarray(expected), 1e-6, STEPS[name]
                )
            else:
                assert_outputs_equal(results[output], expected, f"{name} {output}")
