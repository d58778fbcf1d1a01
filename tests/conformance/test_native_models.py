"""Real models on the native engine against what another runtime answered, where the models stand beside the project."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from conformance.test_shared_models import FOLDERS, MODELS, STEPS, VENDOR, compare, reference
from sardonyx._src.errors import UnsupportedOperator

pytestmark = pytest.mark.skipif(not FOLDERS, reason="the models do not stand beside the project")


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
    for _ in range(3):  # runs like an earlier one go another way
        results = session.run(inputs)
        for output, expected in outputs.items():
            if name in STEPS:
                np.testing.assert_allclose(
                    np.asarray(results[output]), np.asarray(expected), 1e-6, STEPS[name]
                )
            else:
                compare(results[output], expected, f"{name} {output}")
