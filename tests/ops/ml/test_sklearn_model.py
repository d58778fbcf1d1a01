"""A scikit-learn pipeline with text, numbers and a forest, and a tokenizer from the domain of its exporter."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops import api
from sardonyx._src.ops.api import Operator
from sardonyx._src.schema import AttributeSchema, OpSchema, Parameter

FOLDER = Path(__file__).parents[4] / "shared" / "models" / "skl_text_column_transformer"
TOKENIZER = OpSchema(
    "com.microsoft",
    "Tokenizer",
    1,
    inputs=(Parameter("X", "T"),),
    outputs=(Parameter("Y", "T"),),
    attributes={
        "mark": AttributeSchema("mark", "INT"),
        "mincharnum": AttributeSchema("mincharnum", "INT"),
        "pad_value": AttributeSchema("pad_value", "STRING"),
        "tokenexp": AttributeSchema("tokenexp", "STRING"),
    },
    type_constraints={"T": ("tensor(string)",)},
    min_inputs=1,
    max_inputs=1,
    min_outputs=1,
    max_outputs=1,
)


@pytest.fixture
def tokenizer() -> Iterator[Operator]:
    """The part of the vendor's operator that the model uses, registered as a caller would."""
    op = Operator("Tokenizer", "com.microsoft", schema=(TOKENIZER,))

    @op.eval(1, ignores=("mark", "mincharnum"))
    def evaluate(X: Array, *, tokenexp: str, pad_value: str) -> Array:
        tokens = [re.findall(tokenexp, text) for text in X.reshape(-1).tolist()]
        most = max(map(len, tokens))
        padded = [row + [pad_value] * (most - len(row)) for row in tokens]
        return np.array(padded, object).reshape(*X.shape, most)

    yield op
    del api.OPERATORS["com.microsoft", "Tokenizer"]


@pytest.mark.skipif(not FOLDER.exists(), reason="the shared models are not available")
def test_a_pipeline_of_texts_and_numbers_gives_what_its_own_runtime_gives(tokenizer: Operator) -> None:
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
