"""A scikit-learn pipeline with text, numbers and a forest, and a tokenizer from the domain of its exporter."""

import json
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.loading.load import load

FOLDER = Path(__file__).parents[4] / "shared" / "models" / "skl_text_column_transformer"


@pytest.mark.skipif(not FOLDER.exists(), reason="the shared models are not available")
def test_a_pipeline_of_texts_and_numbers_gives_what_its_own_runtime_gives() -> None:
    reference = np.load(FOLDER / "ref.npz")
    text = json.loads((FOLDER / "ref.json").read_text())["in:text"]
    feeds = {
        "input": reference["in:input"],
        "text": np.array(text["strings"], object).reshape(text["shape"]),
    }
    results = Interpreter(load(FOLDER / "model.onnx")).run(feeds)
    np.testing.assert_array_equal(np.asarray(results["label"]), reference["out:label"])
    np.testing.assert_allclose(
        np.asarray(results["probabilities"]), reference["out:probabilities"], 1e-6, 1e-7
    )
